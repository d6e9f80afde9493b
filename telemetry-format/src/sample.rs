//! Which values a sample keeps: the same ones in every process, so that events with the same value
//! are kept or left out together.

/// Returns true if a sample of one in `one_in` keeps the events with a value.
///
/// A sample of one in 100 keeps only values that one of one in 10 keeps, too.
#[inline(always)]
#[must_use]
pub const fn keeps(one_in: u32, value: u64) -> bool {
    mix(value) <= u64::MAX / if one_in == 0 { 1 } else { one_in as u64 }
}

/// Spreads values, which often are multiples of something, over all numbers of 64 bits.
#[inline(always)]
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (value ^ value >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

#[cfg(test)]
mod tests {
    use super::keeps;

    #[test]
    fn about_one_in_n_is_kept() {
        let check = |one_in: u32, of: u64, step: u64| {
            let kept = (0..of).filter(|number| keeps(one_in, number * step)).count() as u64;
            let expected = of / u64::from(one_in);
            let most = expected / 10;
            assert!(kept.abs_diff(expected) <= most, "1 in {one_in} of {step}: {kept}, expected {expected}");
        };
        for step in [1, 8, 16, 64, 4096, 1 << 20, 1_000_003, 1 << 40] {
            check(2, 100_000, step);
            check(10, 100_000, step);
            check(100, 1_000_000, step);
        }
    }

    #[test]
    fn a_smaller_sample_is_part_of_a_larger_one() {
        let kept = || (0..100_000).filter(|&value| keeps(100, value));
        assert!(kept().count() > 0);
        assert!(kept().all(|value| keeps(10, value) && keeps(1, value)));
    }

    #[test]
    fn the_choice_never_changes() {
        // Streams of different programs and versions are compared by key.
        let kept = (0..100).filter(|&value| keeps(10, value));
        assert!(kept.eq([0, 1, 12, 15, 17, 31, 43, 44, 59, 64, 79]));
    }
}
