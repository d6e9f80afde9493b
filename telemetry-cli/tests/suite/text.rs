//! `print`, `cnv` and `txt`.

use std::process::Command;

use crate::run::{Folder, run};
use telemetry_decode::Value;
use telemetry_format::{BlockType, Header};

use crate::streams::{
    APP, GC, begun, block_type, blocks, gc, gc_run, gc_without_registry, labeled, lossy, two_registries,
};

#[test]
fn print() {
    let folder = Folder::new().with("gc.tel", gc());
    folder.check("print", &["print gc.tel", "print --order stream gc.tel"]);
}

#[test]
fn print_of_a_pipe() {
    let folder = Folder::new().with("gc.tel", gc());
    folder.check(
        "print_of_a_pipe",
        &["print --kind Pool - < gc.tel", "print --kind Pool --order stream - < gc.tel"],
    );
}

#[test]
fn print_of_several_streams() {
    let folder = Folder::new()
        .with("a.tel", gc_run(1).finish().unwrap())
        .with("b.tel", gc_run(2).finish().unwrap())
        .with("two.tel", two_registries())
        .with("lossy.tel", lossy());
    folder.check(
        "print_of_several_streams",
        &[
            "print --event PoolInit a.tel b.tel",
            "print two.tel",
            "print lossy.tel",
            "print --strict lossy.tel",
        ],
    );
}

#[test]
fn cnv() {
    let folder = Folder::new().with("gc.tel", gc()).with("two.tel", two_registries());
    folder.check(
        "cnv",
        &["cnv gc.tel", "cnv -f gc.tel --kind Pool", "cnv two.tel", "cnv --registry-name app two.tel"],
    );
}

/// Two registries that agree on an event count as one, with any alignment.
#[test]
fn cnv_of_other_alignments() {
    let check = |old: &str, new: &str, is_told: bool| {
        let mut folder = Folder::new();
        for (name, registry) in [("a.tel", GC.to_string()), ("b.tel", GC.replacen(old, new, 1))] {
            let registry = telemetry_schema::parse(&registry).unwrap();
            let (mut writer, lane) = begun(1, 0, "", &registry);
            let pool = [Value::Pointer(16), Value::Addr(2), Value::Word(3), Value::Unsigned(4)];
            writer.event(lane, 0x10, 20, &pool).unwrap();
            folder = folder.with(name, writer.finish().unwrap());
        }
        let run = folder.run("cnv a.tel b.tel");
        let line = "0000000000000014   10 10 2 3 4\n";
        assert_eq!(String::from_utf8_lossy(&run.stdout), line.repeat(2), "{new}");
        assert_eq!(run.stderr.contains("code 0x0010 is `PoolInit`"), is_told, "{new}: {}", run.stderr);
    };
    check("sort = \"P\", doc", "sort = \"P\", align = 16, doc", false);
    check("name = \"size\", sort = \"W\"", "name = \"extent\", sort = \"W\"", true);
}

#[test]
fn txt() {
    let folder = Folder::new().with("gc.tel", gc());
    folder.check("txt", &["txt gc.tel"]);
}

