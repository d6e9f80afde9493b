//! Inputs that are compressed with gzip as a whole.

use std::io::Write;

use crate::mono;
use crate::run::Folder;
use crate::streams::gc;

/// Returns bytes compressed by `gzip`.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Compressed logs of every other system are read like others, from files and pipes.
#[test]
fn logs_are_unpacked() {
    let folder = Folder::new().with("gc.tel", gc());
    let converted = |format: &str| {
        let run = folder.run(&format!("convert --to {format} -o converted.log gc.tel"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        std::fs::read(folder.path("converted.log")).unwrap()
    };
    let logs = [("mps", converted("mps")), ("ghc", converted("ghc-eventlog")), ("mono", mono::log(b""))];
    for (format, log) in logs {
        let packed = gzip(&log);
        std::fs::write(folder.path("plain.log"), &log).unwrap();
        std::fs::write(folder.path("packed.gz"), &packed).unwrap();
        let (plain, unpacked) = (folder.run("cnv plain.log"), folder.run("cnv packed.gz"));
        assert_eq!((plain.code, unpacked.code), (Some(0), Some(0)), "{format}: {}", unpacked.stderr);
        assert!(!plain.stdout.is_empty() && plain.stdout == unpacked.stdout, "{format}");
        assert_eq!(folder.run_on("cnv -", &packed).stdout, plain.stdout, "{format}");
        std::fs::write(folder.path("cut.gz"), &packed[..packed.len() - 9]).unwrap();
        let cut = folder.run("cnv cut.gz");
        assert_eq!(cut.code, Some(1), "{format}: {}", cut.stderr);
        assert!(
            cut.stderr.contains("its compressed data is damaged after this byte"),
            "{format}: {}",
            cut.stderr
        );
    }
}

#[test]
fn of_a_stream_it_is_said_how_to_unpack_it() {
    let folder = Folder::new().with("gc.tel.gz", gzip(&gc()));
    let run = folder.run("print gc.tel.gz");
    assert_eq!((run.code, run.stdout.len()), (Some(2), 0));
    let said = "error: `gc.tel.gz` is compressed with gzip, expected a telemetry stream or a log of another system; \
                help: `gunzip -c gc.tel.gz | telemetry print -`\n";
    assert_eq!(run.stderr, said);
}
