//! The command with S3, as moto's server has it.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use telemetry_lake::lake::Format;
use telemetry_testing::made::{Plan, blocks, edit};

use crate::chosen::{read, telemetry};
use crate::commit::{FORMS, all_events, streams};
use crate::lakes::{Form, Said, TestLake, said};

/// A server with the bucket `fleet`. `put NAME LENGTH` and the bytes store an object; `list` gives
/// the name and length of each object, and its bytes. `asked` gives the paths of the requests that
/// were not writes, since the last time.
const SERVER: &str = r#"
import sys, boto3
from moto.server import DomainDispatcherApplication, ThreadedMotoServer
asked, dispatch = [], DomainDispatcherApplication.__call__
def count(self, environ, start_response):
    if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
        asked.append(environ["PATH_INFO"])
    return dispatch(self, environ, start_response)
DomainDispatcherApplication.__call__ = count
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
url = f"http://{host}:{port}"
s3 = boto3.client("s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="key", aws_secret_access_key="secret")
s3.create_bucket(Bucket="fleet")
print(url, flush=True)
for line in sys.stdin.buffer:
    words = line.decode().split()
    if words[0] == "put":
        s3.put_object(Bucket="fleet", Key=words[1], Body=sys.stdin.buffer.read(int(words[2])))
    elif words[0] == "asked":
        sys.stdout.buffer.write("".join(f"{path} 0\n" for path in asked).encode())
        asked.clear()
    else:
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket="fleet"):
            for key in [o["Key"] for o in page.get("Contents", [])]:
                body = s3.get_object(Bucket="fleet", Key=key)["Body"].read()
                sys.stdout.buffer.write(f"{key} {len(body)}\n".encode() + body)
    sys.stdout.buffer.write(b"end 0\n")
    sys.stdout.buffer.flush()
"#;

/// The server, killed when dropped.
struct Moto {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    endpoint: String,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Moto {
    /// Starts the server with the Python that `TELEMETRY_MOTO` names.
    fn start() -> Option<Moto> {
        let Some(python) = std::env::var_os("TELEMETRY_MOTO") else {
            eprintln!("SKIPPED: TELEMETRY_MOTO names no Python with `moto[server]` and `boto3`");
            return None;
        };
        let mut command = Command::new(python);
        command.args(["-c", SERVER]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("Python");
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut endpoint = String::new();
        output.read_line(&mut endpoint).unwrap();
        assert!(endpoint.starts_with("http://"), "the server has not started: {endpoint}");
        Some(Moto { child, output, endpoint: endpoint.trim().to_owned() })
    }

    /// Sends a line and bytes. Returns the objects of the answer.
    fn ask(&mut self, line: &str, bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
        let mut objects = Vec::new();
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            let (key, len) = line.trim().rsplit_once(' ').unwrap();
            if key == "end" {
                return objects;
            }
            let mut bytes = vec![0; len.parse().unwrap()];
            self.output.read_exact(&mut bytes).unwrap();
            objects.push((key.to_owned(), bytes));
        }
    }

    fn put(&mut self, name: &str, bytes: &[u8]) {
        self.ask(&format!("put prod/{name} {}", bytes.len()), bytes);
    }

    fn command(&self, args: &[impl AsRef<str>]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-lake"));
        let args: Vec<_> = args.iter().map(AsRef::as_ref).collect();
        command.arg(args[0]).arg("s3://fleet/prod").args(&args[1..]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        self.settings(&mut command);
        command
    }

    /// Tells a command where the server is.
    fn settings<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("AWS_ENDPOINT_URL", &self.endpoint).env("AWS_ALLOW_HTTP", "true");
        command.env("AWS_REGION", "us-east-1");
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret")
    }

    fn run(&self, args: &[impl AsRef<str>]) -> Said {
        said(&self.command(args).output().unwrap())
    }

    /// The objects below `prod/` that were read since the last call. An empty name is a list of
    /// objects.
    fn asked(&mut self) -> Vec<String> {
        let asked = self.ask("asked", &[]).into_iter();
        asked.map(|(path, _)| path.strip_prefix("/fleet/prod/").unwrap_or_default().to_owned()).collect()
    }

    /// Copies the bucket to a directory.
    fn fetch(&mut self, form: Form) -> TestLake {
        let lake = TestLake::new(form);
        for (key, bytes) in self.ask("list", &[]) {
            let place = lake.path().join(key.strip_prefix("prod/").unwrap());
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, bytes).unwrap();
        }
        lake
    }
}

