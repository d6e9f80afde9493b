//! The filter options.

use telemetry_decode::Filter;

use crate::text::quantity::time_ns;

#[derive(clap::Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct FilterArgs {
    /// Only events of this kind: name, bit number, or `REGISTRY:KIND` (repeatable)
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,

    /// Only this event: name, code (`0x` for hexadecimal), or `REGISTRY:EVENT` (repeatable)
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
}

impl FilterArgs {
    /// Returns true if the filter names a registry.
    pub(crate) fn chooses_registry(&self) -> bool {
        !self.registry_name.is_empty()
    }

    pub(crate) fn filter(&self) -> Filter {
        fn names(texts: &[String]) -> impl Iterator<Item = &str> {
            texts.iter().map(String::as_str)
        }
        Filter::default()
            .kinds(names(&self.kind))
            .events(names(&self.event))
            .threads(names(&self.thread))
            .sessions(names(&self.session))
            .registries(names(&self.registry_name))
            .from_ns(self.from)
            .until_ns(self.until)
    }
}
