//! Memory does not grow with the stream.
#![cfg(target_os = "linux")]

use std::process::Command;

use telemetry_decode::writer::Lane;
use telemetry_decode::{RawStr, Value};

use crate::run::{Folder, Run, run};
use crate::streams::{begun, gc_registry};

/// Several times the memory that a command may use.
const STREAM_KIB: usize = 48 << 10;

#[test]
fn memory_stays_small() {
    // Few lanes with many blocks, and many lanes that are all in the middle of a block.
    let folder = Folder::new().with("few.tel", big(8)).with("many.tel", big(700));
    let commands = [
        "print few.tel",
        "print --order stream few.tel",
        "print --json few.tel",
        "print --follow few.tel",
        "csv few.tel",
        "csv -d tables few.tel",
        "txt few.tel",
        "stats few.tel",
        "spans few.tel",
        "print many.tel",
    ];
    for args in commands {
        let peak = peak(&folder, args);
        assert!(peak < STREAM_KIB / 2, "{args}: {peak} KiB");
    }
}

/// The option `--threads` changes the time only, also where streams are cut or damaged.
#[test]
fn any_number_of_threads_has_the_same_output() {
    let whole = big(8);
    let cut = whole[..whole.len() * 5 / 6].to_vec();
    let mut damaged = whole.clone();
    for part in 1..9 {
        damaged[whole.len() * part / 9] ^= 1;
    }
    let folder = Folder::new().with("whole.tel", whole).with("cut.tel", cut).with("damaged.tel", damaged);
    for file in ["whole", "cut", "damaged"] {
        let outputs = [1, 2, 3, 7].map(|threads| {
            let args = format!("stats --json --threads {threads} {file}.tel");
            let Run { stdout, stderr, code } = folder.run(&args);
            assert!(stdout.len() > 1000, "{args}: {stderr}");
            (stdout, stderr, code)
        });
        assert!(outputs.iter().all(|output| *output == outputs[0]), "{file}: {}", outputs[0].1);
    }
}

/// The tables of a report have a maximum, which these streams reach.
#[test]
fn memory_of_a_report_stays_the_same() {
    let folder = Folder::new()
        .with("one.tel", events(8, STREAM_KIB as u64, 100))
        .with("four.tel", events(8, 4 * STREAM_KIB as u64, 100));
    let [one, four] = ["one", "four"].map(|name| peak(&folder, &format!("report {name}.tel -o -")));
    assert!(four < one + one / 8 && four < STREAM_KIB, "{one} KiB, {four} KiB");
}

/// Runs a command, and returns the most memory that it takes, in KiB.
pub(crate) fn peak(folder: &Folder, args: &str) -> usize {
    // The peak that the system reports, read until the command ends.
    let telemetry = env!("CARGO_BIN_EXE_telemetry");
    let script = format!(
        "{telemetry} {args} > /dev/null & \
         while grep -s VmHWM /proc/$!/status; do sleep 0.01; done; wait $!"
    );
    let Run { stdout, stderr, code } =
        run(Command::new("sh").args(["-c", &script]).current_dir(folder.path("")), &[]);
    assert_eq!(code, Some(0), "{stderr}");
    let peaks = String::from_utf8(stdout).unwrap();
    let peaks = peaks.lines().filter_map(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok());
    peaks.max().unwrap()
}

/// Makes a stream of threads that emit much, in turn.
pub(crate) fn big(threads: u64) -> Vec<u8> {
    events(threads, STREAM_KIB as u64, 1000)
}

/// Makes events with a text of `bytes` bytes, on threads that take turns.
pub(crate) fn events(threads: u64, count: u64, bytes: usize) -> Vec<u8> {
    let (mut writer, lane) = begun(1, 1, "", &gc_registry());
    let text = "x".repeat(bytes);
    for number in 0..count {
        let lane = Lane { thread: 1 + (number % threads) as u32, ..lane };
        writer.event(lane, 0xffff, number, &[Value::String(RawStr(text.as_bytes()))]).unwrap();
    }
    writer.end(1, count).unwrap();
    writer.finish().unwrap()
}
