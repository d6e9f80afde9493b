//! Fields and messages: types, lengths, and values that use `tracing` themselves.

use std::fmt;

use tracing::field::Empty;
use tracing::{debug, error, event, info, info_span};

use crate::recorded::{check, record};

#[test]
fn every_type_of_field() {
    let failure = std::io::Error::other("disk");
    let run = || {
        error!(
            unsigned = u64::MAX,
            signed = -1,
            float = 0.5,
            bool = true,
            text = "a",
            shown = %'b',
            debugged = ?Some(1),
            error = &failure as &dyn std::error::Error,
            wide = u128::MAX,
            "message {}",
            1
        );
    };
    check(
        run,
        &[
            "LogEvent number:1 span:none level:Error target:suite::values site:values message:message 1",
            "FieldU64 owner:1 name:unsigned value:18446744073709551615",
            "FieldI64 owner:1 name:signed value:-1",
            "FieldF64 owner:1 name:float value:0.5",
            "FieldBool owner:1 name:bool value:true",
            "FieldStr owner:1 name:text value:a",
            "FieldStr owner:1 name:shown value:b",
            "FieldStr owner:1 name:debugged value:Some(1)",
            "FieldStr owner:1 name:error value:disk",
            "FieldStr owner:1 name:wide value:340282366920938463463374607431768211455",
        ],
    );
}

/// Fields without a message, with names that are no identifiers, and fields that come later.
#[test]
fn fields_of_other_forms() {
    let run = || {
        let span = info_span!("request", http.status = Empty, "content type" = "text");
        span.record("http.status", 200_u64);
        debug!(only = 1_u8);
        event!(tracing::Level::INFO, message = "a field");
    };
    check(
        run,
        &[
            "SpanNew span:1 parent:none name:request target:suite::values level:Info site:values",
            "FieldStr owner:1 name:content type value:text",
            "FieldU64 owner:1 name:http.status value:200",
            "LogEvent number:2 span:none level:Debug target:suite::values site:values message:",
            "FieldU64 owner:2 name:only value:1",
            "LogEvent number:none span:none level:Info target:suite::values site:values message:a field",
            "SpanClose span:1",
        ],
    );
}

/// Its text has no end.
struct Endless;

impl fmt::Debug for Endless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        loop {
            f.write_str("\u{1F600}")?;
        }
    }
}

#[test]
fn a_text_that_is_too_long() {
    let before = telemetry::counters::total().truncated;
    let lines = record("tracing:FieldStr", || info!(endless = ?Endless));
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].matches('\u{1F600}').count(), 1024, "{}", lines[0].len());
    assert_eq!(telemetry::counters::total().truncated, before + 1);
}

/// A value is not formatted while its event is off.
#[test]
fn nothing_is_formatted_in_vain() {
    struct Refuses;
    impl fmt::Debug for Refuses {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("formatted")
        }
    }
    let lines = record("tracing:SpanNew", || {
        let _span = info_span!("around", value = ?Refuses).entered();
        info!(value = ?Refuses, "{:?}", Refuses);
    });
    assert_eq!(lines.len(), 1);
}
