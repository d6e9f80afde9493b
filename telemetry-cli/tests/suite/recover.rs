//! `recover` on images like those that a killed program leaves, made by hand.

use std::io::{Seek, SeekFrom, Write};

use crate::run::Folder;
use crate::streams::{GC, block_type, blocks, gc, image, labeled, lossy};
use telemetry_format::BlockType;

#[test]
fn recover() {
    let stream = gc();
    let early: Vec<u8> = blocks(&stream).into_iter().take(9).flatten().collect();
    let mut broken = image(&stream, 0);
    let last = broken.len() - 300;
    broken[last..].fill(0xff);
    let without: Vec<u8> = blocks(&stream)
        .into_iter()
        .filter(|block| block_type(block) != BlockType::Registry)
        .flatten()
        .collect();
    let folder = Folder::new()
        .with("app.ring", image(&stream, 0))
        .with("late.ring", image(&stream, 3))
        .with("app.tel", early)
        .with("broken.ring", broken)
        .with("without.ring", image(&without, 0))
        .with("labels.ring", image(&labeled(), 0))
        .with("lossy.ring", image(&lossy(), 0))
        .with("gc.toml", GC)
        .with("noise", b"no telemetry \x89TEL\r\n\x1a\n here".repeat(30))
        .with("empty", "");
    folder.check(
        "recover",
        &[
            "recover app.ring",
            "recover app.ring -o app.out",
            "info app.out",
            "recover late.ring -o late.out",
            "stats late.out",
            "recover late.ring app.tel -o both.out",
            "stats both.out",
            "recover labels.ring -o labels.out",
            "print labels.out --registry-name gc --kind Pool",
            "recover lossy.ring -o lossy.out",
            "stats lossy.out",
            "recover --json lossy.ring",
            "recover broken.ring",
            "recover --strict broken.ring",
            "recover without.ring -o without.out",
            "recover without.ring -o without.out --registry gc.toml",
            "recover --json app.ring",
            "recover noise -o noise.out",
            "recover empty",
            "recover missing",
            "recover",
            "recover app.ring -o missing/out.tel",
            "recover app.ring -o /dev/full",
        ],
    );
    assert!(!folder.path("noise.out").exists());
    // The way through an image changes nothing, and all of the run is there.
    let events = |name: &str| {
        folder
            .run(&format!("cnv {name}"))
            .stdout
            .split_inclusive(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(folder.run("recover app.ring -o -").stdout, std::fs::read(folder.path("app.out")).unwrap());
    std::fs::write(folder.path("gc.tel"), gc()).unwrap();
    for name in ["app.out", "both.out", "without.out"] {
        assert_eq!(events(name), events("gc.tel"), "{name}");
    }
}

/// A core dump is mostly holes. They take little time and no memory; if the system reports holes,
/// their size does not matter.
#[test]
fn a_sparse_image() {
    let (most, size) =
        if cfg!(target_os = "linux") { (1 << 40, "1,099,511,627,776") } else { (1 << 27, "134,217,728") };
    let folder = Folder::new();
    let mut file = std::fs::File::create(folder.path("core")).unwrap();
    file.seek(SeekFrom::Start(most / 4 * 3 + 8192)).unwrap();
    file.write_all(&image(&gc(), 0)).unwrap();
    file.set_len(most).unwrap();
    // A hole alone, and an empty file, before it.
    std::fs::File::create(folder.path("holes")).unwrap().set_len(most).unwrap();
    std::fs::write(folder.path("empty"), "").unwrap();
    let check = |args: &str, code: i32, says: &[&str]| {
        let start = std::time::Instant::now();
        let run = folder.run(args);
        assert_eq!(run.code, Some(code), "{}", run.stderr);
        let said = String::from_utf8_lossy(&run.stdout).into_owned() + &run.stderr;
        assert!(says.iter().all(|says| said.contains(says)), "{args}: {said}");
        assert!(start.elapsed().as_secs() < 60, "{args}: {:?}", start.elapsed());
    };
    check("recover core", 0, &["recovered: 23 events in 8 blocks", size]);
    check("recover holes empty core", 0, &["recovered: 23 events in 8 blocks"]);
    check("recover holes", 1, &[size]);
}
