//! The filter options.

use std::path::PathBuf;
use std::sync::Arc;

use telemetry_decode::Filter;
use telemetry_filter::Condition;

use crate::term::ended::{Ended, Failure};
use crate::text::quantity::time_ns;
use crate::text::signed_grouped;

#[derive(clap::Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct FilterArgs {
    /// Only events of this kind: name in any case, bit number, or `REGISTRY:KIND` (repeatable)
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,

    /// Only this event: name, code (`0x` for hexadecimal), preset, or `REGISTRY:EVENT` (repeatable)
    #[arg(long, value_name = "EVENT")]
    event: Vec<String>,

    /// Only events of this thread: name or number (repeatable)
    #[arg(long, value_name = "THREAD")]
    thread: Vec<String>,

    /// Only events of this session: id, or name of its program (repeatable)
    #[arg(long, value_name = "SESSION")]
    session: Vec<String>,

    /// Only events of this registry: name or fingerprint (repeatable)
    #[arg(long, value_name = "NAME")]
    registry_name: Vec<String>,

    /// Only events from this time since the session's start: `1.5s`, `20ms`, `2m`, or nanoseconds
    #[arg(long, value_name = "TIME", value_parser = time_ns, allow_hyphen_values = true)]
    from: Option<i64>,

    /// Only events before this time since the session's start
    #[arg(long, value_name = "TIME", value_parser = time_ns, allow_hyphen_values = true)]
    until: Option<i64>,

    /// Only events whose values match: `size > 64k and why == Full`
    #[arg(long = "where", value_name = "CONDITION", value_parser = Condition::parse)]
    condition: Option<Condition>,
}

impl FilterArgs {
    /// Returns true if the filter names a registry.
    pub(crate) fn chooses_registry(&self) -> bool {
        !self.registry_name.is_empty()
    }

    /// Returns true if no filter is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.text().is_none()
    }

    /// Returns true if events of a registry and session may be left out.
    pub(crate) fn leaves_out_events(&self) -> bool {
        let names = [&self.kind, &self.event, &self.thread];
        names.iter().any(|names| !names.is_empty()) || self.from.is_some() || self.until.is_some()
    }

    /// Returns the times of `--from` and `--until`.
    pub(crate) fn times(&self) -> (Option<i64>, Option<i64>) {
        (self.from, self.until)
    }

    /// Returns the filter as options, or nothing if there is none.
    pub(crate) fn text(&self) -> Option<String> {
        let names = [
            ("kind", &self.kind),
            ("event", &self.event),
            ("thread", &self.thread),
            ("session", &self.session),
            ("registry-name", &self.registry_name),
        ];
        let names = names
            .iter()
            .flat_map(|(option, names)| names.iter().map(move |name| format!("--{option} {name}")));
        let times = [("from", self.from), ("until", self.until)];
        let times = times.iter().filter_map(|(option, time)| time.map(|time| format!("--{option} {time}")));
        let condition = self.condition.iter().map(|condition| format!("--where '{}'", condition.text()));
        let all: Vec<_> = names.chain(times).chain(condition).collect();
        (!all.is_empty()).then(|| all.join(" "))
    }

    /// Returns the filter.
    ///
    /// # Errors
    /// If no time is in the interval.
    pub(crate) fn filter(&self) -> Result<Filter, Failure> {
        let (filter, condition) = self.apart()?;
        Ok(filter.condition(condition.map(|condition| Arc::new(condition.clone()) as _)))
    }

    /// Returns the filter without its condition, and the condition.
    ///
    /// # Errors
    /// If no time is in the interval.
    pub(crate) fn apart(&self) -> Result<(Filter, Option<&Condition>), Failure> {
        if let (Some(from), Some(until)) = (self.from, self.until)
            && from >= until
        {
            let [from, until] = [from, until].map(signed_grouped);
            return Err(Failure::new(format!(
                "no event passes: --from {from} ns is not before --until {until} ns; help: --until is exclusive"
            )));
        }
        fn names(texts: &[String]) -> impl Iterator<Item = &str> {
            texts.iter().map(String::as_str)
        }
        let filter = Filter::default()
            .kinds(names(&self.kind))
            .events(names(&self.event))
            .threads(names(&self.thread))
            .sessions(names(&self.session))
            .registries(names(&self.registry_name))
            .from_ns(self.from)
            .until_ns(self.until);
        Ok((filter, self.condition.as_ref()))
    }
}

/// Explains that a condition does not fit the input.
pub(crate) fn not_fitting(error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("in --where: {error}"))
}

/// Explains an input that is not there and has the form of an event's name: an option was meant.
pub(crate) fn expect_no_names(files: &[PathBuf]) -> Ended {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let mut names = files.iter().filter(|path| !path.exists()).filter_map(|path| path.to_str());
    names.find(|name| is_name(name)).map_or(Ok(()), |name| {
        Err(Failure::new(format!(
            "no file `{name}`; help: events are chosen by options: `--event {name}` or `--kind {name}`"
        )))
    })
}
