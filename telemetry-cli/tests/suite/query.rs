//! `query`, `ship`, `collect` and `lake`: the program that answers is found and started, or its
//! absence is explained.

use telemetry_testing::program;

use crate::run::{Folder, run};

#[test]
fn a_missing_program_has_help() {
    let folder = Folder::new();
    let found = run(folder.command("query SELECT gc.tel").env("PATH", folder.path("empty")), &[]);
    assert_eq!((found.code, found.stdout.len()), (Some(2), 0));
    assert_eq!(
        found.stderr,
        "error: found no program `telemetry-query` beside `telemetry` or in $PATH, expected one: it is a package of \
         its own; help: in a clone of the repository, run `cargo install --locked --path telemetry-query`\n"
    );
}

#[test]
fn a_lake_has_help() {
    let folder = Folder::new();
    program::script(&folder.path("telemetry-query"), "#!/bin/sh\necho started\n");
    for lake in ["s3://telemetry/prod", "file:///srv/store", "az://telemetry/prod", "gs://telemetry/prod"] {
        let found =
            run(folder.command(&format!("query SELECT {lake} --json")).env("PATH", folder.path("")), &[]);
        assert_eq!((found.code, found.stdout.len()), (Some(2), 0), "{lake}");
        assert_eq!(
            found.stderr,
            format!(
                "error: `{lake}` is the address of a lake, expected a stream or log; help: `telemetry-lake stream \
                 ADDRESS` writes a stream of a lake, for a file or a pipe\n"
            )
        );
    }
}

#[test]
fn all_arguments_are_passed_on() {
    let folder = Folder::new();
    program::script(&folder.path("telemetry-query"), "#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 1\n");
    let table = [
        ("query SELECT gc.tel --json", "<SELECT><gc.tel><--json>"),
        ("query --tables --threads 2 -", "<--tables><--threads><2><->"),
        ("--quiet query SELECT -o rows", "<--quiet><SELECT><-o><rows>"),
        ("query SELECT --help", "<SELECT><--help>"),
    ];
    for (args, passed) in table {
        let found = run(folder.command(args).env("PATH", folder.path("")), &[]);
        assert_eq!(String::from_utf8_lossy(&found.stdout), passed, "{args}: {}", found.stderr);
        assert_eq!(found.code, Some(1), "{args}");
    }
    std::fs::rename(folder.path("telemetry-query"), folder.path("telemetry-fleet")).unwrap();
    program::copy(folder.path("telemetry-fleet"), &folder.path("telemetry-lake"));
    for (args, passed) in [
        ("ship --to x --help", "<ship><--to><x><--help>"),
        ("collect --config c.toml", "<collect><--config><c.toml>"),
        ("collect control h7 gc -Ref --reset", "<control><h7><gc><-Ref><--reset>"),
        ("collect token h7", "<token><h7>"),
        ("lake commit --once", "<commit><--once>"),
    ] {
        let found = run(folder.command(args).env("PATH", folder.path("")), &[]);
        assert_eq!(String::from_utf8_lossy(&found.stdout), passed, "{args}: {}", found.stderr);
    }
    // A name with a typing error is still none of the commands.
    let found = run(folder.command("qeury SELECT").env("PATH", folder.path("")), &[]);
    assert_eq!(found.code, Some(2));
    assert!(found.stderr.contains("'query'"), "{}", found.stderr);
}
