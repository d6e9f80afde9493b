//! `telemetry report`: its page, and the document in it.

mod against;
mod browser;
mod census;
mod counters;
mod hostile;
mod numbers;

use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::DeflateDecoder;
use serde_json::Value as Json;
use telemetry_format::BlockType;

use crate::run::{Folder, Run};
use crate::streams::block_type;

/// The maximum length of a page, in bytes.
const MAX_PAGE: usize = 5_000_000;

/// A page, and the document in it.
struct Page {
    html: String,
    document: Json,
    run: Run,
}

impl Page {
    /// Makes the report of a stream.
    #[track_caller]
    fn of(stream: &[u8]) -> Page {
        let folder = Folder::new().with("run.tel", stream);
        let run = folder.run("report run.tel -o page.html");
        Page::read(&folder.path("page.html"), run)
    }

    #[track_caller]
    fn read(path: &Path, run: Run) -> Page {
        let html = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}: {}", run.stderr));
        assert!(html.len() < MAX_PAGE, "{} bytes", html.len());
        let (_, data) = html.split_once("<script id=\"data\" type=\"text/plain\">").unwrap();
        let (data, _) = data.split_once("</script>").unwrap();
        let mut document = String::new();
        let packed = BASE64_STANDARD.decode(data).unwrap();
        DeflateDecoder::new(&packed[..]).read_to_string(&mut document).unwrap();
        Page { document: serde_json::from_str(&document).unwrap(), html, run }
    }

    /// Returns the page without script, style and document.
    fn frame(&self) -> String {
        let mut frame = String::new();
        let mut rest = self.html.as_str();
        for (open, close) in [("<style>", "</style>"), ("<script id", "</script>"), ("<script>", "</script>")]
        {
            let (before, inside) = rest.split_once(open).unwrap();
            frame += before;
            rest = inside.split_once(close).unwrap().1;
        }
        frame + rest
    }
}

#[test]
fn a_page_appears_whole_or_not_at_all() {
    let folder = Folder::new()
        .with("gc.tel", crate::streams::gc())
        .with("text.txt", "no stream")
        .with("noise", [0x80, 0x81, 0x82, 0x00].repeat(100));
    folder.check(
        "report_files",
        &[
            "report gc.tel",
            "report gc.tel -o gc.tel",
            "report gc.tel -o missing/page.html",
            "report text.txt -o none.html",
            "report noise -o none.html",
            "report gc.tel --kind Nothing -o filtered.html",
            "report - -o piped.html < gc.tel",
        ],
    );
    assert!(!folder.path("none.html").exists());
    for name in ["report.html", "filtered.html", "piped.html"] {
        let run = Run { stdout: Vec::new(), stderr: String::new(), code: None };
        Page::read(&folder.path(name), run);
    }
    let whole = std::fs::read(folder.path("report.html")).unwrap();
    let run = folder.run("report gc.tel -o -");
    assert_eq!(run.stdout.len(), whole.len(), "the page is the same on standard output");
}

/// A user who has recorded nothing gets a page that says what to do, and the exit code of `stats`.
#[test]
fn an_empty_recording_has_a_page() {
    let blocks = crate::streams::blocks(&crate::streams::gc());
    let headers = blocks.iter().filter(|block| block_type(block) != BlockType::Events);
    let headers: Vec<_> = headers.cloned().collect();
    let folder = Folder::new()
        .with("gc.tel", crate::streams::gc())
        .with("empty", "")
        .with("session", &blocks[0])
        .with("headers", headers.concat())
        .with("eventlog", crate::ghc::log(&[], &[]));
    folder.check(
        "report_empty",
        &[
            "report empty -o empty.html",
            "stats empty",
            "report - -o piped.html < empty",
            "stats - < empty",
            "report empty gc.tel -o both.html",
            "report session -o session.html",
            "stats session",
            "report headers -o headers.html",
            "report eventlog -o eventlog.html",
            "stats eventlog",
        ],
    );
    for (name, count) in
        [("empty", 0), ("piped", 0), ("both", 23), ("session", 0), ("headers", 0), ("eventlog", 0)]
    {
        let run = Run { stdout: Vec::new(), stderr: String::new(), code: None };
        let page = Page::read(&folder.path(&format!("{name}.html")), run);
        assert_eq!(page.document["stats"]["count"], count, "{name}");
        assert_eq!(page.document["stats"]["completeness"]["bytes"] == 0, ["empty", "piped"].contains(&name));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let folder = Folder::new().with("gc.tel", crate::streams::gc());
    let run = folder.run("report gc.tel -o /dev/full");
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("cannot write `/dev/full`: No space left on device"), "{}", run.stderr);
}
