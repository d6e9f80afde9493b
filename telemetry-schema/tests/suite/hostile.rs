//! Texts that are cut, damaged or made up: an answer always, a panic never.

use proptest::prelude::*;
use telemetry_schema::{parse, parse_embedded, snake_case};

use crate::{GC, SMALL};

/// Parses, and uses all that comes out.
fn survives(text: &str) {
    match parse(text) {
        Ok(registry) => {
            assert_eq!(parse(&registry.to_toml()).as_ref(), Ok(&registry), "{text}");
        }
        Err(invalid) => {
            assert!(!invalid.diagnostics.is_empty(), "an error without a mistake: {text}");
            assert!(invalid.diagnostics.is_sorted_by_key(|diagnostic| diagnostic.span.start));
            for diagnostic in &invalid.diagnostics {
                assert!(text.get(diagnostic.span.clone()).is_some(), "{diagnostic:?} is not in {text}");
                assert!(!diagnostic.message.contains('\n'), "{diagnostic:?}");
            }
            let rendered = invalid.render("events.toml", text);
            assert!(!rendered.contains('\u{1b}'), "{rendered}");
            for emitter in invalid.emitters {
                let name = snake_case(&emitter);
                assert!(
                    name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
                    "{name}"
                );
            }
        }
    }
    if let Ok(registry) = parse_embedded(text) {
        assert_eq!(parse_embedded(&registry.to_toml()), Ok(registry), "{text}");
    }
}

#[test]
fn a_file_cut_anywhere() {
    for (at, _) in SMALL.char_indices() {
        survives(&SMALL[..at]);
        survives(&SMALL[at..]);
    }
}

#[test]
fn a_file_without_one_of_its_lines() {
    for text in [SMALL, GC] {
        let lines: Vec<&str> = text.lines().collect();
        for gone in 0..lines.len() {
            let kept = lines.iter().enumerate().filter(|(line, _)| *line != gone).map(|(_, line)| *line);
            survives(&kept.collect::<Vec<_>>().join("\n"));
        }
    }
}

#[test]
fn deep_and_long_things() {
    for text in [
        "[".repeat(100_000),
        "[a.".repeat(50_000),
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}", "{a=".repeat(50_000)),
        format!("{} = 1", "a.".repeat(50_000)),
        "a".repeat(1_000_000),
        format!("{}\n", "[[event]]\n".repeat(20_000)),
        format!("[registry]\nname = \"{}\"", "x".repeat(1_000_000)),
        format!("[kinds]\n{}", "A = 1\n".repeat(20_000)),
    ] {
        survives(&text);
    }
}

/// Pieces of a damaged file.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "\n", "\"", "\"\"\"", "'", "[", "]", "[[", "]]", "{", "}", "=", ",", ".", "#", "\\", "\\u", "\u{0}", "\u{1b}", "é", "世",
    "-1", "0x", "1e9", "9223372036854775808", "340282366920938463463374607431768211456", "true", "inf", "1979-05-27",
    "registry", "kinds", "types", "event", "span", "name", "code", "sort", "max", "[u32]", "[string; 0]", "values", "\r",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_damaged_file(
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..20usize, prop::sample::select(PIECES)), 1..6),
    ) {
        let mut text = SMALL.to_string();
        for (at, gone, piece) in damage {
            let at = text.floor_char_boundary(at.index(text.len() + 1));
            let end = text.ceil_char_boundary((at + gone).min(text.len()));
            text.replace_range(at..end, piece);
        }
        survives(&text);
    }

    #[test]
    fn a_made_up_file(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        survives(&pieces.concat());
    }

    #[test]
    fn any_text(text in any::<String>()) {
        survives(&text);
    }
}
