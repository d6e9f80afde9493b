//! The rules: one row for every way in which a relation can change.

use std::fmt;

/// What a change asks of the version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Demand {
    /// No number needs to rise.
    Nothing,
    /// The minor number, or one before it.
    Minor,
    /// The median number, or the major one.
    Median,
    /// No number makes up for it: the change is not to be made so.
    Refused,
}

/// What a typed decoder does with an event that a change is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Reads it as ever.
    Reads,
    /// Reads it and passes over the parameters that it does not know.
    Ignores,
    /// Reads it; the parameter that the stream does not have is `None`.
    Absent,
    /// Reads it; a number that it has no name for is just a number.
    Unnamed,
    /// Passes over it and counts it.
    Skips,
    /// Reads it; one without the parameter only in streams of versions below its `since`, else passes
    /// over it and counts it.
    IfThere,
    /// Never meets one.
    Never,
    /// Cannot come to be.
    Refused,
}

/// A row of the table of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The name, `kebab-case`, for ever the same.
    pub name: &'static str,
    /// The number that must rise.
    pub demand: Demand,
    /// What changes.
    pub change: &'static str,
    /// Why that number.
    pub why: &'static str,
    /// What a typed decoder of the old relation does with streams of the new one.
    pub old_decoder: Effect,
    /// What a typed decoder of the new relation does with streams of the old one.
    pub new_decoder: Effect,
    /// What the generic decoder shows of either stream, by the registry in it.
    pub generic: &'static str,
    /// How the new generated Python module differs from the old one.
    pub python: &'static str,
}

macro_rules! rules {
    ($($rule:ident $name:literal $demand:ident, $change:literal, $why:literal,
       old $old:ident, new $new:ident, generic $generic:literal, python $python:literal;)*) => {
        /// A way in which a relation can change: the only list of them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Rule {
            $(#[doc = concat!("`", $name, "`: ", $change, ".")] $rule,)*
        }

        impl Rule {
            /// Every rule, in the order of `docs/versions.md`.
            pub const ALL: &[Rule] = &[$(Rule::$rule),*];

            /// The rule's row of the table.
            pub const fn row(self) -> &'static Row {
                match self {
                    $(Rule::$rule => &Row {
                        name: $name,
                        demand: Demand::$demand,
                        change: $change,
                        why: $why,
                        old_decoder: Effect::$old,
                        new_decoder: Effect::$new,
                        generic: $generic,
                        python: $python,
                    },)*
                }
            }
        }
    };
}

