//! `replay` on recordings made for the tests, most of them faulty. `tests/alloc_trace.rs` replays
//! what a real program's allocator recorded.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use telemetry_decode::Value;
use telemetry_decode::writer::Lane;
use telemetry_format::Loss;

use crate::run::{Folder, Run, run};
use crate::streams::{begun, gc};

const HEAP: &str = include_str!("../../../examples/alloc_trace/events.toml");

/// The content of an event: address, size.
#[derive(Clone, Copy)]
enum Told {
    Alloc(u64, u64),
    Aligned(u64, u64, u64),
    Free(u64, u64),
    Resize(u64, u64, u64),
    /// A number of events were lost.
    Lost(u64),
    /// Nanoseconds until the next event.
    Pause(u64),
}

use Told::{Aligned, Alloc, Free, Lost, Pause, Resize};

/// Makes a recording of events of threads, a microsecond apart.
fn recording(told: &[(u32, Told)]) -> Vec<u8> {
    marked(HEAP, told)
}

/// Makes such a recording with another registry.
fn marked(registry: &str, told: &[(u32, Told)]) -> Vec<u8> {
    let registry = telemetry_schema::parse(registry).unwrap();
    let (mut writer, lane) = begun(7, 1_795_240_051_000_000_000, "heap", &registry);
    let mut now = 0;
    for (thread, told) in told {
        now += 1000;
        let lane = Lane { thread: *thread, ..lane };
        let (code, values) = match *told {
            Alloc(block, size) => (1, vec![Value::Addr(block), Value::Word(size), Value::Unsigned(8)]),
            Aligned(block, size, align) => {
                (1, vec![Value::Addr(block), Value::Word(size), Value::Unsigned(align)])
            }
            Free(block, size) => (2, vec![Value::Addr(block), Value::Word(size)]),
            Resize(old, block, size) => {
                (3, vec![Value::Addr(old), Value::Addr(block), Value::Word(size), Value::Unsigned(8)])
            }
            Pause(ns) => {
                now += ns;
                continue;
            }
            Lost(events) => {
                writer.lose(lane, 0, Loss { pool: events, ..Loss::default() }).unwrap();
                continue;
            }
        };
        writer.event(lane, code, now, &values).unwrap();
    }
    writer.end(7, now + 1000).unwrap();
    writer.finish().unwrap()
}

/// Makes a recording of blocks that are allocated, and freed later.
pub(crate) fn long(blocks: u64) -> Vec<u8> {
    let told = |i: u64| [(1, Alloc(0x1000 + i * 16, 16)), (1, Free(0x1000 + i * 16, 16))];
    recording(&(0..blocks).flat_map(told).collect::<Vec<_>>())
}

/// Makes a recording of blocks that are never freed.
pub(crate) fn growing(blocks: u64) -> Vec<u8> {
    recording(&(0..blocks).map(|i| (1, Alloc(0x1000 + i * 64, i % 64 + 1))).collect::<Vec<_>>())
}

/// Makes a recording without faults, with every type of event.
pub(crate) fn sound() -> Vec<u8> {
    recording(&[
        (1, Alloc(0x1000, 100)),
        (1, Alloc(0x2000, 5000)),
        (1, Aligned(0x3000, 64, 4096)),
        (2, Resize(0x2000, 0x5000, 9000)),
        (2, Free(0x1000, 100)),
        // The same address again, for another block.
        (1, Alloc(0x1000, 1)),
        (1, Resize(0x1000, 0x1000, 17)),
        // A refused allocation, and no memory.
        (1, Alloc(0, 1 << 60)),
        (1, Resize(0x1000, 0, 1 << 60)),
        (1, Free(0, 0)),
        (1, Resize(0, 0x6000, 30)),
        (2, Free(0x5000, 9000)),
        (2, Free(0x3000, 64)),
        (1, Free(0x1000, 17)),
    ])
}

/// Makes a recording with a loss, a free of what was not allocated, and an address that is taken
/// twice.
pub(crate) fn doubtful() -> Vec<u8> {
    recording(&[
        (1, Alloc(0x1000, 100)),
        (1, Lost(3)),
        (1, Free(0x2000, 10)),
        (1, Alloc(0x1000, 50)),
        (1, Alloc(0x3000, 7)),
    ])
}

fn json(folder: &Folder, args: &str) -> (Json, Run) {
    let run = folder.run(args);
    let json = serde_json::from_slice(&run.stdout);
    (json.unwrap_or_else(|error| panic!("{error}: {}", run.stderr)), run)
}

