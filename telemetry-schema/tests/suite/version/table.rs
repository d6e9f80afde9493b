//! `docs/versions.md` has the table of rules as the code has it.
//!
//! After a change, `UPDATE_DOCS=1 cargo test -p telemetry-schema` writes it again; read it.

use std::collections::HashSet;
use std::fmt::Write;

use telemetry_schema::version::{Demand, Effect, Rule};

const BEGIN: &str = "<!-- The table of rules is made of the code. -->\n";
const END: &str = "<!-- The end of the table. -->\n";

fn table() -> String {
    let mut out = String::from(
        "| rule | change | number | why | typed decoder of before, new stream | typed decoder of now, old stream | generic decoder | generated Python |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for rule in Rule::ALL {
        let row = rule.row();
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} | {} | {} | {} | {} |",
            row.name,
            row.change,
            row.demand.name(),
            row.why,
            row.old_decoder,
            row.new_decoder,
            row.generic,
            row.python
        );
    }
    out
}

#[test]
fn the_docs_have_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/versions.md");
    let text = std::fs::read_to_string(path).expect("docs/versions.md");
    let start = text.find(BEGIN).expect("the begin of the table") + BEGIN.len();
    let end = text.find(END).expect("the end of the table");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let text = format!("{}{}{}", &text[..start], table(), &text[end..]);
        std::fs::write(path, text).expect("docs/versions.md can be written");
        return;
    }
    assert!(
        text[start..end] == table(),
        "docs/versions.md is out of date: UPDATE_DOCS=1 cargo test -p telemetry-schema"
    );
}

#[test]
fn rows_are_whole_and_agree_with_themselves() {
    let mut names = HashSet::new();
    for &rule in Rule::ALL {
        let row = rule.row();
        assert!(names.insert(row.name), "{} stands twice", row.name);
        assert!(row.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{}", row.name);
        assert_eq!(Rule::from_name(row.name), Some(rule));
        for text in [row.change, row.why, row.generic, row.python] {
            assert!(!text.is_empty() && !text.contains('|'), "{}", row.name);
        }
        // Refused changes never come to a decoder.
        let is_refused = row.demand == Demand::Refused;
        assert_eq!(row.old_decoder == Effect::Refused, is_refused, "{}", row.name);
        assert_eq!(row.new_decoder == Effect::Refused, is_refused, "{}", row.name);
        // If an older program reads it differently, a higher minor number is not enough.
        if row.demand < Demand::Median {
            let fine =
                matches!(row.old_decoder, Effect::Reads | Effect::Ignores | Effect::Unnamed | Effect::Never);
            assert!(fine || rule == Rule::EventAdded, "{}", row.name);
            assert!(!matches!(row.new_decoder, Effect::Skips | Effect::IfThere), "{}", row.name);
        }
    }
    assert_eq!(Rule::from_name("param-retypd"), None);
}