#[test]
fn a_bucket_has_each_event_once() {
    for form in FORMS {
        let Some(mut moto) = Moto::start() else { return };
        let source = TestLake::new(form);
        let streams = streams(&Plan { events: 300, block_size: 1024, ..Plan::default() });
        assert_eq!(moto.run(&form.init()).code, Some(0));
        for (host, stream) in &streams {
            for segment in source.ship(host, stream) {
                let name = segment.strip_prefix(source.path()).unwrap().to_str().unwrap().to_owned();
                moto.put(&name, &std::fs::read(segment).unwrap());
            }
            // Two at once: one of them may end because of the other.
            let children: Vec<_> = (0..2).map(|_| moto.command(&["commit"]).spawn().unwrap()).collect();
            for child in children {
                let said = said(&child.wait_with_output().unwrap());
                let is_refused = said.stderr.starts_with("error: another process ");
                assert!(said.code == Some(0) || (said.code == Some(2) && is_refused), "{said:?}");
            }
        }
        let said = moto.run(&["commit"]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        moto.fetch(form).check(&all_events(&streams));

        // A lease that has not ended keeps others away; one that has ended does not.
        moto.put("lease.json", br#"{"owner": "other", "until": 99999999999}"#);
        let said = moto.run(&["commit"]);
        assert!(said.stderr.starts_with("error: another process commits to this lake; its lease ends in "));
        moto.put("lease.json", br#"{"owner": "other", "until": 1}"#);
        assert_eq!(moto.run(&["commit"]).stdout, "no new segments\n");
        assert_eq!(moto.run(&["delete", "--host", "h3"]).code, Some(0));
        let wanted = all_events(&streams).into_iter().filter(|key| key.0 != "h3").collect();
        moto.fetch(form).check(&wanted);
    }
}

/// Moves a stream of two sessions to other sessions and a later time.
fn later(stream: &[u8], hours: u64) -> Vec<u8> {
    let mut stream = stream.to_vec();
    for block in blocks(&stream) {
        edit(&mut stream[block], |header| {
            header.session += 2 * hours;
            header.base_wall += hours * 3_600_000_000_000;
        });
    }
    stream
}

/// A report of a host and a time fetches the segments of these, and no table.
#[test]
fn a_report_fetches_what_it_needs() {
    let Some(telemetry) = telemetry() else { return };
    let Some(mut moto) = Moto::start() else { return };
    let source = TestLake::new(Format::Delta);
    let streams = streams(&Plan { events: 3000, block_size: 512, ..Plan::default() });
    assert_eq!(moto.run(&["init", "--buckets=2"]).code, Some(0));
    let (mut wanted, mut times) = (Vec::new(), Vec::new());
    for hours in 0..3 {
        for (host, stream) in &streams {
            let stream = later(stream, hours);
            for segment in source.ship(host, &stream) {
                let name = segment.strip_prefix(source.path()).unwrap().to_str().unwrap().to_owned();
                moto.put(&name, &std::fs::read(segment).unwrap());
                if (hours, *host) == (1, "h2") {
                    wanted.push(name);
                }
            }
            if (hours, *host) == (1, "h2") {
                times = read(&stream, &(i64::MIN..i64::MAX)).0;
            }
        }
        assert_eq!(moto.run(&["commit"]).code, Some(0));
    }
    moto.asked();
    let programs = Path::new(env!("CARGO_BIN_EXE_telemetry-lake")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(telemetry);
    command.env("PATH", path).args(["report", "s3://fleet/prod", "--host", "h2", "-o"]);
    command.arg(source.path().join("report.html"));
    command.arg(format!("--from={}", times[0])).arg(format!("--until={}", times[times.len() - 1] + 1));
    let said = said(&moto.settings(&mut command).output().unwrap());
    let events = said.stderr.split_once("complete: ").and_then(|(_, rest)| rest.split_once(" events"));
    let events = events.map(|(digits, _)| digits.replace(',', ""));
    assert_eq!((said.code, events), (Some(0), Some(times.len().to_string())), "{said:?}");

    let (mut fetched, others): (Vec<_>, Vec<_>) =
        moto.asked().into_iter().partition(|name| name.starts_with("segments/"));
    fetched.sort();
    wanted.sort();
    assert_eq!(fetched, wanted);
    // What the lake is, the plan and the note of each batch, and which batch is the last.
    let is_note = |name: &&String| ["batches/", "done/"].iter().any(|folder| name.starts_with(folder));
    assert_eq!(others.iter().filter(is_note).count(), 6, "{others:?}");
    assert!(others.len() <= 8, "{others:?}");
}
