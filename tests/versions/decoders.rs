//! Typed decoders of the released registry and of every one that changed.

use telemetry::decode::Reader;
use telemetry::telemetry_event;
use telemetry_schema::version::Rule;

#[telemetry_event("telemetry-testing/released.toml", decode, at = "decoders::released")]
pub mod released {}

/// What a decoder made of a stream.
pub(crate) struct Read {
    /// Code and text of each event, in the decoder's terms.
    pub(crate) events: Vec<(u16, String)>,
    /// Events passed over.
    pub(crate) passed_over: u64,
}

pub(crate) type Decode = fn(&[u8]) -> Read;

macro_rules! decode {
    ($decoder:ty) => {
        |stream| {
            let mut reader = Reader::from_slice(stream).typed::<$decoder>().expect("a stream");
            let mut events = Vec::new();
            reader
                .for_each(|at| events.push((at.event.code(), format!("{:?}", at.event))))
                .expect("the same major");
            Read { events, passed_over: reader.skipped().total() }
        }
    };
}

macro_rules! decoders {
    ($($rule:ident $module:ident $path:literal $at:literal,)*) => {
        $(
            #[telemetry_event($path, decode, at = $at)]
            pub mod $module {}
        )*

        /// By rule: that of the registry that changed by it.
        pub(crate) const CHANGED: &[(Rule, Decode)] = &[$((Rule::$rule, decode!($module::Decoder)),)*];
    };
}

/// That of the released registry.
pub(crate) const RELEASED: Decode = decode!(released::Decoder);

decoders! {
    DocsChanged docs_changed "tests/versions/registries/docs-changed.toml" "decoders::docs_changed",
    EventAdded event_added "tests/versions/registries/event-added.toml" "decoders::event_added",
    EventRetired event_retired "tests/versions/registries/event-retired.toml" "decoders::event_retired",
    EventRestored event_restored "tests/versions/registries/event-restored.toml" "decoders::event_restored",
    EventAlwaysChanged event_always_changed "tests/versions/registries/event-always-changed.toml" "decoders::event_always_changed",
    EventReplayChanged event_replay_changed "tests/versions/registries/event-replay-changed.toml" "decoders::event_replay_changed",
    EventRangeChanged event_range_changed "tests/versions/registries/event-range-changed.toml" "decoders::event_range_changed",
    EventCensusChanged event_census_changed "tests/versions/registries/event-census-changed.toml" "decoders::event_census_changed",
    EventTimeChanged event_time_changed "tests/versions/registries/event-time-changed.toml" "decoders::event_time_changed",
    EventRenamed event_renamed "tests/versions/registries/event-renamed.toml" "decoders::event_renamed",
    EventRecoded event_recoded "tests/versions/registries/event-recoded.toml" "decoders::event_recoded",
    EventKindChanged event_kind_changed "tests/versions/registries/event-kind-changed.toml" "decoders::event_kind_changed",
    EventForgotten event_forgotten "tests/versions/registries/event-forgotten.toml" "decoders::event_forgotten",
    ParamAppended param_appended "tests/versions/registries/param-appended.toml" "decoders::param_appended",
    SinceChanged since_changed "tests/versions/registries/since-changed.toml" "decoders::since_changed",
    ParamInserted param_inserted "tests/versions/registries/param-inserted.toml" "decoders::param_inserted",
    ParamRemoved param_removed "tests/versions/registries/param-removed.toml" "decoders::param_removed",
    ParamMoved param_moved "tests/versions/registries/param-moved.toml" "decoders::param_moved",
    ParamRenamed param_renamed "tests/versions/registries/param-renamed.toml" "decoders::param_renamed",
    ParamRetyped param_retyped "tests/versions/registries/param-retyped.toml" "decoders::param_retyped",
    MaxChanged max_changed "tests/versions/registries/max-changed.toml" "decoders::max_changed",
    AlignChanged align_changed "tests/versions/registries/align-changed.toml" "decoders::align_changed",
    UnitGiven unit_given "tests/versions/registries/unit-given.toml" "decoders::unit_given",
    UnitChanged unit_changed "tests/versions/registries/unit-changed.toml" "decoders::unit_changed",
    CounterChanged counter_changed "tests/versions/registries/counter-changed.toml" "decoders::counter_changed",
    SensitiveGiven sensitive_given "tests/versions/registries/sensitive-given.toml" "decoders::sensitive_given",
    SensitiveChanged sensitive_changed "tests/versions/registries/sensitive-changed.toml" "decoders::sensitive_changed",
    NamesChanged names_changed "tests/versions/registries/names-changed.toml" "decoders::names_changed",
    KindAdded kind_added "tests/versions/registries/kind-added.toml" "decoders::kind_added",
    KindRemoved kind_removed "tests/versions/registries/kind-removed.toml" "decoders::kind_removed",
    KindRenamed kind_renamed "tests/versions/registries/kind-renamed.toml" "decoders::kind_renamed",
    KindBitChanged kind_bit_changed "tests/versions/registries/kind-bit-changed.toml" "decoders::kind_bit_changed",
    KindClockChanged kind_clock_changed "tests/versions/registries/kind-clock-changed.toml" "decoders::kind_clock_changed",
    TypeAdded type_added "tests/versions/registries/type-added.toml" "decoders::type_added",
    TypeRemoved type_removed "tests/versions/registries/type-removed.toml" "decoders::type_removed",
    TypeRenamed type_renamed "tests/versions/registries/type-renamed.toml" "decoders::type_renamed",
    TypeReprChanged type_repr_changed "tests/versions/registries/type-repr-changed.toml" "decoders::type_repr_changed",
    TypeFormChanged type_form_changed "tests/versions/registries/type-form-changed.toml" "decoders::type_form_changed",
    ValueAdded value_added "tests/versions/registries/value-added.toml" "decoders::value_added",
    ValueRemoved value_removed "tests/versions/registries/value-removed.toml" "decoders::value_removed",
    ValueRenamed value_renamed "tests/versions/registries/value-renamed.toml" "decoders::value_renamed",
    ValueRenumbered value_renumbered "tests/versions/registries/value-renumbered.toml" "decoders::value_renumbered",
    SpanAdded span_added "tests/versions/registries/span-added.toml" "decoders::span_added",
    SpanRemoved span_removed "tests/versions/registries/span-removed.toml" "decoders::span_removed",
    SpanChanged span_changed "tests/versions/registries/span-changed.toml" "decoders::span_changed",
    PresetAdded preset_added "tests/versions/registries/preset-added.toml" "decoders::preset_added",
    PresetRemoved preset_removed "tests/versions/registries/preset-removed.toml" "decoders::preset_removed",
    PresetChanged preset_changed "tests/versions/registries/preset-changed.toml" "decoders::preset_changed",
    MessageAdded message_added "tests/versions/registries/message-added.toml" "decoders::message_added",
    MessageRemoved message_removed "tests/versions/registries/message-removed.toml" "decoders::message_removed",
    MessageChanged message_changed "tests/versions/registries/message-changed.toml" "decoders::message_changed",
}
