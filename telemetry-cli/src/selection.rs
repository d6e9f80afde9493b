//! Which events a command takes: the filter options.

use telemetry_decode::{Filter, Name};

#[derive(clap::Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct FilterArgs {
    /// Only events of this kind: name or bit number, `registry:KIND` for one registry's (repeatable)
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,

    /// Only this event: name or code, `0x` for hexadecimal, `registry:EVENT` for one registry's (repeatable)
    #[arg(long, value_name = "EVENT")]
    event: Vec<String>,

    /// Only events of this thread: name or number (repeatable)
    #[arg(long, value_name = "THREAD")]
    thread: Vec<String>,

    /// Only events of one session: id, or name of its program (repeatable)
    #[arg(long, value_name = "SESSION")]
    session: Vec<String>,

    /// Only events of this registry: name or fingerprint (repeatable)
    #[arg(long, value_name = "NAME")]
    registry_name: Vec<String>,

    /// Only events at this time since the session's start or later: `1.5s`, `20ms`, `300us`, or
    /// nanoseconds
    #[arg(long, value_name = "TIME", value_parser = time_ns, allow_hyphen_values = true)]
    from: Option<i64>,

    /// Only events before this time since the session's start
    #[arg(long, value_name = "TIME", value_parser = time_ns, allow_hyphen_values = true)]
    to: Option<i64>,
}

impl FilterArgs {
    /// True if events of one code can be told apart by their registry.
    pub(crate) fn chooses_registry(&self) -> bool {
        !self.registry_name.is_empty()
    }

    pub(crate) fn filter(&self) -> Filter {
        let names = |texts: &[String]| texts.iter().map(|text| Name::from(text.as_str())).collect();
        Filter {
            kinds: names(&self.kind),
            events: names(&self.event),
            threads: names(&self.thread),
            sessions: names(&self.session),
            registries: names(&self.registry_name),
            from_ns: self.from,
            until_ns: self.to,
        }
    }
}

/// Units with the decimal places that a nanosecond has in them.
const UNITS: [(&str, usize); 5] = [("ns", 0), ("us", 3), ("µs", 3), ("ms", 6), ("s", 9)];

/// Reads a time since the start, exactly: as nanoseconds, also in groups as `print` shows them
/// (`1_500_000`), or with a unit.
fn time_ns(text: &str) -> Result<i64, String> {
    let expected = || {
        format!(
            "`{text}` is no time of whole nanoseconds, expected for instance `1.5s`, `20ms`, `300us` or `1500`"
        )
    };
    let unit = UNITS.iter().find_map(|(unit, places)| Some((text.strip_suffix(unit)?, *places)));
    let (number, places) = unit.unwrap_or((text, 0));
    let (negative, number) = number.strip_prefix('-').map_or((false, number), |number| (true, number));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    if whole.is_empty() || whole.starts_with('_') || fraction.len() > places {
        return Err(expected());
    }
    let mut ns = 0_i64;
    let digits = whole.bytes().filter(|byte| *byte != b'_');
    for byte in digits.chain(fraction.bytes()).chain(std::iter::repeat_n(b'0', places - fraction.len())) {
        let digit = (byte as char).to_digit(10).ok_or_else(expected)?;
        ns = ns.checked_mul(10).and_then(|ns| ns.checked_add(digit.into())).ok_or_else(expected)?;
    }
    Ok(if negative { -ns } else { ns })
}

#[cfg(test)]
mod tests {
    use super::time_ns;

    #[test]
    fn times_are_read_exactly() {
        let table = [
            ("0", Some(0)),
            ("1500", Some(1500)),
            ("1_500_000", Some(1_500_000)),
            ("1.5s", Some(1_500_000_000)),
            ("0.000000001s", Some(1)),
            ("1.50000000000s", Some(1_500_000_000)),
            ("20ms", Some(20_000_000)),
            ("300us", Some(300_000)),
            ("300µs", Some(300_000)),
            ("7ns", Some(7)),
            ("-5ms", Some(-5_000_000)),
            ("9223372036.854775807s", Some(i64::MAX)),
            ("9223372036.854775808s", None),
            ("0.0000000001s", None),
            ("1.5", None),
            ("1.5ns", None),
            ("", None),
            ("s", None),
            (".5s", None),
            ("--5", None),
            ("1e3", None),
            ("5m", None),
            ("1 s", None),
            ("_1", None),
        ];
        for (text, expected) in table {
            assert_eq!(time_ns(text).ok(), expected, "{text:?}");
        }
    }
}
