//! The examples in docs/exports.md are what the viewers' own programs print.

use std::path::Path;

use super::trace_processor::{folder, query};
use crate::run::Folder;
use crate::spans;

#[test]
fn the_queries_of_the_page_have_their_results() {
    let Some(engine) = folder() else { return };
    let folder = Folder::new().with("spans.tel", spans::stream());
    assert_eq!(folder.run("convert --to perfetto -o trace.pftrace spans.tel").code, Some(0));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/exports.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("```sql\n").unwrap();
    let (sql, rest) = rest.split_once("```\n\n").unwrap();
    let (table, after) = rest.split_once("\n\n").unwrap_or((rest.trim_end(), ""));
    let head: Vec<_> = table.lines().take(2).collect();
    let columns: Vec<_> = head[0].trim_matches(['|', ' ']).split(" | ").collect();
    let mut fresh = head.join("\n");
    for row in query(&engine, &folder.path("trace.pftrace"), &[sql]) {
        let values = columns.iter().map(|column| row[column].to_string().trim_matches('"').to_string());
        fresh += &format!("\n| {} |", values.collect::<Vec<_>>().join(" | "));
    }
    if table == fresh {
        return;
    }
    assert!(std::env::var_os("UPDATE_DOCS").is_some(), "docs/exports.md is out of date: {fresh}");
    let after = if after.is_empty() { "\n".to_string() } else { format!("\n\n{after}") };
    std::fs::write(&path, format!("{before}```sql\n{sql}```\n\n{fresh}{after}")).unwrap();
}
