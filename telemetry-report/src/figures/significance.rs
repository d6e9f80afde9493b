//! Whether two samples differ by more than chance explains.

use super::distribution::Distribution;

/// The least number of values of each sample, for tests that need many.
const LEAST: usize = 8;

/// Returns the probability that the means of two samples differ so much by chance, by Welch's test.
/// The values are taken as independent. Returns none if a sample has fewer than 8.
pub fn welch(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len().min(b.len()) < LEAST {
        return None;
    }
    let moments = |values: &[f64]| {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (n, mean, variance / n)
    };
    let ((n_a, mean_a, a), (n_b, mean_b, b)) = (moments(a), moments(b));
    if a + b == 0.0 {
        return Some(if mean_a == mean_b { 1.0 } else { 0.0 });
    }
    let t = (mean_a - mean_b) / (a + b).sqrt();
    let freedom = (a + b).powi(2) / (a * a / (n_a - 1.0) + b * b / (n_b - 1.0));
    Some(beta(freedom / (freedom + t * t), freedom / 2.0, 0.5))
}

/// Returns the probability that chance puts the values of one sample so often above those of the
/// other, by the test of Mann and Whitney. The values are taken as independent; those in one
/// bucket are equal. Returns none if a sample has fewer than 8.
pub fn mann_whitney(a: &Distribution, b: &Distribution) -> Option<f64> {
    let (a, b) = (a.buckets(), b.buckets());
    let number = |buckets: &[(u32, u64)]| buckets.iter().map(|(_, count)| count).sum::<u64>();
    let (n_a, n_b) = (number(&a), number(&b));
    if n_a.min(n_b) < LEAST as u64 {
        return None;
    }
    let (mut above, mut ties, mut before) = (0.0, 0.0, 0.0);
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    loop {
        let key = match (a.peek(), b.peek()) {
            (Some((a, _)), Some((b, _))) => *a.min(b),
            (Some((key, _)), None) | (None, Some((key, _))) => *key,
            (None, None) => break,
        };
        let of = |(at, _): &(u32, u64)| *at == key;
        let in_a = a.next_if(of).map_or(0.0, |(_, count)| count as f64);
        let in_b = b.next_if(of).map_or(0.0, |(_, count)| count as f64);
        above += in_b * (before + in_a / 2.0);
        before += in_a;
        ties += (in_a + in_b).powi(3) - (in_a + in_b);
    }
    let (n_a, n_b) = (n_a as f64, n_b as f64);
    let all = n_a + n_b;
    let variance = n_a * n_b / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return Some(1.0);
    }
    Some(erfc((above - n_a * n_b / 2.0).abs() / (2.0 * variance).sqrt()))
}

/// The complementary error function of a number that is not negative, with an error below 1.2e-7
/// of the result (Numerical Recipes, `erfcc`).
fn erfc(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 10] = [
        0.17087277,
        -0.82215223,
        1.48851587,
        -1.13520398,
        0.27886807,
        -0.18628806,
        0.09678418,
        0.37409196,
        1.00002368,
        -1.26551223,
    ];
    let t = 1.0 / (1.0 + 0.5 * x);
    t * (COEFFICIENTS.iter().fold(0.0, |sum, c| sum * t + c) - x * x).exp()
}

/// The regularized incomplete beta function, by its continued fraction.
fn beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges quickly below this.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta(1.0 - x, b, a);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp() / a;
    let not_zero = |x: f64| if x.abs() < 1e-300 { 1e-300 } else { x };
    let (mut c, mut d) = (1.0, 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for step in [even, odd] {
            d = 1.0 / not_zero(1.0 + step * d);
            c = not_zero(1.0 + step / c);
            fraction *= d * c;
        }
        if (fraction / before - 1.0).abs() < 1e-14 {
            break;
        }
    }
    front * fraction
}

/// The logarithm of the gamma function of a number above zero (Lanczos).
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 6] = [
        76.18009172947146,
        -86.50532032941677,
        24.01409824083091,
        -1.231739572450155,
        0.001208650973866179,
        -0.000005395239384953,
    ];
    let t = x + 5.5 - (x + 0.5) * (x + 5.5).ln();
    let terms = COEFFICIENTS.iter().zip(1_u32..).map(|(c, n)| c / (x + f64::from(n)));
    (2.5066282746310005 * terms.fold(1.000000000190015, |sum, term| sum + term) / x).ln() - t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-5, "{found}, expected {expected}");
    }

    #[test]
    fn probabilities_are_those_of_tables() {
        // Of Student's distribution, on both sides.
        for (t, freedom, expected) in [
            (2.228139, 10.0, 0.05),
            (1.0, 1.0, 0.5),
            (2.0, 10.0, 0.073388),
            (12.706205, 1.0, 0.05),
            (3.0, 60.0, 0.003928),
        ] {
            near(beta(freedom / (freedom + t * t), freedom / 2.0, 0.5), expected);
        }
        // Of the normal distribution, on both sides.
        for (z, expected) in [(0.0, 1.0), (1.0, 0.317311), (1.959964, 0.05), (3.0, 0.0027), (5.0, 0.000001)] {
            near(erfc(z / 2.0_f64.sqrt()), expected);
        }
    }

    #[test]
    fn welch_compares_means() {
        let numbers = |from: u32| (from..from + 20).map(f64::from).collect::<Vec<_>>();
        near(welch(&numbers(1), &numbers(1)).unwrap(), 1.0);
        // t = 5 / sqrt(3.5), with 38 degrees of freedom.
        near(welch(&numbers(1), &numbers(6)).unwrap(), 0.011027);
        assert_eq!(welch(&[1.0; 8], &[2.0; 8]), Some(0.0));
        assert_eq!(welch(&[1.0; 7], &[2.0; 8]), None);
    }

    /// Numbers that look random, without a state.
    fn random(seed: u64) -> u64 {
        let x = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn sample(seed: u64, number: u64, more: u64) -> Distribution {
        let mut distribution = Distribution::default();
        (0..number).for_each(|at| distribution.add_unsigned(random(seed * 1000 + at) % 200 + more));
        distribution
    }

    /// If nothing differs, few tests say so: as many as their level.
    #[test]
    fn chance_is_found_as_often_as_it_says() {
        let is_below = |p: &f64| *p < 0.05;
        let of_ranks =
            (0..1000).filter_map(|run| mann_whitney(&sample(2 * run, 60, 0), &sample(2 * run + 1, 90, 0)));
        let ranks = of_ranks.filter(is_below).count();
        let numbers =
            |seed: u64| (0..40).map(|at| (random(seed * 1000 + at) % 200) as f64).collect::<Vec<_>>();
        let of_means = (0..1000).filter_map(|run| welch(&numbers(2 * run), &numbers(2 * run + 1)));
        let means = of_means.filter(is_below).count();
        assert!((30..70).contains(&ranks) && (30..70).contains(&means), "{ranks} and {means} of 1000");
    }

    #[test]
    fn differences_are_found() {
        assert!(mann_whitney(&sample(1, 500, 0), &sample(2, 500, 40)).unwrap() < 1e-9);
        assert!(mann_whitney(&sample(1, 500, 40), &sample(2, 500, 0)).unwrap() < 1e-9);
        assert_eq!(mann_whitney(&sample(1, 7, 0), &sample(2, 500, 0)), None);
        let mut same = Distribution::default();
        (0..100).for_each(|_| same.add_unsigned(5));
        assert_eq!(mann_whitney(&same, &same), Some(1.0));
    }
}
