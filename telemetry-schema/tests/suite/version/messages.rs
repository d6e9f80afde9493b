//! What is said about every change, in full.

use std::fmt::Write;

use super::cases::CASES;
use super::{relation, rendered};

#[test]
fn every_change_has_its_message() {
    let mut out = String::new();
    for case in CASES {
        let relation = relation(&case.text());
        let _ = write!(out, "# {}\n\n{}\n", case.name, rendered(&relation));
    }
    insta::assert_snapshot!("changes", out);
}
