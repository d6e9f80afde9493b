//! Requests and output of the command, with a server that has scripted answers.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::Sockets;
use crate::run::Run;
use crate::streams::gc;

const INFO: &str = "ok\n\
program = \"gc\\u001bbench\"\n\
pid = 1\n\
session = \"000000000000002a\"\n\
started_ns = 1795240051123456789\n\
now_ns = 1795240061123456789\n\
filename = \"telemetry.tel\"\n\
output = \"gc:Pool gc:TraceStart\"\n\
record = \"gc:Pool gc:Trace\"\n\
something_new = [1, 2]\n\
\n\
[counters]\n\
emitted = 20000000\n\
lost_pool = 3000\n\
\n\
[[registry]]\n\
name = \"gc\"\n\
version = \"1.2.3\"\n\
fingerprint = \"0111eab510ce58c2\"\n\
kinds = [\"Pool\", \"Trace\"]\n";

const COUNTERS: &str = "ok\n\
emitted = 20000000\n\
written = 19000000\n\
retained = 6000\n\
evicted = 990000\n\
lost_pool = 3000\n\
lost_sink = 1000\n\
truncated = 7000\n\
\n\
[pool]\n\
size = 16777216\n\
free = 8388608\n\
open = 4194304\n\
waiting = 1048576\n\
retained = 3145728\n\
lanes = 64\n\
labels = 1024\n\
\n\
[[kind]]\n\
registry = \"gc\"\n\
name = \"Pool\"\n\
emitted = 20000000\n\
written = 19000000\n\
retained_bytes = 3145728\n\
\n\
[[sink]]\n\
name = \"`telemetry.tel`\"\n\
written = 19000000\n\
lost = 1000\n";

/// Starts a server that answers like a process, and records the requests.
fn process(sockets: &Sockets) -> (u32, Arc<Mutex<Vec<String>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let asked = requests.clone();
    let pid = sockets.serve(move |request, stream| {
        asked.lock().unwrap().push(request.trim_end().to_owned());
        let answer = match request.split_whitespace().next().unwrap_or_default() {
            "info" => INFO.into(),
            "counters" => COUNTERS.into(),
            "set" => "ok\noutput = \"gc:Pool\"\nrecord = \"gc:Pool\"\nunknown = [\"Pol\"]\nnames = [\"Pool\", \"Ref\"]\n".into(),
            "unknown" => "ok\nunknown = [\"Rex\"]\nnames = [\"Pool\", \"Ref\"]\n".into(),
            "reset" | "record" => "ok\noutput = \"\"\nrecord = \"gc:Pool\"\n".into(),
            "flush" | "mark" => "ok\n".into(),
            "ask" => "ok\nanswer = \"12 pages\\u000a\\u001b[1m\"\n".into(),
            "snapshot" => [format!("ok {}\n", gc().len()).into_bytes(), gc()].concat(),
            "tail" => [b"ok\n".to_vec(), gc()].concat(),
            other => panic!("{other}"),
        };
        let answer: Vec<u8> = answer;
        stream.write_all(&answer).unwrap();
    });
    (pid, requests)
}

/// Runs command lines with `PID` for the process, and compares the transcript.
#[test]
fn what_people_see() {
    let sockets = Sockets::new();
    let (pid, requests) = process(&sockets);
    let lines = [
        "control PID",
        "control PID --counters",
        "control PID Pol gc:Pool -TraceStart",
        "control PID --reset -- -Pool",
        "control PID --record --reset all",
        "control --record PID -1",
        "control PID --flush",
        "control PID --snapshot out.tel",
        "control PID --mark deploy-17",
        "control PID --ask cache.size",
        "tail PID Pool Rex",
        "tail PID Pool Ref",
        "tail --strict PID",
        "tail PID --json --event RefFix --thread 2",
        "tail --limit 1 --from 2us PID Pool",
        "tail -q -o tail.txt PID Pool",
        "tail PID --from 2 --until 1",
        // Errors.
        "control",
        "control PID --reset",
        "control PID Pool --flush",
        "control PID Pool --mark x",
        "control PID --mark=",
        "control PID Pool --ask x",
        "control me",
    ];
    let mut transcript = String::new();
    let hide = |text: &str| text.replace(&format!("process     {pid}"), "process     PID");
    for line in lines {
        let Run { stdout, stderr, code } = sockets.run(&line.replace("PID", &pid.to_string()));
        let stdout = hide(&String::from_utf8(stdout).unwrap());
        let stderr: String = stderr.lines().map(|line| format!("! {line}\n")).collect();
        let asked: String =
            requests.lock().unwrap().drain(..).map(|request| format!("> {request}\n")).collect();
        transcript += &format!("$ telemetry {line}\n{asked}{stdout}{stderr}= {}\n\n", code.unwrap());
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("processes", transcript.trim_end());
    });
    assert_eq!(std::fs::read(sockets.path("out.tel")).unwrap(), gc());
}

