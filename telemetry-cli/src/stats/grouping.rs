//! What events are grouped by, and what is summed.

use telemetry_decode::KnownRegistry;
use telemetry_schema::{Count, Registry, Sort, nearest};

use crate::term::ended::Failure;
use crate::text::hint;

/// The most columns of a group, and of sums.
const MAX_COLUMNS: usize = 8;

#[derive(clap::Args)]
#[command(next_help_heading = "Groups")]
pub(crate) struct GroupArgs {
    /// Count groups of events with the same values of these parameters or fields, such as
    /// `why,thread`
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    by: Vec<String>,

    /// Sum up these parameters in each group
    #[arg(long, value_name = "PARAM", value_delimiter = ',', requires = "by")]
    sum: Vec<String>,

    /// Show these percentiles of the summed parameters, such as `50,99,99.9`
    #[arg(long, value_name = "P", value_delimiter = ',', requires = "sum", value_parser = percent)]
    percentiles: Vec<f64>,

    /// List at most this many groups, those with most events
    #[arg(short = 'n', long, value_name = "N", requires = "by")]
    limit: Option<usize>,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| *number > 0.0 && *number <= 100.0);
    number.ok_or_else(|| format!("expected a number above 0 and up to 100, found `{text}`"))
}

/// A field that all events have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Event,
    Kind,
    Registry,
    Thread,
    Session,
}

const FIELDS: [(&str, Field); 5] = [
    ("event", Field::Event),
    ("kind", Field::Kind),
    ("registry", Field::Registry),
    ("thread", Field::Thread),
    ("session", Field::Session),
];

/// What events are grouped by: a field, or a parameter by its name.
pub(crate) enum Column {
    Field(Field),
    Param(String),
}

/// What events are grouped by, and what is summed.
pub(crate) struct Grouping {
    /// With the names as they were given.
    pub(crate) by: Vec<(String, Column)>,
    pub(crate) sums: Vec<String>,
    pub(crate) percentiles: Vec<f64>,
    /// The most groups that are listed.
    pub(crate) limit: usize,
    /// The option that names what is summed, for messages.
    sum_option: &'static str,
}

impl GroupArgs {
    /// Returns the grouping, if there is one.
    ///
    /// # Errors
    /// If there are too many columns.
    pub(crate) fn grouping(&self) -> Result<Option<Grouping>, Failure> {
        if self.by.is_empty() {
            return Ok(None);
        }
        let mut grouping = Grouping::new(&self.by, &self.sum, "--sum")?;
        grouping.percentiles.clone_from(&self.percentiles);
        grouping.limit = self.limit.unwrap_or(usize::MAX);
        Ok(Some(grouping))
    }
}

impl Grouping {
    /// Groups by columns, and sums parameters, which an option of the command names.
    ///
    /// # Errors
    /// If there are too many columns.
    pub(crate) fn new(by: &[String], sums: &[String], sum_option: &'static str) -> Result<Grouping, Failure> {
        for (option, list) in [("--by", by), (sum_option, sums)] {
            if list.len() > MAX_COLUMNS {
                let found = list.len();
                return Err(Failure::new(format!(
                    "{option} has {found} names, expected at most {MAX_COLUMNS}"
                )));
            }
        }
        let column = |name: &String| {
            let field = FIELDS.iter().find(|(field, _)| field == name);
            // A parameter with the name of a field is written in backquotes, as in conditions.
            let param = || Column::Param(name.trim_matches('`').to_string());
            (name.clone(), field.map_or_else(param, |(_, field)| Column::Field(*field)))
        };
        let by = by.iter().map(column).collect();
        Ok(Grouping { by, sums: sums.to_vec(), percentiles: Vec::new(), limit: usize::MAX, sum_option })
    }

    /// Checks that each name is one of some event.
    ///
    /// # Errors
    /// If not.
    pub(crate) fn check(&self, known: &[KnownRegistry]) -> Result<(), Failure> {
        let params = || known.iter().flat_map(|known| &known.registry.events).flat_map(|event| &event.params);
        let fail = |option, name: &str, candidates: Vec<&str>| {
            let nearest = nearest(name, candidates);
            Err(Failure::new(format!("{option}: no parameter `{name}` in the input{}", hint::help(nearest))))
        };
        for (_, column) in &self.by {
            let Column::Param(name) = column else { continue };
            if !params().any(|param| param.name == *name) {
                let fields = FIELDS.iter().map(|(name, _)| *name);
                return fail("--by", name, params().map(|param| param.name.as_str()).chain(fields).collect());
            }
        }
        for name in &self.sums {
            if !params().any(|param| param.name == *name) {
                return fail(self.sum_option, name, params().map(|param| param.name.as_str()).collect());
            }
            if !known.iter().any(|known| summed(&known.registry, name)) {
                return Err(Failure::new(format!("{}: `{name}` is not a number", self.sum_option)));
            }
        }
        Ok(())
    }
}

/// Returns true if an event of a registry has a parameter of this name that can be summed.
fn summed(registry: &Registry, name: &str) -> bool {
    let mut params = registry.events.iter().flat_map(|event| &event.params);
    params.any(|param| param.name == name && param.count == Count::One && is_number(param.sort))
}

/// Returns true for types of numbers that count or measure.
pub(crate) fn is_number(sort: Sort) -> bool {
    sort.is_number()
}

/// Returns the unit of a parameter with this name; `units` if it has none, or several.
pub(crate) fn unit_of<'r>(known: &'r [KnownRegistry], name: &str) -> &'r str {
    let params = known.iter().flat_map(|known| &known.registry.events).flat_map(|event| &event.params);
    let mut units = params.filter(|param| param.name == name && is_number(param.sort));
    let unit = units.next().map_or("", |param| param.unit.as_str());
    match unit {
        _ if units.any(|param| param.unit != unit) => "units",
        "" => "units",
        "ns" => "nanoseconds",
        unit => unit,
    }
}
