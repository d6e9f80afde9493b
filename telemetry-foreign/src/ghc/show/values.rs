//! The text of values.

use std::fmt::Write;

use telemetry_decode::{Event, Value};

use super::lines::Form;
use crate::ghc::haskell::{append_printable, append_shown};

/// Appends the value of a parameter.
#[inline]
pub(super) fn append(out: &mut Vec<u8>, event: &Event<'_>, index: usize, form: Form) {
    let Some(value) = event.value(index) else { return };
    let number = || value.as_u64().unwrap_or_default();
    match (form, value) {
        (Form::Usual, Value::Array(array)) => {
            for (index, number) in array.iter().enumerate() {
                out.extend(if index == 0 { "" } else { ", " }.bytes());
                append_number(out, number.as_u64().unwrap_or_default());
            }
        }
        (Form::Usual, Value::String(_) | Value::Bytes(_)) => {
            append_text(out, value.as_bytes().unwrap_or_default())
        }
        (Form::Usual, _) => append_number(out, number()),
        (Form::Hex, _) => append_format(out, format_args!("{:x}", number())),
        (Form::Next, _) => append_number(out, number().wrapping_add(1)),
        (Form::Stop, _) => append_stop(out, number(), event.value(index + 1).and_then(|info| info.as_u64())),
        (Form::CapsetKind, _) => out.extend_from_slice(capset_kind(number()).as_bytes()),
        (Form::Breakdown, _) => match BREAKDOWNS.get(number().wrapping_sub(1) as usize) {
            Some(name) => out.extend_from_slice(name.as_bytes()),
            None => append_number(out, number()),
        },
        (Form::Filters, _) => {
            let filters =
                (index..event.schema().params.len()).filter_map(|index| event.value(index)?.as_bytes());
            let mut lead = " filtered by ";
            for filter in filters.filter(|filter| !filter.is_empty()) {
                out.extend_from_slice(lead.as_bytes());
                append_text(out, filter);
                out.extend_from_slice(b", ");
                lead = "";
            }
        }
        (Form::Caf, _) if number() & 1 == 1 => out.extend_from_slice(b" CAF"),
        (Form::Caf, _) => {}
        (Form::List, _) => append_shown(out, value.as_bytes().unwrap_or_default()),
        (Form::Printable, _) => append_printable(out, value.as_bytes().unwrap_or_default()),
    }
}

/// The breakdowns of heap profiles, from 1.
const BREAKDOWNS: &[&str] = &[
    "cost centre",
    "module",
    "closure description",
    "type description",
    "retainer",
    "biography",
    "closure type",
    "info table",
    "era",
];

fn capset_kind(number: u64) -> &'static str {
    match number {
        1 => "CapsetCustom",
        2 => "CapsetOsProcess",
        3 => "CapsetClockDomain",
        _ => "CapsetUnknown",
    }
}

/// The reasons why threads stop, from 0.
const STOPS: &[&str] = &[
    "No stop thread status",
    "heap overflow",
    "stack overflow",
    "thread yielding",
    "thread blocked",
    "thread finished",
    "making a foreign call",
    "blocked on an MVar",
    "blocked on a black hole",
    "blocked on I/O read",
    "blocked on I/O write",
    "blocked on threadDelay",
    "blocked in STM retry",
    "blocked on asyncDoProc",
    "blocked in a foreign call",
    "blocked in a foreign call",
    "blocked in throwTo",
    "thread migrating",
    "waiting for data to be globalised",
    "No stop thread status",
    "blocked reading an MVar",
];

fn append_stop(out: &mut Vec<u8>, status: u64, info: Option<u64>) {
    let why = STOPS.get(status as usize).copied().unwrap_or(STOPS[0]);
    match (status, info) {
        (2, Some(size)) => {
            out.extend_from_slice(b"stack overflow, size ");
            append_number(out, size);
        }
        (8, Some(thread)) => {
            out.extend_from_slice(b"blocked on black hole owned by thread ");
            append_number(out, thread);
        }
        _ => out.extend_from_slice(why.as_bytes()),
    }
}

/// Appends text; bytes that are not UTF-8 are replaced.
pub(super) fn append_text(out: &mut Vec<u8>, text: &[u8]) {
    match std::str::from_utf8(text) {
        Ok(_) => out.extend_from_slice(text),
        Err(_) => out.extend(String::from_utf8_lossy(text).bytes()),
    }
}

/// Appends a decimal number.
#[inline]
pub(super) fn append_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    // Two digits at a time: lines consist mostly of numbers, and a time alone has ten digits.
    while number >= 10 {
        let two = (number % 100) as u8;
        first -= 2;
        digits[first] = b'0' + two / 10;
        digits[first + 1] = b'0' + two % 10;
        number /= 100;
    }
    if number > 0 || first == digits.len() {
        first -= 1;
        digits[first] = b'0' + number as u8;
    }
    out.extend_from_slice(&digits[first..]);
}

fn append_format(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let mut string = String::new();
    // Writing to a string cannot fail.
    let _ = string.write_fmt(text);
    out.extend_from_slice(string.as_bytes());
}
