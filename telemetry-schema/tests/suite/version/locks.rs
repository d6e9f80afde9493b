//! The lock as text: the same again when read, and nothing but what was written.

use std::fmt::Write;

use proptest::prelude::*;
use telemetry_schema::limits::MAX_LOCK_LEN;
use telemetry_schema::version::{Lock, compare};

use super::lock;
use crate::registries::registries;
use crate::{GC, registry};

#[test]
fn the_lock_is_as_reviewed() {
    insta::assert_snapshot!("lock", lock().to_text());
    insta::assert_snapshot!("lock_gc", Lock::of(&registry(GC), None).to_text());
}

#[test]
fn line_ends_may_be_those_of_windows() {
    let text = lock().to_text();
    assert_eq!(Lock::parse(&text.replace('\n', "\r\n")), Ok(lock()));
    for (at, _) in text.match_indices('\n') {
        let mut one = text.clone();
        one.insert(at, '\r');
        assert!(Lock::parse(&one).is_err(), "one line of them is a change");
    }
}

/// Returns the error for a text that is not a lock file.
#[track_caller]
fn refused(text: &str) -> String {
    let wrong = Lock::parse(text).expect_err("the text is no lock");
    assert!(text.get(wrong.span.clone()).is_some(), "{wrong:?} is not in {text}");
    wrong.render("events.lock", text)
}

#[test]
fn every_change_of_a_line_is_noticed() {
    let text = lock().to_text();
    let lines: Vec<&str> = text.lines().collect();
    let with = |at: usize, new: &[&str]| -> String {
        let lines = lines[..at].iter().chain(new).chain(&lines[at + 1..]);
        lines.map(|line| format!("{line}\n")).collect()
    };
    for (at, line) in lines.iter().enumerate() {
        refused(&with(at, &[]));
        refused(&with(at, &[line, line]));
        refused(&with(at, &[line, ""]));
        refused(&with(at, &[line, "# a note"]));
        refused(&with(at, &[&format!("{line} ")]));
        refused(&with(at, &[&line.to_uppercase(), " "]));
        for (place, char) in line.char_indices() {
            let mut changed = line.to_string();
            let other = if char == '1' { "2" } else { "1" };
            changed.replace_range(place..place + char.len_utf8(), other);
            refused(&with(at, &[&changed]));
        }
    }
    refused(text.trim_end());
    refused(&(text.clone() + "\n"));
    refused(&(text.clone() + &text));
    refused(&format!("\u{feff}{text}"));
}

#[test]
fn a_lock_that_is_no_good_is_explained() {
    let text = lock().to_text();
    let resum = |text: &str| {
        // As a program would write it that knows the form and not the rules.
        let lines = &text[..text.rfind("checksum").expect("a checksum")];
        let hash = lines.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        format!("{lines}checksum {hash:016x}\n")
    };
    assert_eq!(resum(&text), text);
    let texts = [
        ("empty", String::new()),
        ("blank", "\n \n".to_string()),
        ("newer", text.replace("telemetry-lock 1", "telemetry-lock 2")),
        ("something else", "[registry]\nname = \"cache\"\n".to_string()),
        ("binary", "\u{0}\u{1}\u{2}".repeat(30)),
        ("edited", text.replace("max=80", "max=90")),
        ("cut off", text[..text.len() / 2].to_string()),
        (
            "conflict",
            text.replace("kind 0", "<<<<<<< HEAD\nkind 0")
                .replace("kind 5", "=======\nkind 6\n>>>>>>> topic\nkind 5"),
        ),
        ("unknown line", resum(&text.replace("kind 0", "sort 0"))),
        ("order", resum(&text.replace("kind 0", "kind 7"))),
        ("no registry", resum(&text.replace("registry cache", "kind cache"))),
        ("two registries", resum(&text.replace("kind 0 Lookup precise docs", "registry cache 1.0.0 docs"))),
        ("a parameter first", resum(&text.replace("kind 0 Lookup precise", "param kind u8"))),
        ("a value first", resum(&text.replace("kind 0 Lookup precise", "value 0 Lookup"))),
        ("bad code", resum(&text.replace("0x0003", "3"))),
        ("other spelling", resum(&text.replace("0x0003", "0x003"))),
        ("bad name", resum(&text.replace("Miss", "miss"))),
        ("more words", resum(&text.replace("always", "always never"))),
        ("nothing in it", resum("telemetry-lock 1\n# Written by hand\nchecksum 0\n")),
        ("one line", "telemetry-lock 1\n".to_string()),
        ("only a checksum", resum("checksum 0\n")),
    ];
    let mut out = String::new();
    for (name, text) in texts {
        let _ = write!(out, "# {name}\n\n{}\n\n", refused(&text));
    }
    insta::assert_snapshot!("bad_locks", out);
    let message = refused(&"#".repeat(MAX_LOCK_LEN as usize + 1));
    assert!(message.starts_with("the lock has 16777217 bytes, expected at most 16777216\n"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_written_is_read_again(before in registries(), after in registries()) {
        let before = Lock::of(&before, None);
        let lock = Lock::of(&after, Some(&before));
        let text = lock.to_text();
        let read = Lock::parse(&text);
        prop_assert!(read.is_ok(), "{}\n{}", read.unwrap_err().render("events.lock", &text), text);
        let read = read.unwrap();
        prop_assert_eq!(&read, &lock);
        prop_assert_eq!(read.to_text(), text);
        prop_assert!(compare(&read, &after).is_empty(), "{:?}", compare(&read, &after));
        // No code is forgotten.
        for event in &before.events {
            prop_assert!(lock.event(event.code).is_some());
        }
    }

    #[test]
    fn a_damaged_lock(
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..20usize, "[ -~\n\u{0}é]{0,3}"), 1..4),
    ) {
        let whole = lock().to_text();
        let mut text = whole.clone();
        for (at, gone, piece) in damage {
            let at = text.floor_char_boundary(at.index(text.len() + 1));
            let end = text.ceil_char_boundary((at + gone).min(text.len()));
            text.replace_range(at..end, &piece);
        }
        if text != whole {
            refused(&text);
        }
    }

    #[test]
    fn two_registries_compare_without_end_or_panic(before in registries(), after in registries()) {
        let lock = Lock::of(&before, None);
        let mut named = after;
        named.name = before.name;
        let changes = compare(&lock, &named);
        prop_assert_eq!(&changes, &compare(&lock, &named));
        for change in changes {
            prop_assert!(!change.message().contains('\n'), "{:?}", change);
        }
    }
}