#[test]
fn recordings_are_checked() {
    let folder = Folder::new()
        .with("sound.tel", sound())
        .with("empty.tel", recording(&[]))
        .with("gc.tel", gc())
        .with("nothing", "")
        .with("no.tel", "no stream");
    folder.check(
        "replay_sound",
        &[
            "replay --dry-run sound.tel",
            "replay --dry-run --json sound.tel",
            "replay --dry-run sound.tel sound.tel",
            "replay --dry-run --thread 1 sound.tel",
            "replay empty.tel",
            "replay gc.tel",
            "replay nothing",
            "replay no.tel",
            "replay missing.tel",
            "replay --allocator jemalloc sound.tel",
            "replay --speed 0 sound.tel",
            "replay --repeat 0 sound.tel",
        ],
    );
}

/// Each fault that no real program can have.
#[test]
fn faults_are_told() {
    let double = [(1, Alloc(0x1000, 10)), (1, Alloc(0x1000, 20)), (1, Free(0x1000, 20))];
    let many: Vec<_> = (1..=25).map(|n| (1, Free(0x1000 * n, 1))).collect();
    let folder = Folder::new()
        .with("unknown.tel", recording(&[(1, Free(0x1000, 10)), (1, Resize(0x2000, 0x3000, 10))]))
        .with("twice.tel", recording(&[(1, Alloc(0x1000, 10)), (2, Free(0x1000, 10)), (1, Free(0x1000, 10))]))
        .with("double.tel", recording(&double))
        .with("kept.tel", recording(&[&double[..], &[(1, Free(0x1000, 10))]].concat()))
        .with("size.tel", recording(&[(1, Alloc(0x1000, 10)), (1, Free(0x1000, 11))]))
        .with("align.tel", recording(&[(1, Aligned(0x1000, 10, 3)), (1, Free(0x1000, 10))]))
        .with("many.tel", recording(&many));
    folder.check(
        "replay_faults",
        &[
            "replay --dry-run unknown.tel",
            "replay --dry-run --partial unknown.tel",
            "replay --dry-run twice.tel",
            "replay --dry-run double.tel",
            "replay --dry-run kept.tel",
            "replay --dry-run size.tel",
            "replay --dry-run align.tel",
            "replay --dry-run many.tel",
        ],
    );
    // A run reports the same.
    let (dry, wet) = (folder.run("replay --dry-run twice.tel"), folder.run("replay twice.tel"));
    assert_eq!((dry.stderr, dry.code), (wet.stderr, wet.code));
}

/// An address may be allocated on another thread before the event of its free.
#[test]
fn what_is_told_late_is_no_fault() {
    let late = recording(&[
        (1, Alloc(0x1000, 10)),
        (2, Alloc(0x1000, 20)),
        (2, Free(0x1000, 20)),
        (1, Resize(0x1000, 0x2000, 30)),
        (1, Free(0x2000, 30)),
        // Two events whose clocks were read in the wrong order, of blocks of one size.
        (1, Alloc(0x4000, 8)),
        (2, Alloc(0x4000, 8)),
        (1, Free(0x4000, 8)),
        (2, Free(0x4000, 8)),
    ]);
    let folder = Folder::new().with("late.tel", late);
    folder.check("replay_late", &["replay --dry-run --strict late.tel"]);
}

/// A lost event may have been the allocation.
#[test]
fn losses_excuse_what_they_may_have_brought_about() {
    let lossy = [
        (1, Alloc(0x1000, 10)),
        (1, Lost(3)),
        (1, Free(0x2000, 10)),
        (1, Aligned(0x3000, 10, 3)),
        (1, Alloc(0x1000, 9)),
    ];
    let whole = recording(&[(1, Alloc(0x1000, 10)), (1, Free(0x1000, 10)), (2, Alloc(0x1000, 5))]);
    let mut damaged = whole.clone();
    let middle = whole.windows(4).position(|bytes| bytes == b"heap").unwrap();
    damaged[middle] ^= 1;
    let folder = Folder::new()
        .with("lossy.tel", recording(&lossy[..3]))
        .with("worse.tel", recording(&lossy))
        .with("damaged.tel", damaged)
        .with("cut.tel", &whole[..whole.len() - 200]);
    folder.check(
        "replay_losses",
        &[
            "replay --dry-run lossy.tel",
            "replay --dry-run --strict lossy.tel",
            "replay --dry-run worse.tel",
            "replay --dry-run damaged.tel",
            "replay --dry-run cut.tel",
        ],
    );
}