#[test]
fn txt_of_text() {
    let lines = "\
000000000000000A   10 7F001000 1000000000 1000 0
A 10 1 2 3 4
000000000000000A  102 0 0 0 0 0 0 0 0 0 \"\" 1 0 [] [] [] []
000000000000000A   26
000000000000000A FFFF \"a \\\"quote\\\" and a \\\\ and a \\n\"

X
000000000000000A
000000000000000A   10
000000000000000A   10 7F001000 1000000000 1000
000000000000000A   10 7F001000 1000000000 1000 0 0
000000000000000A   10 7F001000 1000000000 1000 100000000
000000000000000A   10 10000000000000000 1000000000 1000 0
000000000000000A 10000
000000000000000A   20 1 -1 0.5
000000000000000A   20 1 1 half
000000000000000A   21 1 1 2
000000000000000A FFFF \"no end
000000000000000A  102 0 0 0 0 0 0 0 0 0 \"ABC\" 1 0 [] [] [] []
";
    let two = "[registry]\nname = \"other\"\nversion = { major = 1, median = 0, minor = 0 }\ndoc = \"d\"\n\
               [kinds]\nA = { bit = 0, doc = \"d\" }\n\
               [[event]]\nname = \"Other\"\ncode = 0x10\nkind = \"A\"\ndoc = \"d\"\n";
    let folder = Folder::new()
        .with("gc.toml", GC)
        .with("two.toml", two)
        .with("telemetry.toml", include_str!("../../../telemetry-runtime/telemetry.toml"))
        .with("own.txt", "000000000000000A 1 1 1 \"all\"\n")
        .with("good.txt", lines.split_inclusive('\n').take(5).collect::<String>())
        .with("bad.txt", lines)
        .with(
            "long.txt",
            [b"000000000000000A FFFF \"".to_vec(), vec![b'x'; 3 << 20], b"\"\nA 101\n".to_vec()].concat(),
        )
        .with("binary.txt", &gc()[8..])
        .with("empty.txt", "");
    folder.check(
        "txt_of_text",
        &[
            "txt --registry gc.toml < good.txt",
            "txt -l good.txt --registry gc.toml",
            "txt -l good.txt --registry gc.toml --registry two.toml",
            "txt -l own.txt --registry telemetry.toml",
            "txt -l bad.txt --registry gc.toml",
            "txt -l long.txt --registry gc.toml",
            "txt -l empty.txt --registry gc.toml",
            "txt -l missing.txt --registry gc.toml",
            "txt -l . --registry gc.toml",
            "txt -l good.txt",
            "txt",
            "txt -l good.txt --registry gc.toml --kind Pool",
            "txt -l good.txt --registry missing.toml",
        ],
    );
    let binary = folder.run("txt -l binary.txt --registry gc.toml");
    assert_eq!((binary.stdout.len(), binary.code), (0, Some(1)), "{}", binary.stderr);
}

/// Labels are shown when they are known, with every filter and order of events.
#[test]
fn labels() {
    let labels = blocks(&labeled());
    let is_label = |block: &&Vec<u8>| {
        Header::decode(block, crc32c::crc32c).unwrap().thread == 0 && block_type(block) == BlockType::Events
    };
    let last: Vec<u8> = labels
        .iter()
        .filter(|block| !is_label(block))
        .chain(labels.iter().filter(is_label))
        .flatten()
        .copied()
        .collect();
    let folder = Folder::new().with("labels.tel", labeled()).with("last.tel", last);
    folder.check(
        "labels",
        &[
            "print labels.tel",
            "print --registry-name gc --event PoolInit labels.tel",
            "print --registry-name gc --event PoolInit --order stream last.tel",
            "print --event PoolInit --order stream - < labels.tel",
            "print --event PoolInit --order stream - < last.tel",
            "cnv labels.tel",
            "txt labels.tel",
            "stats labels.tel",
            "info labels.tel",
        ],
    );
}

/// Both ways to the MPS's second text give the same, although numbers are rounded repeatedly.
#[test]
fn sorted_cnv_text_becomes_the_text_of_the_stream() {
    let folder = Folder::new().with("gc.tel", gc()).with("gc.toml", GC);
    let cnv = folder.run("cnv gc.tel");
    let sorted = run(Command::new("sort").env("LC_ALL", "C"), &cnv.stdout);
    let txt = folder.run_on("txt --registry gc.toml", &sorted.stdout);
    let direct = folder.run("txt gc.tel");
    assert_eq!((txt.code, direct.code), (Some(0), Some(0)), "{}{}", txt.stderr, direct.stderr);
    let direct = String::from_utf8_lossy(&direct.stdout).into_owned();
    assert_eq!(String::from_utf8_lossy(&txt.stdout), direct);
    assert_eq!(direct.lines().count(), 23);
}

