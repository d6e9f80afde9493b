//! The words of the setting of samples.

use core::time::Duration;

/// The words of the setting, for messages.
pub(crate) const EXPECTED: &str = "`cpu:RATE` or `wall:RATE` with 1 to 10000 samples a second, then `stacks` \
                                   or `signal:NUMBER`, of 10, 12, 14, 26, 27 and 34 to 64";

/// The largest number of samples of a thread in a second.
const MAX_RATE: u32 = 10_000;

/// `SIGPROF`.
const DEFAULT_SIGNAL: i32 = 27;

/// How threads are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
// What follows is used where there are samples.
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))),
    allow(dead_code)
)]
pub(crate) struct Sampling {
    /// True for the processor time of the thread, false for the time that passes.
    pub(crate) is_cpu: bool,
    pub(crate) interval: Duration,
    pub(crate) has_stacks: bool,
    pub(crate) signal: i32,
}

impl Sampling {
    /// Reads words with spaces or commas between them. `off` is none.
    pub(crate) fn parse(text: &str) -> Option<Option<Sampling>> {
        let mut words = text.split([' ', ',']).filter(|word| !word.is_empty());
        let (clock, rate) = match words.next()? {
            "off" => return words.next().is_none().then_some(None),
            word => word.split_once(':')?,
        };
        let is_cpu = match clock {
            "cpu" => true,
            "wall" => false,
            _ => return None,
        };
        let rate: u32 = rate.parse().ok().filter(|rate| (1..=MAX_RATE).contains(rate))?;
        let interval = Duration::from_secs(1) / rate;
        let mut sampling = Sampling { is_cpu, interval, has_stacks: false, signal: DEFAULT_SIGNAL };
        for word in words {
            match word.split_once(':') {
                None if word == "stacks" => sampling.has_stacks = true,
                Some(("signal", number)) => {
                    // Those that programs do not get for other reasons, such as a fault.
                    let is_usable = |signal: &i32| matches!(signal, 10 | 12 | 14 | 26 | 27 | 34..=64);
                    sampling.signal = number.parse().ok().filter(is_usable)?;
                }
                _ => return None,
            }
        }
        Some(Some(sampling))
    }
}

#[cfg(test)]
mod tests {
    use super::Sampling;

    #[test]
    fn words_say_how_to_sample() {
        let check = |text, expected: Option<&str>| {
            let found = Sampling::parse(text).map(|sampling| match sampling {
                None => "off".to_owned(),
                Some(Sampling { is_cpu, interval, has_stacks, signal }) => {
                    format!("{is_cpu} {interval:?} {has_stacks} {signal}")
                }
            });
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("cpu:1000", Some("true 1ms false 27"));
        check("wall:100 stacks", Some("false 10ms true 27"));
        check(" wall:10000,signal:34,, stacks ", Some("false 100µs true 34"));
        check("off", Some("off"));
        for wrong in [
            "",
            "cpu",
            "cpu:",
            "cpu:0",
            "cpu:10001",
            "cpu:-1",
            "cpu:1.5",
            "time:100",
            "stacks",
            "off cpu:1",
            "cpu:100 stack",
            "cpu:100 signal:9",
            "cpu:100 signal:32",
            "cpu:100 signal:65",
            "cpu:100 signal",
        ] {
            check(wrong, None);
        }
    }
}