/// An allocator that refuses a size, as every allocator refuses an impossible one.
#[test]
fn refusals_are_told() {
    let vast = recording(&[
        (1, Alloc(0x1000, u64::MAX)),
        (1, Alloc(0x2000, 1 << 62)),
        (1, Alloc(0x3000, 10)),
        (1, Resize(0x3000, 0x4000, u64::MAX)),
        (1, Free(0x1000, u64::MAX)),
        (1, Free(0x4000, u64::MAX)),
    ]);
    let folder = Folder::new().with("vast.tel", vast);
    let refused = folder.run("replay vast.tel");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("bytes live at once, and "), "{}", refused.stderr);
    let (json, run) = json(&folder, "replay --force --json --compare vast.tel");
    assert_eq!(run.code, Some(1));
    for allocator in json["allocators"].as_array().unwrap() {
        assert_eq!(allocator["refused"], 3, "{json:#}");
        let refusals = allocator["refusals"].as_array().unwrap();
        let told =
            refusals.iter().map(|refusal| (refusal["number"].as_u64().unwrap(), refusal["event"].as_str()));
        let (allocated, resized) = (Some("Allocated"), Some("Resized"));
        assert_eq!(told.collect::<Vec<_>>(), [(1, allocated), (2, allocated), (4, resized)]);
    }
    let why = "event 2, `Allocated` of thread #1 at 2,000 ns, the allocator has no 4611686018427387904 bytes";
    assert!(run.stderr.contains(why), "{}", run.stderr);
}

