//! Streams that are not as they were written.

use telemetry_format::{BlockType, HEADER_LEN};

use crate::run::Folder;
use crate::streams::{blocks, events_blocks, gc, gc_run, with_header};

/// Returns streams by name, each damaged in its own way.
fn broken() -> Vec<(&'static str, Vec<u8>)> {
    let whole = gc();
    let parts = blocks(&whole);
    let events = events_blocks(&parts);
    let start = |number: usize| parts[..number].concat().len();
    let flipped = |at: usize| {
        let mut stream = whole.clone();
        stream[at] ^= 0x10;
        stream
    };
    let without = |number: usize| [parts[..number].concat(), parts[number + 1..].concat()].concat();
    let shuffled: Vec<u8> = parts.iter().rev().flatten().copied().collect();
    // A length of 4 GB: as a careless reader would believe it, and as the checksum refutes it.
    let mut unchecked = whole.clone();
    unchecked[start(events[1]) + 16..][..4].copy_from_slice(&[0xff; 4]);
    vec![
        ("cut_in_payload", whole[..start(events[3]) + HEADER_LEN + 7].to_vec()),
        ("cut_in_header", whole[..start(events[3]) + 20].to_vec()),
        ("cut_between", whole[..start(events[3])].to_vec()),
        ("flipped_payload", flipped(start(events[2]) + HEADER_LEN + 3)),
        ("flipped_header", flipped(start(events[2]) + 60)),
        ("flipped_registry", flipped(start(1) + HEADER_LEN + 3)),
        ("missing_block", without(events[0])),
        ("joined", [&whole[..], &gc_run(7).finish().unwrap()].concat()),
        ("joined_twice", [&whole[..], &whole].concat()),
        ("shuffled", shuffled),
        ("unknown_type", with_header(&whole, events[1], |header| header.block_type = BlockType::Unknown(99))),
        ("four_gigabytes", with_header(&whole, events[1], |header| header.payload_len = u32::MAX)),
        ("four_gigabytes_unchecked", unchecked),
        ("text_in_front", [b"not telemetry\n", &whole[..]].concat()),
        ("no_stream", b"root:x:0:0:root:/root:/bin/bash\n".repeat(20)),
        ("one_byte", b"\x89".to_vec()),
        ("empty", Vec::new()),
    ]
}

/// The verdict and exit code of each command for these streams.
#[test]
fn every_command_reports_damage() {
    for (name, stream) in broken() {
        let folder = Folder::new().with("x.tel", &stream);
        let stream_args = ["cnv x.tel", "txt x.tel", "stats x.tel", "info x.tel", "print --order stream -"];
        let print = folder.run("print x.tel");
        let lines = print.stdout.iter().filter(|byte| **byte == b'\n').count();
        let told = print.stderr.replace("x.tel", name);
        let code = print.code.unwrap();
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("damage_{name}"), format!("{lines} lines\n{told}= {code}"));
        });
        for args in stream_args {
            let run = folder.run_on(args, &stream);
            // Headers do not show damage inside of a block.
            if args.starts_with("info") {
                let is_stream = name != "no_stream";
                assert!(
                    if is_stream { matches!(run.code, Some(0 | 1)) } else { run.code == Some(2) },
                    "{name}: {args}: {}",
                    run.stderr
                );
                continue;
            }
            // In stream order, a pipe cannot use a registry before it comes.
            let in_order = !(args.contains("stream") && name == "shuffled");
            assert_eq!(run.code == Some(0), code == 0 && in_order, "{name}: {args}: {}", run.stderr);
            if (args.starts_with("cnv") || args.starts_with("txt")) && name != "joined_twice" {
                assert_eq!(run.stdout.iter().filter(|byte| **byte == b'\n').count(), lines, "{name}: {args}");
            }
        }
    }
}

/// For every length of a truncated file, every command ends with a verdict.
#[test]
fn no_cut_is_silent() {
    let whole = gc();
    let folder = Folder::new();
    for len in (0..whole.len()).step_by(whole.len() / 25) {
        std::fs::write(folder.path("x.tel"), &whole[..len]).unwrap();
        for args in ["print x.tel", "stats x.tel", "info x.tel"] {
            let run = folder.run(&format!("{args} --strict"));
            assert_eq!(run.code, Some(1), "{len}: {args}: {}", run.stderr);
            assert!(run.stderr.starts_with("error: "), "{len}: {args}: {}", run.stderr);
        }
    }
}

/// Damage is reported with its file.
#[test]
fn damage_is_named_by_its_file() {
    let mut broken = gc_run(7).finish().unwrap();
    let len = broken.len();
    broken[len - 300] ^= 1;
    let folder = Folder::new().with("a.tel", gc()).with("b.tel", broken).with("empty.tel", "");
    folder.check("damage_is_named_by_its_file", &["print --kind Pool a.tel empty.tel b.tel"]);
}