rules! {
    DocsChanged "docs-changed" Nothing,
        "a doc is worded anew", "no decoder reads docs",
        old Reads, new Reads, generic "all of it", python "its docstring at most";

    EventAdded "event-added" Minor,
        "an event is new, or is back whose row was gone", "older tools cannot name it",
        old Skips, new Never, generic "all of it", python "one code more";
    EventRetired "event-retired" Minor,
        "`used = false`", "programs lose its emitter; streams do not change",
        old Never, new Reads, generic "all of it", python "the same";
    EventRestored "event-restored" Minor,
        "a retired event is used again", "programs have its emitter again; streams do not change",
        old Reads, new Reads, generic "all of it", python "the same";
    EventAlwaysChanged "event-always-changed" Minor,
        "`always` of an event", "it comes from more or fewer varieties, in the same form",
        old Reads, new Reads, generic "all of it", python "the same";
    EventReplayChanged "event-replay-changed" Minor,
        "the mark `replay` of an event", "it says what replayers do, and each stream has its own",
        old Reads, new Reads, generic "replayed as the stream's registry says", python "the same";
    EventRenamed "event-renamed" Median,
        "an event has another name and the same code", "what asks for it by name no longer finds it",
        old Skips, new Skips, generic "all of it, by the name that it had", python "another name at its code";
    EventRecoded "event-recoded" Median,
        "an event has another code", "tools know an event by its code; the old code is spent",
        old Skips, new Skips, generic "all of it, by the code that it had", python "its name at another code";
    EventKindChanged "event-kind-changed" Median,
        "an event is of another kind", "what switches and filters it is another",
        old Reads, new Reads, generic "all of it, in the kind that it had", python "another kind at its code";
    EventForgotten "event-forgotten" Median,
        "the row of a retired event is gone", "tools of this version no longer know it",
        old Never, new Skips, generic "all of it", python "one code less";
    EventRemoved "event-removed" Refused,
        "an event is gone that was not retired", "old streams have it, and nothing says that it is over",
        old Refused, new Refused, generic "-", python "-";
    CodeReused "code-reused" Refused,
        "a released code is another event's", "old tools would take the one for the other",
        old Refused, new Refused, generic "-", python "-";

    ParamAppended "param-appended" Minor,
        "a parameter is new behind all others, with `since`", "older tools pass over what follows",
        old Ignores, new Absent, generic "all of it, with or without the parameter", python "one parameter more";
    SinceMissing "since-missing" Refused,
        "an appended parameter has no `since`", "without it new tools cannot read old streams of the event",
        old Refused, new Refused, generic "-", python "-";
    SinceWrong "since-wrong" Refused,
        "`since` of an appended parameter is not the version that it comes with", "it would say what is not so",
        old Refused, new Refused, generic "-", python "-";
    SinceChanged "since-changed" Median,
        "`since` of a released parameter", "new tools take old streams otherwise than before",
        old Reads, new IfThere, generic "all of it", python "the same";
    ParamInserted "param-inserted" Median,
        "a parameter is new, not behind all others of an event that is otherwise the same", "the bytes behind it mean something else",
        old Skips, new Skips, generic "all of it", python "other parameters";
    ParamRemoved "param-removed" Median,
        "a parameter is gone", "the bytes behind it mean something else",
        old Skips, new Skips, generic "all of it", python "other parameters";
    ParamMoved "param-moved" Median,
        "parameters have another order", "the bytes mean something else",
        old Skips, new Skips, generic "all of it", python "other parameters";
    ParamRenamed "param-renamed" Median,
        "a parameter has another name", "what asks for it by name no longer finds it",
        old Skips, new Skips, generic "all of it, by the name that it had", python "other parameters";
    ParamRetyped "param-retyped" Median,
        "a parameter has another sort, or another fixed number of elements", "its bytes mean something else",
        old Skips, new Skips, generic "all of it", python "other parameters";
    MaxChanged "max-changed" Minor,
        "`max` of a parameter", "it is cut elsewhere; every reader takes any length",
        old Reads, new Reads, generic "all of it", python "the same";
    AlignChanged "align-changed" Nothing,
        "`align` of a parameter", "it says how a value is packed, and each stream has its own; the value is the same",
        old Reads, new Reads, generic "all of it", python "the same";
    UnitGiven "unit-given" Minor,
        "a parameter without a unit has one", "it says what was so before",
        old Reads, new Reads, generic "with the unit that it had", python "the same";
    UnitChanged "unit-changed" Median,
        "a unit is another, or none", "the same number means something else",
        old Skips, new Skips, generic "with the unit that it had", python "the same";

    NamesChanged "names-changed" Minor,
        "the mark `names` of a parameter", "it says how values are shown, and each stream has its own",
        old Reads, new Reads, generic "named by the stream's marks or, if it has none, by those that the tool knows", python "the same";

    KindAdded "kind-added" Minor,
        "a kind is new", "older tools cannot name it",
        old Reads, new Reads, generic "all events", python "one kind more";
    KindRemoved "kind-removed" Median,
        "a kind is gone", "words that switch it mean nothing",
        old Reads, new Reads, generic "all events, in the kind that they had", python "one kind less";
    KindRenamed "kind-renamed" Median,
        "a kind has another name", "words that switch it mean nothing",
        old Reads, new Reads, generic "all events, in the kind that they had", python "another name at its bit";
    KindBitChanged "kind-bit-changed" Median,
        "a kind has another bit", "numbers that switch it switch another",
        old Reads, new Reads, generic "all events, in the kind that they had", python "its name at another bit";
    KindClockChanged "kind-clock-changed" Median,
        "the clock of a kind", "the times of its events mean something else",
        old Reads, new Reads, generic "all events, by the clock that they had", python "the same";

    TypeAdded "type-added" Minor,
        "an enum or flags are new", "older tools cannot name them",
        old Reads, new Reads, generic "all of it", python "the same";
    TypeRemoved "type-removed" Median,
        "an enum or flags are gone", "programs and tools lose their names",
        old Reads, new Reads, generic "all of it", python "the same";
    TypeRenamed "type-renamed" Median,
        "an enum or flags have another name", "it is the sort of its parameters",
        old Skips, new Skips, generic "all of it", python "another sort of its parameters";
    TypeReprChanged "type-repr-changed" Median,
        "the repr of a type", "its numbers have other bytes",
        old Skips, new Skips, generic "all of it", python "the same";
    TypeFormChanged "type-form-changed" Median,
        "an enum becomes flags, or flags an enum", "its numbers mean something else",
        old Skips, new Skips, generic "all of it", python "the same";
    ValueAdded "value-added" Minor,
        "a value of a type is new", "older tools cannot name it",
        old Unnamed, new Reads, generic "by name", python "the same";
    ValueRemoved "value-removed" Median,
        "a value of a type is gone", "old streams have it",
        old Reads, new Unnamed, generic "by the name that it had", python "the same";
    ValueRenamed "value-renamed" Median,
        "a number has another name", "it means something else",
        old Skips, new Skips, generic "by the name that it had", python "the same";
    ValueRenumbered "value-renumbered" Median,
        "a name has another number", "the number means something else",
        old Skips, new Skips, generic "by the number that it had", python "the same";

    SpanAdded "span-added" Minor,
        "a span is new", "older tools do not pair its events",
        old Reads, new Reads, generic "pairs as the stream's registry says", python "the same";
    SpanRemoved "span-removed" Minor,
        "a span is gone", "a span says how to show events, and each stream has its own",
        old Reads, new Reads, generic "pairs as the stream's registry says", python "the same";
    SpanChanged "span-changed" Minor,
        "a span has another begin, end or key", "a span says how to show events, and each stream has its own",
        old Reads, new Reads, generic "pairs as the stream's registry says", python "the same";

    MessageAdded "message-added" Minor,
        "a message is new", "programs may hear it; streams do not change",
        old Reads, new Reads, generic "pairs as the stream's registry says", python "the same";
    MessageRemoved "message-removed" Minor,
        "a message is gone", "programs no longer hear it; streams do not change",
        old Reads, new Reads, generic "pairs as the stream's registry says", python "the same";
    MessageChanged "message-changed" Minor,
        "a message has another begin, end, key or limit", "programs hear something else; streams do not change",
        old Reads, new Reads, generic "pairs as the stream's registry says", python "the same";

    VersionLowered "version-lowered" Refused,
        "the version is below the released one", "what is newer must have the higher version",
        old Refused, new Refused, generic "-", python "-";
    RegistryRenamed "registry-renamed" Refused,
        "the registry has another name", "readers know a registry by its name, so it is another relation",
        old Refused, new Refused, generic "-", python "-";
}

