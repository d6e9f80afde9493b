//! One table as an Arrow file, or as a stream in a pipe.

use std::io::Cursor;

use arrow_ipc::reader::{FileReader, StreamReader};

use crate::run::Folder;
use crate::streams::{gc, two_registries};

#[test]
fn one_event_is_a_stream_or_a_file() {
    let folder = Folder::new().with("gc.tel", gc());
    let pipe = folder.run("convert --to arrow --event PoolInit gc.tel");
    assert_eq!(pipe.code, Some(0), "{}", pipe.stderr);
    let file = folder.run("convert --to arrow --event PoolInit gc.tel -o pools.arrow");
    assert_eq!(file.code, Some(0), "{}", file.stderr);
    let of_pipe = StreamReader::try_new(Cursor::new(pipe.stdout), None).unwrap();
    let of_file =
        FileReader::try_new(std::fs::File::open(folder.path("pools.arrow")).unwrap(), None).unwrap();
    assert_eq!(of_pipe.schema(), of_file.schema());
    assert_eq!(of_pipe.schema().metadata()["telemetry.event"], "PoolInit");
    let [of_pipe, of_file]: [Vec<_>; 2] =
        [of_pipe.map(Result::unwrap).collect(), of_file.map(Result::unwrap).collect()];
    assert_eq!(of_pipe.iter().map(|batch| batch.num_rows()).sum::<usize>(), 3);
    assert_eq!(of_pipe, of_file);
    // Of a pipe, too; and an event that does not occur has a table without rows.
    let of_input = folder.run_on("convert --to arrow --event PoolInit -", &gc());
    assert_eq!(of_input.code, Some(0), "{}", of_input.stderr);
    let none = folder.run("convert --to arrow --event PoolInit --from 1h gc.tel");
    assert_eq!(none.code, Some(0), "{}", none.stderr);
    assert_eq!(StreamReader::try_new(Cursor::new(none.stdout), None).unwrap().count(), 0);
}

#[test]
fn several_tables_are_no_stream() {
    let folder = Folder::new().with("gc.tel", gc()).with("two.tel", two_registries()).with("empty.tel", "");
    let table = [
        ("gc.tel --kind Trace", "2 event types"),
        ("two.tel --event 0x10", "2 event types"),
        ("empty.tel", "0 event types"),
        ("gc.tel --event Nothing", "0 event types"),
    ];
    for (args, found) in table {
        let run = folder.run(&format!("convert --to arrow -o out.arrow {args}"));
        assert_eq!(run.code, Some(2), "{args}: {}", run.stderr);
        let expected = format!(
            "error: found {found}, expected one: an Arrow file or stream has one list of columns; help: choose \
             the event with --event NAME, or write a file for each with -d DIR\n"
        );
        assert_eq!(run.stderr, expected, "{args}");
        assert!(!folder.path("out.arrow").exists(), "{args}");
    }
    assert_eq!(folder.run("convert --to arrow --event gc:0x10 two.tel").code, Some(0));
}

/// What a pipe got of a stream has no end, and a file does not appear.
#[test]
#[cfg(target_os = "linux")]
fn an_output_that_takes_nothing() {
    let folder = Folder::new().with("gc.tel", gc());
    for args in ["-o /dev/full", "-o missing/pools.arrow"] {
        let run = folder.run(&format!("convert --to arrow --event PoolInit gc.tel {args}"));
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.starts_with("error: cannot write `"), "{}", run.stderr);
    }
    std::fs::write(folder.path("pools.arrow"), gc()).unwrap();
    let run = folder.run("convert --to arrow --event PoolInit gc.tel -o pools.arrow");
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert_eq!(std::fs::read(folder.path("pools.arrow")).unwrap(), gc());
}