#[test]
fn runs_are_measured() {
    let folder = Folder::new().with("sound.tel", sound());
    for touch in ["none", "pages", "all"] {
        let (json, run) =
            json(&folder, &format!("replay --json --compare --repeat 1 --touch {touch} sound.tel"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        for allocator in json["allocators"].as_array().unwrap() {
            assert_eq!(allocator["operations"], 11);
            assert_eq!(allocator["refused"], 0);
        }
    }
    let run = folder.run("replay --repeat 1 sound.tel");
    let printed = String::from_utf8(run.stdout).unwrap();
    assert!(printed.contains("\nallocator  runs ") && printed.contains("\nsystem        1  "), "{printed}");
}

/// Memory that is written to is resident, and other allocated memory is not.
#[test]
#[cfg(target_os = "linux")]
fn memory_is_that_of_the_allocator() {
    const BLOCK: u64 = 1 << 20;
    let told: Vec<_> = (1..=64).map(|n| (1, Alloc(n * BLOCK * 2, BLOCK))).collect();
    let folder = Folder::new().with("large.tel", recording(&told));
    let resident = |args: &str| {
        let (json, run) = json(&folder, &format!("replay --json --repeat 1 {args} large.tel"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let allocators = json["allocators"].as_array().unwrap();
        allocators.iter().map(|each| each["peak_resident_bytes"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let touched = resident("--compare");
    assert!(touched.iter().all(|bytes| (64 * BLOCK..96 * BLOCK).contains(bytes)), "{touched:?}");
    // Others may have huge pages, which one byte makes resident as a whole.
    let untouched = resident("--touch none");
    assert!(untouched.iter().all(|bytes| *bytes < 16 * BLOCK), "{untouched:?}");
}

/// The system's refusal, since the process reached its limit.
#[test]
#[cfg(target_os = "linux")]
fn an_allocator_that_has_no_more_is_told_of() {
    let told: Vec<_> = (1..=64).map(|n| (1, Alloc(n << 24, 8 << 20))).collect();
    let folder = Folder::new().with("large.tel", recording(&told));
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 262144 && exec \"$0\" replay --json --repeat 1 large.tel"]);
    let run = run(command.arg(env!("CARGO_BIN_EXE_telemetry")).current_dir(folder.path("")), &[]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let json: Json = serde_json::from_slice(&run.stdout).unwrap();
    let refused = json["allocators"][0]["refused"].as_u64().unwrap();
    assert!((32..64).contains(&refused), "{json:#}");
    assert!(run.stderr.contains("`system` refused") || refused <= 10, "{}", run.stderr);
}

/// Starts a replay that would take days.
#[cfg(target_os = "linux")]
fn slow(folder: &Folder) -> Child {
    let told = [(1, Alloc(0x1000, 10)), (1, Free(0x1000, 10))];
    std::fs::write(folder.path("slow.tel"), recording(&told)).unwrap();
    let mut command = folder.command("replay --speed 0.0000001 slow.tel");
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns the process of its run.
#[cfg(target_os = "linux")]
fn worker(replay: &Child) -> String {
    let children = format!("/proc/{0}/task/{0}/children", replay.id());
    let since = Instant::now();
    loop {
        let child = std::fs::read_to_string(&children).unwrap();
        if let Some(child) = child.split_whitespace().next() {
            break child.to_string();
        }
        assert!(since.elapsed() < Duration::from_secs(60), "no run begins");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
fn kill(signal: &str, process: &str) {
    assert!(Command::new("kill").args([signal, process]).status().unwrap().success());
}

/// A run that dies is not a measurement.
#[test]
#[cfg(target_os = "linux")]
fn a_run_that_is_killed_is_told_of() {
    let folder = Folder::new();
    let replay = slow(&folder);
    let worker = worker(&replay);
    kill("-KILL", &worker);
    let output = replay.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "error: the run with `system` has failed: signal: 9 (SIGKILL)\n");
}

/// A run does not outlive the command.
#[test]
#[cfg(target_os = "linux")]
fn a_run_ends_with_its_command() {
    use std::os::unix::process::ExitStatusExt;

    let folder = Folder::new();
    let mut replay = slow(&folder);
    let worker = worker(&replay);
    // By now it has its own image, and is not a copy of the command before its start.
    let since = Instant::now();
    while !std::fs::read_to_string(format!("/proc/{worker}/cmdline")).unwrap().contains("--worker") {
        assert!(since.elapsed() < Duration::from_secs(60), "the run does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill("-TERM", &replay.id().to_string());
    assert_eq!(replay.wait().unwrap().signal(), Some(libc::SIGTERM));
    assert!(!std::path::Path::new(&format!("/proc/{worker}")).exists(), "the run goes on");
}

/// From a pipe, which can be read only once; and with marks that the stream's own registry does not
/// have.
#[test]
fn any_input_will_do() {
    let bare: String =
        HEAP.lines().filter(|line| !line.starts_with("replay")).map(|line| format!("{line}\n")).collect();
    let told = [(1, Alloc(0x1000, 10)), (1, Free(0x1000, 10))];
    let folder = Folder::new().with("bare.tel", marked(&bare, &told)).with("heap.toml", HEAP);
    let expected = folder.run("replay --dry-run --registry heap.toml bare.tel");
    assert_eq!(expected.code, Some(0), "{}", expected.stderr);
    let piped = folder.run_on("replay --dry-run --registry heap.toml -", &marked(&bare, &told));
    assert_eq!((piped.code, piped.stdout), (Some(0), expected.stdout));
    assert_eq!(folder.run("replay bare.tel").code, Some(1), "no event is marked");

    let run = run(&mut folder.command("replay --json --compare --repeat 2 -"), &sound());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let json: Json = serde_json::from_slice(&run.stdout).unwrap();
    assert!(json["allocators"].as_array().unwrap().iter().all(|each| each["operations"] == 11), "{json:#}");
}

/// As fast as recorded, or faster by a factor.
#[test]
fn intervals_are_kept_on_request() {
    let lasting = |ns| recording(&[(1, Alloc(0x1000, 10)), (1, Pause(ns)), (1, Free(0x1000, 10))]);
    let folder =
        Folder::new().with("slow.tel", lasting(200_000_000)).with("day.tel", lasting(86_400_000_000_000));
    let took = |arguments: &str| {
        let since = Instant::now();
        let run = folder.run(&format!("replay --repeat 1 {arguments}"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        since.elapsed()
    };
    assert!(took("--speed 0.5 slow.tel") >= Duration::from_millis(400));
    // A recording of a day ends at once.
    took("--speed 1000000000 day.tel");
    took("day.tel");
}

/// Events marked `custom` are for the program's own replayer.
#[test]
fn custom_events_are_counted() {
    let custom = HEAP
        .replace("{ action = \"free\", pointer = \"block\", size = \"size\" }", "{ action = \"custom\" }");
    let told = [(1, Alloc(0x1000, 10)), (1, Free(0x1000, 10))];
    let all = ["alloc", "realloc"].iter().fold(custom.clone(), |text, action| {
        let start = text.find(&format!("{{ action = \"{action}\"")).unwrap();
        let end = start + text[start..].find('}').unwrap();
        text[..start].to_string() + "{ action = \"custom\" " + &text[end..]
    });
    let folder = Folder::new().with("some.tel", marked(&custom, &told)).with("all.tel", marked(&all, &told));
    folder.check("replay_custom", &["replay --dry-run some.tel", "replay all.tel"]);
}
