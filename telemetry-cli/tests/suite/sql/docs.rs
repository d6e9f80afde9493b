//! The queries in docs/sql.md have the results that are there.

use std::fmt::Write;
use std::path::Path;

use super::{loaded, rows};
use crate::streams::{gc, labeled, lossy};

#[test]
fn queries_are_real() {
    let folder = loaded(&[("gc.tel", gc()), ("labels.tel", labeled()), ("lossy.tel", lossy())]);
    let database = folder.path("telemetry.db");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sql.md");
    let docs = std::fs::read_to_string(&path).unwrap();
    let mut fresh = String::new();
    let mut rest = docs.as_str();
    let mut queries = 0;
    while let Some((before, query)) = rest.split_once("```sql\n") {
        let (query, behind) =
            query.split_once("```\n\n```text\n").expect("a query stands before what it gives");
        let (_, behind) = behind.split_once("```").unwrap();
        write!(fresh, "{before}```sql\n{query}```\n\n```text\n").unwrap();
        let found = rows(&database, query);
        assert!(!found.is_empty(), "nothing to see: {query}");
        found.iter().for_each(|line| {
            writeln!(fresh, "{}", line.escape_debug().to_string().replace("\\\"", "\"")).unwrap()
        });
        fresh += "```";
        rest = behind;
        queries += 1;
    }
    fresh += rest;
    assert!(queries >= 12, "{queries}");
    if docs != fresh && std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    } else {
        assert!(docs == fresh, "docs/sql.md is out of date: run the test with UPDATE_DOCS=1");
    }
}
