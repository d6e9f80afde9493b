//! `info` and `stats`.

use telemetry_format::{Loss, LossCause};

use crate::run::{Folder, run};
use crate::streams::{
    START, begun, failed, gc, gc_registry, gc_run, gc_without_registry, lossy, two_registries,
};

#[test]
fn info() {
    let folder = Folder::new().with("gc.tel", gc()).with("two.tel", two_registries());
    folder.check("info", &["info gc.tel", "info --json gc.tel", "info two.tel", "info - < two.tel"]);
}

/// How programs ended: by session, with the last panic by time.
#[test]
fn info_of_ends() {
    let folder = Folder::new().with("failed.tel", failed());
    let text = String::from_utf8(folder.run("info failed.tel").stdout).unwrap();
    let rows: Vec<_> = text
        .lines()
        .filter(|line| ["  panic", "  signal", "  exit code"].iter().any(|row| line.starts_with(row)))
        .collect();
    assert_eq!(
        rows,
        [
            "  panic        no such key\\n, at src/cache.rs:7, in thread 2, the last of 2",
            "  signal       SIGSEGV at 0x10, code 1, in thread 2",
            "  exit code    101"
        ]
    );
    let check = |args: &str, input: &[u8], expected: [serde_json::Value; 2]| {
        let printed = run(&mut folder.command(args), input).stdout;
        let json: serde_json::Value = serde_json::from_slice(&printed).unwrap();
        let found = json["sessions"].as_array().unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|session| {
                serde_json::json!(["exit_code", "panic", "panics", "signal"].map(|key| session[key].clone()))
            })
            .collect();
        assert_eq!(found, expected, "{args}");
    };
    let none = || serde_json::json!([null, null, 0, null]);
    let signal = serde_json::json!({
        "name": "SIGSEGV", "code": 1, "address": "0x10", "thread": 2, "time_ns": 2_800
    });
    let panic = serde_json::json!({
        "message": "no such key\n", "file": "src/cache.rs", "line": 7, "thread": 2, "time_ns": 900
    });
    check("info --json failed.tel", &[], [serde_json::json!([101, panic, 2, signal]), none()]);
    check("info --json -", &failed(), [none(), none()]);
}

#[test]
fn info_of_what_is_incomplete() {
    let folder = Folder::new().with("lossy.tel", lossy()).with("none.tel", gc_without_registry());
    folder.check(
        "info_of_what_is_incomplete",
        &["info lossy.tel", "info --strict lossy.tel", "info --json lossy.tel", "info none.tel"],
    );
}

/// The sum of a damaged account may be beyond the largest number.
#[test]
fn losses_that_cannot_be_summed() {
    let (mut writer, lane) = begun(7, START, "lossy", &gc_registry());
    writer.event(lane, 0x101, 1_000, &[]).unwrap();
    writer.flush().unwrap();
    writer.lose(lane, 6, Loss { pool: u64::MAX - 10, reentrant: 5, sink: 17, truncated: 0 }).unwrap();
    writer.event(lane, 0x101, 5_000_000, &[]).unwrap();
    let folder = Folder::new().with("lossy.tel", writer.finish().unwrap());
    for command in ["info", "stats", "spans", "validate", "report -o page.html"] {
        let ended = folder.run(&format!("{command} lossy.tel"));
        assert!(matches!(ended.code, Some(0 | 1)), "{command}: {:?}", ended.stderr);
    }
}

/// Each kind of loss has its remedy, the same everywhere.
#[test]
fn losses_have_remedies() {
    let (mut writer, lane) = begun(7, START, "lossy", &gc_registry());
    writer.event(lane, 0x101, 1_000, &[]).unwrap();
    writer.flush().unwrap();
    writer.lose(lane, 6, Loss { pool: 1_200, reentrant: 30, sink: 17, truncated: 4 }).unwrap();
    writer.event(lane, 0x101, 5_000_000, &[]).unwrap();
    let folder = Folder::new().with("lossy.tel", writer.finish().unwrap()).with("gc.tel", gc());
    for command in ["info", "stats"] {
        let shown = String::from_utf8(folder.run(&format!("{command} lossy.tel")).stdout).unwrap();
        let has = |number: &str, what: &str, remedy: &str| {
            let is_it = |line: &str| {
                line.starts_with(what)
                    && line.ends_with(remedy)
                    && line.split_whitespace().any(|word| word == number)
            };
            assert!(shown.lines().any(is_it), "{command}: {what}:\n{shown}");
        };
        for (cause, number) in LossCause::ALL.into_iter().zip(["1,200", "30", "17"]) {
            has(number, cause.text(), cause.remedy());
        }
        has("4", "truncated values", "events.toml");
        let shown = folder.run(&format!("{command} gc.tel")).stdout;
        assert!(!String::from_utf8(shown).unwrap().contains("remedy"), "{command}");
    }
}

#[test]
fn stats() {
    let folder = Folder::new().with("gc.tel", gc()).with("other.tel", gc_run(7).finish().unwrap());
    folder.check(
        "stats",
        &[
            "stats gc.tel",
            "stats --json --kind Trace gc.tel",
            "stats --kind Pool gc.tel other.tel",
            "stats --kind Pool - < gc.tel",
        ],
    );
}

#[test]
fn json_is_json() {
    let folder = Folder::new().with("gc.tel", gc());
    for args in ["info --json gc.tel", "stats --json gc.tel"] {
        let value: serde_json::Value = serde_json::from_slice(&folder.run(args).stdout).unwrap();
        assert_eq!(value["version"], 1);
        assert_eq!(value["completeness"]["complete"], true);
    }
}
