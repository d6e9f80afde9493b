//! The rules: one row for every way in which a registry can change.

use std::fmt;

/// The demand of a change on the version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Demand {
    /// No number needs to rise.
    Nothing,
    /// The minor number must rise, or one before it.
    Minor,
    /// The median number must rise, or the major one.
    Median,
    /// No number allows it: the change must not be made in this way.
    Refused,
}

/// The meaning of the word, for people who do not know the MPS.
pub const MEDIAN: &str = "the MPS's word for the middle number, breaking for readers of the changed events";

/// The treatment of a changed event by a typed decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Reads it.
    Reads,
    /// Reads it and skips the parameters that it does not know.
    Ignores,
    /// Reads it; the parameter that the stream does not have is `None`.
    Absent,
    /// Reads it; a number without a name stays a number.
    Unnamed,
    /// Skips and counts it.
    Skips,
    /// Reads it. Without the parameter, it does so only in streams of versions below `since`;
    /// otherwise it skips and counts it.
    IfThere,
    /// Never meets one.
    Never,
    /// Cannot occur.
    Refused,
}

/// A row of the table of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The name, in `kebab-case`. It never changes.
    pub name: &'static str,
    /// The number that must rise.
    pub demand: Demand,
    /// The change.
    pub change: &'static str,
    /// The reason for that number.
    pub why: &'static str,
    /// The effect on a typed decoder of the old registry with streams of the new one.
    pub old_decoder: Effect,
    /// The effect on a typed decoder of the new registry with streams of the old one.
    pub new_decoder: Effect,
    /// The generic decoder's view of either stream, by the registry in it.
    pub generic: &'static str,
    /// The difference of the new generated Python module from the old one.
    pub python: &'static str,
}