impl Rule {
    /// The name, `kebab-case`.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The number that must rise.
    pub const fn demand(self) -> Demand {
        self.row().demand
    }

    /// The rule of a name.
    pub fn from_name(name: &str) -> Option<Rule> {
        Rule::ALL.iter().copied().find(|rule| rule.name() == name)
    }

    /// False for what no `[[allow]]` can excuse: a code that is another event's, and what makes the
    /// comparison itself mean nothing. What demands nothing needs no excuse.
    pub const fn can_be_allowed(self) -> bool {
        let means_nothing = matches!(self, Rule::CodeReused | Rule::VersionLowered | Rule::RegistryRenamed);
        !means_nothing && !matches!(self.demand(), Demand::Nothing)
    }
}

impl Demand {
    /// How the table names it.
    pub const fn name(self) -> &'static str {
        match self {
            Demand::Nothing => "none",
            Demand::Minor => "minor",
            Demand::Median => "median",
            Demand::Refused => "refused",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Effect::Reads => "reads it",
            Effect::Ignores => "reads it without the parameter",
            Effect::Absent => "reads it, the parameter is `None`",
            Effect::Unnamed => "reads it, the number has no name",
            Effect::Skips => "skips and counts it",
            Effect::IfThere => {
                "reads it; without the parameter only below its `since`, else skips and counts it"
            }
            Effect::Never => "never meets it",
            Effect::Refused => "-",
        })
    }
}