#[test]
fn what_programs_read() {
    let sockets = Sockets::new();
    let (pid, _) = process(&sockets);
    let json = |args: &str| serde_json::from_str::<Value>(&sockets.prints(args)).unwrap();
    let shown = json(&format!("control {pid} --json"));
    assert_eq!(shown["version"], 1);
    assert_eq!(shown["session"], "000000000000002a");
    assert_eq!(shown["output"], "gc:Pool gc:TraceStart");
    assert_eq!(shown["counters"]["emitted"], 20_000_000);
    assert_eq!(shown["counters"]["lost_reentrant"], 0);
    assert_eq!(shown["kinds"][0]["name"], "Pool");
    assert_eq!(shown["kinds"][0]["written"], 19_000_000);
    assert_eq!(shown["kinds"][0]["retained_bytes"], 3_145_728);
    assert_eq!(shown["sinks"][0]["lost"], 1000);
    assert_eq!(shown["pool"]["open"], 4_194_304);
    assert_eq!(shown["registries"][0]["version"], "1.2.3");
    let counters = json(&format!("control {pid} --counters --json"));
    assert_eq!(counters["counters"], shown["counters"]);
    assert_eq!(counters["output"], Value::Null);
    let list = json("list --json");
    assert_eq!(list["version"], 1);
    assert_eq!(list["processes"][0]["pid"], pid);
    assert_eq!(list["processes"][0]["program"], "gc\u{1b}bench");
    assert_eq!(list["processes"][0]["per_second"], 2_000_000.0);
    assert_eq!(list["processes"][0]["uptime"], 10);
    let command: Vec<_> = std::env::args().map(Value::from).collect();
    assert_eq!(list["processes"][0]["command"], Value::Array(command));
    let directory = std::env::current_dir().unwrap();
    assert_eq!(list["processes"][0]["directory"], directory.to_str().unwrap());
    assert_eq!(list["processes"][0]["counters"]["lost_pool"], 3000);
    assert_eq!(list["dead"], Value::Array(vec![]));
}

#[test]
fn list_is_a_table() {
    let sockets = Sockets::new();
    let (pid, _) = process(&sockets);
    let printed = sockets.prints("list");
    let lines: Vec<Vec<&str>> = printed.lines().map(|line| line.split_whitespace().collect()).collect();
    let head =
        ["pid", "program", "uptime", "output", "directory", "emitted", "per", "second", "lost", "command"];
    let directory = std::env::current_dir().unwrap().display().to_string();
    let row = [
        &pid.to_string(),
        "gc\\u{1b}bench",
        "10s",
        "gc:Pool",
        "gc:TraceStart",
        &directory,
        "20,000,000",
        "2,000,000",
        "3,000",
    ];
    assert_eq!(lines[0], head);
    // The command is that of the test.
    assert_eq!(lines[1][..row.len()], row);
    assert!(lines[1].len() > row.len(), "{printed}");
}

/// The answers of a shared library's runtime, which is another copy in the process.
#[test]
fn copies_have_numbers_of_their_own() {
    let sockets = Sockets::new();
    let (pid, requests) = process(&sockets);
    std::fs::rename(sockets.socket(pid), sockets.dir().join(format!("{pid}-2"))).unwrap();
    assert!(sockets.prints("list").lines().nth(1).unwrap().starts_with(&format!("{pid}-2 ")));
    let list: Value = serde_json::from_str(&sockets.prints("list --json")).unwrap();
    assert_eq!(list["processes"][0]["pid"], pid);
    assert_eq!(list["processes"][0]["copy"], 2);
    assert!(sockets.prints(&format!("control {pid}-2")).contains(&format!("process     {pid}-2\n")));
    requests.lock().unwrap().clear();
    sockets.prints(&format!("control {pid}-2 --flush"));
    assert_eq!(*requests.lock().unwrap(), ["flush"]);
    let absent = format!(
        "error: process {pid} has no copy 3 of the runtime; help: `telemetry list` shows those that it has"
    );
    sockets.check(&format!("control {pid}-3"), 2, &absent);
}

#[test]
fn one_lane_is_counted_as_one() {
    let sockets = Sockets::new();
    let pid = sockets.serve(move |request, stream| {
        let state = "ok\nwritten = 1\n[pool]\nsize = 65536\nfree = 61440\nopen = 4096\nlanes = 1\n";
        stream.write_all(if request.starts_with("info") { INFO } else { state }.as_bytes()).unwrap();
    });
    let shown = sockets.prints(&format!("control {pid}"));
    assert!(shown.contains(", 4,096 in open blocks of 1 lane, 0 waiting for sinks"), "{shown}");
}

/// A full pool, by what fills it; and an older runtime, which does not report it.
#[test]
fn a_pool_that_is_full() {
    let check = |pool: &'static str, expected: Option<(&str, &str)>| {
        let sockets = Sockets::new();
        let pid = sockets.serve(move |request, stream| {
            let answer =
                if request.starts_with("info") { INFO.into() } else { format!("ok\nwritten = 1\n{pool}") };
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let found = sockets.run(&format!("doctor --json {pid}"));
        let found: Value = serde_json::from_slice(&found.stdout).unwrap();
        let mut causes = found["findings"].as_array().unwrap().iter();
        let finding = causes.find(|finding| finding["cause"].as_str().unwrap().starts_with("pool"));
        let finding = finding.map(|finding| (&finding["cause"], &finding["found"]));
        let expected = expected.map(|(cause, found)| (Value::from(cause), Value::from(found)));
        assert_eq!(finding, expected.as_ref().map(|(cause, found)| (cause, found)));
    };
    let pool = "in open blocks of 16 lanes";
    let found = format!("62,000 of the 65,536 bytes of the pool are {pool}");
    check(
        "[pool]\nsize = 65536\nfree = 0\nopen = 62000\nwaiting = 3536\nlanes = 16\n",
        Some(("pool-open", &found)),
    );
    let found = "60,000 of the 65,536 bytes of the pool are waiting for sinks";
    check("[pool]\nsize = 65536\nfree = 100\nopen = 5000\nwaiting = 60000\n", Some(("pool-waiting", found)));
    // Retained blocks are as good as free.
    check("[pool]\nsize = 65536\nfree = 0\nopen = 4096\nretained = 61440\n", None);
    check("[pool]\nsize = 65536\nfree = 8192\nopen = 57344\n", None);
    check("", None);
}
