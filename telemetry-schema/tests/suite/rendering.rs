//! Diagnostics of texts that are not plain.

use telemetry_schema::Diagnostic;

/// Draws a mistake at the first `@…@` of `text`, with a label at `%…%` if there is one.
fn draw(text: &str) -> String {
    let label_last = text.rfind('%') > text.rfind('@');
    let (text, first) = cut(text, if label_last { '@' } else { '%' });
    let (text, second) = cut(&text, if label_last { '%' } else { '@' });
    let (span, label) = if label_last { (first, second) } else { (second, first) };
    let span = span.expect("a place is marked");
    let mut diagnostic = Diagnostic::new(span, "found this");
    if let Some(span) = label {
        diagnostic = diagnostic.with_label(span, "first used here");
    }
    diagnostic.render("a/b.toml", &text)
}

/// Takes out a pair of marks and says where it was.
fn cut(text: &str, mark: char) -> (String, Option<std::ops::Range<usize>>) {
    let Some(start) = text.find(mark) else { return (text.to_string(), None) };
    let end = text[start + 1..].find(mark).expect("marks come in pairs") + start;
    (text.replacen(mark, "", 2), Some(start..end))
}

#[test]
fn places_are_drawn() {
    let long = "x".repeat(300);
    let far = "\n".repeat(1000);
    let mut drawn = String::new();
    for (name, text) in [
        ("plain", "a = 1\nb = @oops@\n"),
        ("nothing", "a =@@"),
        ("empty_text", "@@"),
        ("end_of_line", "a =@@\nb"),
        ("tab", "\ta =\t@oops@ # more"),
        ("wide", "世界 = \"한국 🦀\" @wrong@"),
        ("marked_wide", "a = @世界@"),
        ("combining", "e\u{301}e\u{301} = @oops@"),
        ("windows", "a = 1\r\nb = @oops@\r\n"),
        ("byte_order_mark", "\u{feff}a = @oops@"),
        ("control", "a = \"\u{1b}[2J\u{202e}\" @oops@"),
        ("several_lines", "a = @[\n1,\n2]@ # more"),
        ("label_before", "a = %1%\nb = @1@"),
        ("label_after", "a = @1@\nb = 2\nc = %1%"),
        ("label_far", &format!("a = %1%{far}b = @1@")),
        ("label_same_line", "a = %1%, b = @1@"),
        ("long_before", &format!("{long} @oops@")),
        ("long_after", &format!("@oops@ {long}")),
        ("long_around", &format!("{long} @oops@ {long}")),
        ("long_itself", &format!("a = @{long}@")),
        ("long_wide", &format!("{} @世界@ {0}", "世".repeat(300))),
    ] {
        drawn += &format!("# {name}\n\n{}\n\n", draw(text));
    }
    insta::assert_snapshot!("drawn", drawn);
}

#[test]
fn positions_count_characters() {
    let diagnostic = |at| Diagnostic::new(at..at, "");
    let text = "a\n\téß世 x";
    for (at, position) in
        [(0, (1, 1)), (1, (1, 2)), (2, (2, 1)), (3, (2, 2)), (5, (2, 3)), (7, (2, 4)), (11, (2, 6))]
    {
        assert_eq!(diagnostic(at).position(text), position, "{at}");
    }
}

#[test]
fn another_text_does_no_harm() {
    for span in [0..usize::MAX, std::ops::Range { start: 5, end: 1 }, 1..2, 2..3, usize::MAX..usize::MAX] {
        let diagnostic = Diagnostic::new(span, "lost").with_label(3..90, "there");
        for text in ["", "é", "世\n世", "\r\n"] {
            assert!(diagnostic.render("x", text).starts_with("lost\n"));
            diagnostic.position(text);
        }
    }
}