/// The same with two registries that share a code: lines name theirs.
#[test]
fn sorted_cnv_text_of_two_registries_becomes_the_text_of_the_stream() {
    let folder = Folder::new().with("two.tel", two_registries()).with("gc.toml", GC).with("app.toml", APP);
    let cnv = folder.run("cnv two.tel");
    let sorted = run(Command::new("sort").env("LC_ALL", "C"), &cnv.stdout).stdout;
    let text = String::from_utf8(sorted.clone()).unwrap();
    assert_eq!(text, "000000000000000A app:10 \"/index\"\n0000000000000014 gc:10 1 2 3 4\n");
    let direct = folder.run("txt two.tel");
    assert!(String::from_utf8_lossy(&direct.stdout).contains(" 0010 app:RequestBegin    url:"));
    for order in ["--registry gc.toml --registry app.toml", "--registry app.toml --registry gc.toml"] {
        let txt = folder.run_on(&format!("txt {order}"), &sorted);
        assert_eq!(txt.stderr, "read: 2 events; cnv text does not say what was lost\n");
        assert_eq!((txt.code, &txt.stdout), (Some(0), &direct.stdout));
    }
    let without = folder.run_on("txt --registry gc.toml", &sorted);
    assert_eq!((without.code, without.stdout.iter().filter(|byte| **byte == b'\n').count()), (Some(1), 1));
    let said = "line 1: column 18: `app:10`, expected a code, or an event of registry `gc`; help: give each registry with \
                --registry FILE\n";
    assert!(without.stderr.contains(said), "{}", without.stderr);
    // A database is filled by the same rule.
    let sql = folder.run_on("sql --registry gc.toml --registry app.toml -i - -o two.db", &sorted);
    assert_eq!(sql.code, Some(0), "{}", sql.stderr);
    let database = rusqlite::Connection::open(folder.path("two.db")).unwrap();
    let row = |query: &str| database.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(row("SELECT time FROM EVENT_RequestBegin"), 10);
    assert_eq!(row("SELECT time FROM EVENT_PoolInit"), 20);
}

#[test]
fn a_registry_can_come_from_a_file() {
    let folder = Folder::new()
        .with("gc.tel", gc_without_registry())
        .with("gc.toml", GC)
        .with("newer.toml", GC.replacen("minor = 3", "minor = 4", 1))
        .with("bad.toml", "[registry");
    folder.check(
        "a_registry_can_come_from_a_file",
        &[
            "print --kind Pool gc.tel",
            "print --kind Pool gc.tel --registry gc.toml",
            "print --kind Pool gc.tel --registry bad.toml",
            // Another version decodes nothing, and both are named.
            "print --kind Pool gc.tel --registry newer.toml",
            "recover gc.tel --registry newer.toml",
            // Of several, the one that fits.
            "print --kind Pool gc.tel --registry newer.toml --registry gc.toml",
        ],
    );
}

/// Every command that reads streams accepts a stream without its registry, if the registry is
/// given.
#[test]
fn all_commands_take_a_registry() {
    let folder = Folder::new().with("gc.toml", GC);
    for command in ["print", "cnv", "txt", "stats", "stats --json"] {
        // Both have one name, since commands may print it.
        std::fs::write(folder.path("gc.tel"), gc()).unwrap();
        let whole = folder.run(&format!("{command} gc.tel"));
        std::fs::write(folder.path("gc.tel"), gc_without_registry()).unwrap();
        let given = folder.run(&format!("{command} gc.tel --registry gc.toml"));
        assert_eq!((whole.code, given.code), (Some(0), Some(0)), "{command}: {}", given.stderr);
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            // The block of the registry is missing.
            let lines =
                text.lines().filter(|line| !line.contains("\"blocks\"") && !line.contains("\"bytes\""));
            lines.map(|line| format!("{line}\n")).collect::<String>()
        };
        assert_eq!(text(&given.stdout), text(&whole.stdout), "{command}");
    }
}
