//! The fields that all events have.

use telemetry_schema::Registry;

use crate::fit::problem::Problem;
use crate::fit::values;
use crate::syntax::tree::{Comparison, Name, Op, Operand};
use crate::test::leaf::{Leaf, What};
use crate::test::text::TextTest;
use crate::test::tree::Tree;

/// A field that all events have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Event,
    Kind,
    Registry,
    Thread,
    Session,
    Time,
}

impl Field {
    /// All fields, by their names.
    pub(crate) const ALL: [(&str, Field); 6] = [
        ("event", Field::Event),
        ("kind", Field::Kind),
        ("registry", Field::Registry),
        ("thread", Field::Thread),
        ("session", Field::Session),
        ("time", Field::Time),
    ];

    /// Returns the field of a name; `None` for a parameter.
    pub(crate) fn of(name: &Name) -> Option<Field> {
        let mut all = Field::ALL.iter().filter(|_| !name.is_param);
        all.find(|(known, _)| *known == name.text).map(|(_, field)| *field)
    }

    /// Returns true for fields that are the same for all events of a lane.
    pub(crate) fn is_of_lane(self) -> bool {
        matches!(self, Field::Thread | Field::Session)
    }
}

/// A field of a span that its events do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanField {
    Name,
    Duration,
    Own,
}

impl SpanField {
    /// All fields, by their names.
    pub(crate) const ALL: [(&str, SpanField); 3] =
        [("span", SpanField::Name), ("duration", SpanField::Duration), ("self", SpanField::Own)];

    /// Returns the field of a name; `None` for fields of events and parameters.
    pub(crate) fn of(name: &Name) -> Option<SpanField> {
        let mut all = SpanField::ALL.iter().filter(|_| !name.is_param);
        all.find(|(known, _)| *known == name.text).map(|(_, field)| *field)
    }
}

/// A comparison of something that has a number and a name.
#[derive(Debug, Clone)]
pub(crate) struct NameTest {
    numbers: Vec<u64>,
    text: Option<TextTest>,
    wanted: bool,
}

impl NameTest {
    /// Reads the comparison of a field.
    ///
    /// # Errors
    /// If its operator or an operand is not for names.
    pub(crate) fn new(comparison: &Comparison) -> Result<NameTest, Problem> {
        let Comparison { subject, op, at, operands } = comparison;
        let pattern = match op {
            Op::Equal | Op::Unequal | Op::In => None,
            Op::Contains | Op::Matches => Some(values::text_test(comparison)?),
            Op::Less | Op::AtMost | Op::Greater | Op::AtLeast | Op::Has | Op::IsTrue => {
                let message = format!("`{}` is a name", subject.text);
                let help = "the operators of names are ==, !=, in, contains and ~";
                return Err(Problem::misuse(at.clone(), message).with_help(help));
            }
        };
        if pattern.is_some() {
            return Ok(NameTest { numbers: Vec::new(), text: pattern, wanted: true });
        }
        let (mut numbers, mut texts) = (Vec::new(), Vec::new());
        for operand in operands {
            match operand {
                Operand::Name(Name { text, .. }) | Operand::Text(text, _) => texts.push(text.clone().into()),
                Operand::Number(number) => match (number.is_time, number.scale, u64::try_from(number.digits))
                {
                    (false, 0, Ok(number)) => numbers.push(number),
                    _ => return Err(Problem::misuse(operand.span(), "expected a whole number or a name")),
                },
            }
        }
        Ok(NameTest { numbers, text: Some(TextTest::IsOneOf(texts)), wanted: *op != Op::Unequal })
    }

    /// Returns true if something with this number and name matches.
    pub(crate) fn passes(&self, number: u64, name: &str) -> bool {
        self.is_meant(number, name) == self.wanted
    }

    /// Returns true if something in a registry matches, alone or with `registry:` before its name.
    fn passes_in(&self, registry: &str, number: u64, name: &str) -> bool {
        (self.is_meant(number, name) || self.is_meant(number, &format!("{registry}:{name}"))) == self.wanted
    }

    fn is_meant(&self, number: u64, name: &str) -> bool {
        self.numbers.contains(&number) || self.text.as_ref().is_some_and(|test| test.passes_name(name))
    }
}

/// Fits the comparison of a field to an event type. `lane_bit` is the bit of this comparison, if it
/// is one with the lane.
pub(crate) fn fit(
    field: Field,
    comparison: &Comparison,
    (registry, event): (&Registry, usize),
    lane_bit: Option<u32>,
    wanted: bool,
) -> Result<Tree, Problem> {
    let event = &registry.events[event];
    Ok(match field {
        Field::Event => {
            let test = NameTest::new(comparison)?;
            Tree::of(test.passes_in(&registry.name, event.code.into(), &event.name) == wanted)
        }
        Field::Kind => {
            let (test, kind) = (NameTest::new(comparison)?, registry.kind_of(event));
            Tree::of(test.passes_in(&registry.name, kind.bit.into(), &kind.name) == wanted)
        }
        Field::Registry => {
            let test = NameTest::new(comparison)?;
            Tree::of(test.passes(registry.fingerprint(), &registry.name) == wanted)
        }
        Field::Thread | Field::Session => {
            NameTest::new(comparison)?;
            lane_bit.map_or(Tree::Never, |bit| Tree::Leaf(Leaf { what: What::Lane(bit), wanted }))
        }
        Field::Time => values::time(comparison, wanted)?,
    })
}

/// Returns the names in a comparison of an event, kind or registry that no registry has, each with
/// its candidates.
pub(crate) fn unknown<'r>(
    field: Field,
    comparison: &Comparison,
    registries: impl Iterator<Item = &'r Registry> + Clone,
) -> Option<(std::ops::Range<usize>, String, Vec<&'r str>)> {
    let names: Vec<(&Registry, &str)> = match field {
        Field::Event => registries
            .flat_map(|registry| registry.events.iter().map(move |event| (registry, event.name.as_str())))
            .collect(),
        Field::Kind => registries
            .flat_map(|registry| registry.kinds.iter().map(move |kind| (registry, kind.name.as_str())))
            .collect(),
        Field::Registry => registries.map(|registry| (registry, registry.name.as_str())).collect(),
        Field::Thread | Field::Session | Field::Time => return None,
    };
    comparison.named().find_map(|(span, text)| {
        let is_known = names.iter().any(|(registry, name)| {
            let bare = text.split_once(':').filter(|(of, _)| of.eq_ignore_ascii_case(&registry.name));
            name.eq_ignore_ascii_case(text) || bare.is_some_and(|(_, bare)| name.eq_ignore_ascii_case(bare))
        });
        let candidates = || names.iter().map(|(_, name)| *name).collect();
        (!is_known).then(|| (span, text.to_string(), candidates()))
    })
}