macro_rules! rules {
    ($($rule:ident $name:literal $demand:ident, $change:literal, $why:literal,
       old $old:ident, new $new:ident, generic $generic:literal, python $python:literal;)*) => {
        /// A way in which a registry can change: the only list of them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Rule {
            $(#[doc = concat!("`", $name, "`: ", $change, ".")] $rule,)*
        }

        impl Rule {
            /// Every rule, in the order of `docs/versions.md`.
            pub const ALL: &[Rule] = &[$(Rule::$rule),*];

            /// Returns the rule's row of the table.
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
        "a doc has another text", "no decoder reads docs",
        old Reads, new Reads, generic "all of it", python "its docstring at most";

    EventAdded "event-added" Minor,
        "an event is new, or a removed one is back", "older tools cannot name it",
        old Skips, new Never, generic "all of it", python "one more code";
    EventRetired "event-retired" Minor,
        "an event has `used = false`", "programs lose its emitter; streams do not change",
        old Never, new Reads, generic "all of it", python "the same";
    EventRestored "event-restored" Minor,
        "a retired event is used again", "programs have its emitter again; streams do not change",
        old Reads, new Reads, generic "all of it", python "the same";
    EventAlwaysChanged "event-always-changed" Minor,
        "an event has another `always`", "it comes from more or fewer varieties, in the same form",
        old Reads, new Reads, generic "all of it", python "the same";
    EventReplayChanged "event-replay-changed" Minor,
        "an event has another mark `replay`", "it says what replayers do, and each stream has its own",
        old Reads, new Reads, generic "replayed as the stream's registry says", python "the same";
    EventRangeChanged "event-range-changed" Minor,
        "an event has another mark `range`", "it says what memory was, and each stream has its own",
        old Reads, new Reads, generic "ranges as the stream's registry says", python "the same";
    EventCensusChanged "event-census-changed" Minor,
        "an event has another mark `census`", "it says what is counted, and each stream has its own",
        old Reads, new Reads, generic "counted as the stream's registry says", python "the same";
    EventTimeChanged "event-time-changed" Minor,
        "an event has another mark `time`", "it says at which time events are shown, and each stream has its own",
        old Reads, new Reads, generic "at the time that the stream's registry says", python "the same";
    EventRenamed "event-renamed" Median,
        "an event has another name and the same code", "a search for its name no longer finds it",
        old Skips, new Skips, generic "all of it, by its old name", python "another name at its code";
    EventRecoded "event-recoded" Median,
        "an event has another code", "tools know an event by its code, and the old code stays taken",
        old Skips, new Skips, generic "all of it, by its old code", python "its name at another code";
    EventKindChanged "event-kind-changed" Median,
        "an event is of another kind", "other words switch it, and other filters select it",
        old Reads, new Reads, generic "all of it, in its old kind", python "another kind at its code";
    EventForgotten "event-forgotten" Median,
        "a retired event is removed from the file", "tools of this version no longer know it",
        old Never, new Skips, generic "all of it", python "one code fewer";
    EventRemoved "event-removed" Refused,
        "an event is removed that was not retired", "old streams have it, and nothing says that it is retired",
        old Refused, new Refused, generic "-", python "-";
    CodeReused "code-reused" Refused,
        "the code of a released event belongs to another one", "old tools would confuse the two",
        old Refused, new Refused, generic "-", python "-";

    ParamAppended "param-appended" Minor,
        "a parameter is appended, with `since`", "older tools skip the bytes that follow",
        old Ignores, new Absent, generic "all of it, with or without the parameter", python "one more parameter";
    SinceMissing "since-missing" Refused,
        "an appended parameter has no `since`", "without it new tools cannot read old streams of the event",
        old Refused, new Refused, generic "-", python "-";
    SinceWrong "since-wrong" Refused,
        "`since` of an appended parameter is not its first version", "readers would expect it in the wrong streams",
        old Refused, new Refused, generic "-", python "-";
    SinceChanged "since-changed" Median,
        "a released parameter has another `since`", "new tools read old streams in another way",
        old Reads, new IfThere, generic "all of it", python "the same";
    ParamInserted "param-inserted" Median,
        "a parameter is inserted before others", "the bytes behind it mean something else",
        old Skips, new Skips, generic "all of it", python "other parameters";
    ParamRemoved "param-removed" Median,
        "a parameter is removed", "the bytes behind it mean something else",
        old Skips, new Skips, generic "all of it", python "other parameters";
    ParamMoved "param-moved" Median,
        "parameters have another order", "the bytes mean something else",
        old Skips, new Skips, generic "all of it", python "other parameters";
    ParamRenamed "param-renamed" Median,
        "a parameter has another name", "a search for its name no longer finds it",
        old Skips, new Skips, generic "all of it, by its old name", python "other parameters";
    ParamRetyped "param-retyped" Median,
        "a parameter has another type, or another fixed number of elements", "its bytes mean something else",
        old Skips, new Skips, generic "all of it", python "other parameters";
    MaxChanged "max-changed" Minor,
        "a parameter has another `max`", "it is truncated at another length; readers accept any length",
        old Reads, new Reads, generic "all of it", python "the same";
    AlignChanged "align-changed" Nothing,
        "a parameter has another `align`", "it says how a value is encoded, and each stream has its own",
        old Reads, new Reads, generic "all of it", python "the same";
    UnitGiven "unit-given" Minor,
        "a parameter without a unit gets one", "tools now show the unit, and the values mean the same",
        old Reads, new Reads, generic "with its old unit", python "the same";
    UnitChanged "unit-changed" Median,
        "a parameter has another unit, or none", "the same number means something else",
        old Skips, new Skips, generic "with its old unit", python "the same";
    CounterChanged "counter-changed" Minor,
        "a parameter becomes a counter, or stops being one", "it says how values are shown, and each stream has its own",
        old Reads, new Reads, generic "shown as the stream's registry says", python "the same";

    SensitiveGiven "sensitive-given" Minor,
        "a parameter becomes sensitive", "tools now hide its values, and the values mean the same",
        old Reads, new Reads, generic "hidden as the stream's registry says", python "the same";
    SensitiveChanged "sensitive-changed" Median,
        "a sensitive parameter has another mark, or none", "tools and sinks may now show what they hid",
        old Reads, new Reads, generic "hidden as the stream's registry says", python "the same";
    NamesChanged "names-changed" Minor,
        "a parameter has another mark `names` or `numbers`", "it says how values are shown, and each stream has its own",
        old Reads, new Reads, generic "named by the stream's marks, or by those that the tool knows if it has none", python "the same";

    KindAdded "kind-added" Minor,
        "a kind is new", "older tools cannot name it",
        old Reads, new Reads, generic "all events", python "one more kind";
    KindRemoved "kind-removed" Median,
        "a kind is removed", "words that switch it mean nothing",
        old Reads, new Reads, generic "all events, in their old kind", python "one kind fewer";
    KindRenamed "kind-renamed" Median,
        "a kind has another name", "words that switch it mean nothing",
        old Reads, new Reads, generic "all events, in their old kind", python "another name at its bit";
    KindBitChanged "kind-bit-changed" Median,
        "a kind has another bit", "bitmaps that switch it now switch another",
        old Reads, new Reads, generic "all events, in their old kind", python "its name at another bit";
    KindClockChanged "kind-clock-changed" Median,
        "a kind has another clock", "the times of its events mean something else",
        old Reads, new Reads, generic "all events, by their old clock", python "the same";

    TypeAdded "type-added" Minor,
        "an enum or flags are new", "older tools cannot name them",
        old Reads, new Reads, generic "all of it", python "the same";
    TypeRemoved "type-removed" Median,
        "an enum or flags are removed", "programs and tools lose their names",
        old Reads, new Reads, generic "all of it", python "the same";
    TypeRenamed "type-renamed" Median,
        "an enum or flags have another name", "parameters have it as their type",
        old Skips, new Skips, generic "all of it", python "another type of its parameters";
    TypeReprChanged "type-repr-changed" Median,
        "a type has another `repr`", "its numbers have other bytes",
        old Skips, new Skips, generic "all of it", python "the same";
    TypeFormChanged "type-form-changed" Median,
        "an enum becomes flags, or flags an enum", "its numbers mean something else",
        old Skips, new Skips, generic "all of it", python "the same";
    ValueAdded "value-added" Minor,
        "a value of a type is new", "older tools cannot name it",
        old Unnamed, new Reads, generic "by name", python "the same";
    ValueRemoved "value-removed" Median,
        "a value of a type is removed", "old streams have it",
        old Reads, new Unnamed, generic "by its old name", python "the same";
    ValueRenamed "value-renamed" Median,
        "a number has another name", "it means something else",
        old Skips, new Skips, generic "by its old name", python "the same";
    ValueRenumbered "value-renumbered" Median,
        "a name has another number", "the number means something else",
        old Skips, new Skips, generic "by its old number", python "the same";

    SpanAdded "span-added" Minor,
        "a span is new", "older tools do not pair its events",
        old Reads, new Reads, generic "pairs as the stream's registry says", python "the same";
    SpanRemoved "span-removed" Minor,
        "a span is removed", "a span says how to show events, and each stream has its own",
        old Reads, new Reads, generic "pairs as the stream's registry says", python "the same";
    SpanChanged "span-changed" Minor,
        "a span has another begin, end, key, `named_by` or `pause`", "a span says how to show events, and each stream has its own",
        old Reads, new Reads, generic "pairs as the stream's registry says", python "the same";

    PresetAdded "preset-added" Minor,
        "a preset is new", "older tools cannot name it",
        old Reads, new Reads, generic "all of it", python "the same";
    PresetRemoved "preset-removed" Median,
        "a preset is removed", "the word that switches its events means nothing",
        old Reads, new Reads, generic "all of it", python "the same";
    PresetChanged "preset-changed" Minor,
        "a preset has other words", "it switches other events; streams do not change",
        old Reads, new Reads, generic "all of it", python "the same";

    MessageAdded "message-added" Minor,
        "a message is new", "programs may receive it; streams do not change",
        old Reads, new Reads, generic "pairs as the stream's registry says", python "the same";
    MessageRemoved "message-removed" Minor,
        "a message is removed", "programs no longer receive it; streams do not change",
        old Reads, new Reads, generic "pairs as the stream's registry says", python "the same";
    MessageChanged "message-changed" Minor,
        "a message has another begin, end, key or limit", "programs receive something else; streams do not change",
        old Reads, new Reads, generic "pairs as the stream's registry says", python "the same";

    VersionLowered "version-lowered" Refused,
        "the version is below the released one", "a newer registry needs a higher version",
        old Refused, new Refused, generic "-", python "-";
    RegistryRenamed "registry-renamed" Refused,
        "the registry has another name", "readers know a registry by its name, so it is another registry",
        old Refused, new Refused, generic "-", python "-";
}

impl Rule {
    /// Returns the name, `kebab-case`.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the number that must rise.
    pub const fn demand(self) -> Demand {
        self.row().demand
    }

    /// Returns the rule of a name.
    pub fn from_name(name: &str) -> Option<Rule> {
        Rule::ALL.iter().copied().find(|rule| rule.name() == name)
    }

    /// Returns false for changes that no `[[allow]]` can allow: a reused code, and changes that
    /// make the comparison meaningless. A change that demands nothing needs no `[[allow]]`.
    pub const fn can_be_allowed(self) -> bool {
        let means_nothing = matches!(self, Rule::CodeReused | Rule::VersionLowered | Rule::RegistryRenamed);
        !means_nothing && !matches!(self.demand(), Demand::Nothing)
    }
}

impl Demand {
    /// Returns its name in the table.
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
            Effect::Absent => "reads it; the parameter is `None`",
            Effect::Unnamed => "reads it; the number has no name",
            Effect::Skips => "skips and counts it",
            Effect::IfThere => {
                "reads it; without the parameter only below its `since`, otherwise skips and counts it"
            }
            Effect::Never => "never meets it",
            Effect::Refused => "-",
        })
    }
}
