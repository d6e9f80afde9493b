//! Spans and events that become events of a registry of the program.

use std::sync::Once;

use tracing::{Level, error_span, field, info, info_span, span};

#[telemetry::telemetry_event("examples/collector.toml", at = "mapped::events")]
pub(crate) mod events {}

/// An event with a parameter of each type that a field can have.
#[telemetry::telemetry_event("tests/suite/every.toml", at = "mapped::every")]
pub(crate) mod every {}

/// Another registry with the mark of the first one.
#[telemetry::telemetry_event("tests/suite/rival.toml", at = "mapped::rival")]
pub(crate) mod rival {}

/// The marks are those of the process, for all its layers.
fn mark() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let all = || events::TRACING.iter().chain(every::TRACING);
        // Once for each layer of a program.
        for _ in 0..2 {
            telemetry_tracing::layer_for::<tracing_subscriber::Registry>(all()).map(drop).expect("marks");
        }
    });
}

/// Checks what a closure records with `words` on.
fn check_words(words: &str, run: impl FnOnce(), expected: &[&str]) {
    mark();
    assert_eq!(crate::recorded::record(words, run), expected);
}

/// Checks that a closure's spans do not fit, and are recorded as without the mark.
fn check_misfit(run: impl FnOnce(), expected: &[&str], mismatch: &str) {
    mark();
    assert_eq!(crate::recorded::record("all", run), expected);
    let all = telemetry_tracing::mismatches();
    let found = all.iter().filter(|text| text.contains(mismatch)).count();
    assert_eq!(found, 1, "{mismatch:?} in {all:#?}");
    assert!(all.iter().all(|text| text.contains("mapped.rs:")), "{all:#?}");
}

#[test]
fn a_span_becomes_events_and_its_child_knows_it() {
    let run = || {
        let span = info_span!(target: "gc", "collect", generation = 2, other = true, freed = field::Empty);
        span.in_scope(|| drop(info_span!(target: "mapped", "inner")));
        span.record("freed", 77);
    };
    check_words(
        "all",
        run,
        &[
            "CollectStart span:1 generation:2",
            "SpanEnter span:1 name:collect",
            "SpanNew span:2 parent:1 name:inner target:mapped level:Info site:mapped",
            "SpanClose span:2",
            "SpanExit span:1",
            "CollectEnd span:1 freed:77",
        ],
    );
}

#[test]
fn events_have_words_of_their_own() {
    let run = || {
        drop(info_span!(target: "gc", "collect", generation = 1, freed = 5));
        info!(name: "grown", target: "gc", bytes = 1u64 << 40, why = ?events::Why::Asked);
        info!(target: "mapped", "not recorded");
    };
    check_words("collector:Heap", run, &["HeapGrown bytes:1099511627776 why:Asked"]);
    check_words("collector:CollectEnd", run, &["CollectEnd span:1 freed:5"]);
    check_words("tracing:Span", run, &[]);
}

#[test]
fn enums_are_numbers_and_names() {
    let run = || {
        info!(name: "grown", target: "gc", bytes = 1, why = 2);
        info!(name: "grown", target: "gc", bytes = 1, why = "Full");
    };
    check_words("collector:all", run, &["HeapGrown bytes:1 why:Asked", "HeapGrown bytes:1 why:Full"]);
}

#[test]
fn a_missing_field_is_found_when_a_call_site_is_used() {
    check_misfit(
        || drop(span!(target: "gc", Level::WARN, "collect", freed = 1, age = 3)),
        &[
            "SpanNew span:1 parent:none name:collect target:gc level:Warn site:mapped",
            "FieldI64 owner:1 name:freed value:1",
            "FieldI64 owner:1 name:age value:3",
            "SpanClose span:1",
        ],
        "the span `collect` of target `gc` does not fit event `CollectStart` of registry `collector`: found \
         `freed`, `age`, expected the field `generation`",
    );
}

#[test]
fn a_value_that_does_not_fit() {
    check_misfit(
        || drop(error_span!(target: "gc", "collect", generation = 256, freed = 1)),
        &[
            "SpanNew span:1 parent:none name:collect target:gc level:Error site:mapped",
            "FieldI64 owner:1 name:generation value:256",
            "FieldI64 owner:1 name:freed value:1",
            "SpanClose span:1",
        ],
        "found 256 in the field `generation`, expected a value of type `u8`",
    );
    check_misfit(
        || info!(name: "grown", target: "gc", bytes = 1, why = "Bored"),
        &[
            "LogEvent number:1 span:none level:Info target:gc site:mapped message:",
            "FieldI64 owner:1 name:bytes value:1",
            "FieldStr owner:1 name:why value:Bored",
        ],
        "found \"Bored\" in the field `why`, expected a value of type `Why`",
    );
    check_misfit(
        || drop(info_span!(target: "gc", "collect", generation = 0, freed = field::Empty)),
        // The span was an event of the registry when it ended without a value.
        &["CollectStart span:1 generation:0"],
        "found no value in the field `freed`, expected a value of type `word`",
    );
}

#[test]
fn two_events_of_one_span_are_an_error() {
    mark();
    let two = telemetry_tracing::layer_for::<tracing_subscriber::Registry>(rival::TRACING);
    assert_eq!(
        two.map(drop).expect_err("two events").to_string(),
        "event `CollectStart` of registry `collector` and event `Seen` of registry `rival` are both made of \
         `collect` of target `gc`, expected one of them\nhelp: give the mark `tracing` of one another name"
    );
}

#[test]
fn every_type_of_a_parameter() {
    let run = || {
        let long = "x".repeat(30);
        info!(
            name: "every",
            target: "mapped",
            pointer = 0x10,
            addr = 0x20u64,
            word = 48,
            small = -1,
            big = i64::MIN,
            natural = u64::MAX,
            single = 1,
            double = 0.5,
            flag = true,
            label = "a label",
            access = 3,
            text = long,
            "{}",
            long
        );
    };
    check_words(
        "every:all",
        run,
        &["Every pointer:0x10 addr:0x20 word:48 small:-1 big:-9223372036854775808 \
           natural:18446744073709551615 single:1 double:0.5 flag:true label:a label access:Read|Write \
           text:xxxxxxxxxxxxxxxx message:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"],
    );
}
