//! The message of every change, in full.

use std::fmt::Write;

use super::cases::CASES;
use super::{file, rendered};

#[test]
fn every_change_has_its_message() {
    let mut out = String::new();
    for case in CASES {
        let file = file(&case.text());
        let _ = write!(out, "# {}\n\n{}\n", case.name, rendered(&file));
    }
    insta::assert_snapshot!("changes", out);
}
