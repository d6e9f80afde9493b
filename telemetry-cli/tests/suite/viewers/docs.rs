//! The examples in docs/exports.md are what the viewers' own programs print.

use std::path::Path;

use serde_json::Value as Json;

use super::counters;
use super::trace_processor::{folder, query};
use crate::run::Folder;
use crate::spans;

#[test]
fn the_queries_of_the_page_have_their_results() {
    let Some(engine) = folder() else { return };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/exports.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut pieces = page.split("```sql\n");
    let mut fresh = pieces.next().unwrap().to_string();
    let streams = [spans::stream(), counters::stream()];
    let mut number = 0;
    for (piece, stream) in pieces.zip(streams) {
        let folder = Folder::new().with("stream.tel", &stream);
        assert_eq!(folder.run("convert --to perfetto -o trace.pftrace stream.tel").code, Some(0));
        let (sql, rest) = piece.split_once("```\n\n").unwrap();
        let (table, after) = rest.split_once("\n\n").unwrap();
        let head: Vec<_> = table.lines().take(2).collect();
        let columns: Vec<_> = head[0].trim_matches(['|', ' ']).split(" | ").collect();
        fresh += &format!("```sql\n{sql}```\n\n{}", head.join("\n"));
        for row in query(&engine, &folder.path("trace.pftrace"), &[sql]) {
            let values = columns.iter().map(|column| match &row[column] {
                Json::Null => String::new(),
                Json::String(text) => text.clone(),
                value => value.to_string(),
            });
            fresh += &format!("\n| {} |", values.collect::<Vec<_>>().join(" | "));
        }
        fresh += &format!("\n\n{after}");
        number += 1;
    }
    assert_eq!(number, 2);
    if page == fresh {
        return;
    }
    assert!(std::env::var_os("UPDATE_DOCS").is_some(), "docs/exports.md is out of date: {fresh}");
    std::fs::write(&path, fresh).unwrap();
}
