//! `telemetry-fleet ship` with S3: moto's server, and one that ignores conditions. `faults` has
//! wrong answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use telemetry_fleet::wire::{Bye, Message, Outcome, Segment};
use telemetry_testing::fake_s3::FakeS3;

use crate::collect::{Collector, Fleet};
use crate::hostile::{Peer, check_memory, segment_of};
use crate::ship::{Host, files_in, said};

/// The environment of a client of `endpoint`.
pub(crate) fn credentials(command: &mut Command, endpoint: &str) {
    command.env("AWS_ENDPOINT_URL", endpoint).env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
}

/// The server, killed when dropped.
struct Moto {
    child: Child,
    endpoint: String,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server with the bucket `fleet`, and what it takes from standard input:
///
/// - `list` gives the name and length of each object, and its bytes.
/// - `open NAME` begins an upload in parts, and does not end it.
/// - `uploads` gives the names of these.
const SERVER: &str = r#"
import sys, boto3
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
url = f"http://{host}:{port}"
s3 = boto3.client("s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="key", aws_secret_access_key="secret")
s3.create_bucket(Bucket="fleet")
print(url, flush=True)
for line in sys.stdin:
    words = line.split()
    if words[0] == "open":
        of = {"Bucket": "fleet", "Key": words[1]}
        upload = s3.create_multipart_upload(**of)["UploadId"]
        s3.upload_part(UploadId=upload, PartNumber=1, Body=b"half", **of)
    elif words[0] == "uploads":
        for upload in s3.list_multipart_uploads(Bucket="fleet").get("Uploads", []):
            sys.stdout.buffer.write(f"{upload['Key']} 0\n".encode())
    else:
        keys = [o["Key"] for o in s3.list_objects_v2(Bucket="fleet").get("Contents", [])]
        for key in keys:
            body = s3.get_object(Bucket="fleet", Key=key)["Body"].read()
            sys.stdout.buffer.write(f"{key} {len(body)}\n".encode() + body)
    sys.stdout.buffer.write(b"end 0\n")
    sys.stdout.buffer.flush()
"#;

/// Starts the server with the Python that `TELEMETRY_MOTO` names.
fn moto() -> Option<Moto> {
    let Some(python) = std::env::var_os("TELEMETRY_MOTO") else {
        eprintln!("SKIPPED: TELEMETRY_MOTO names no Python with `moto[server]` and `boto3`");
        return None;
    };
    let mut command = Command::new(python);
    command.args(["-c", SERVER]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("Python");
    let mut endpoint = String::new();
    BufReader::with_capacity(1, child.stdout.as_mut().unwrap()).read_line(&mut endpoint).unwrap();
    assert!(endpoint.starts_with("http://"), "the server has not started: {endpoint}");
    Some(Moto { child, endpoint: endpoint.trim().to_owned() })
}

impl Moto {
    /// The objects of the bucket.
    fn objects(&mut self) -> Vec<(String, Vec<u8>)> {
        self.ask("list")
    }

    /// Sends a line. Returns the objects of the answer.
    fn ask(&mut self, line: &str) -> Vec<(String, Vec<u8>)> {
        self.child.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut output = BufReader::new(self.child.stdout.as_mut().unwrap());
        let mut objects = Vec::new();
        loop {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            let (key, len) = line.trim().rsplit_once(' ').unwrap();
            if key == "end" {
                return objects;
            }
            let mut bytes = vec![0; len.parse().unwrap()];
            output.read_exact(&mut bytes).unwrap();
            objects.push((key.to_owned(), bytes));
        }
    }
}

#[test]
fn a_bucket_has_every_event_once() {
    let Some(mut moto) = moto() else { return };
    let host = Host::new();
    for round in 0..2 {
        // Two at once, and then again.
        let two = ["spool", "other"].map(|spool| {
            let mut command = host.command(spool, "s3://fleet/prod/x");
            credentials(&mut command, &moto.endpoint);
            command.spawn().unwrap()
        });
        for child in two {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{round}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let objects = moto.objects();
        for (key, _) in &objects {
            assert!(key.starts_with("prod/x/segments/day=2023-11-14/host=h7/"), "{key}");
        }
        host.check(&objects.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>());
    }
}

/// A collector that stores in the bucket.
fn collector(moto: &Moto, fleet: &Fleet) -> Collector {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
    credentials(command.arg("collect").args(fleet.arguments()), &moto.endpoint);
    command.arg("--store=s3://fleet/prod").arg("--spool").arg(fleet.host.path("collector"));
    Collector::of(&mut command)
}

#[test]
fn a_collector_stores_in_a_bucket() {
    let Some(mut moto) = moto() else { return };
    let fleet = Fleet::new();
    let collector = collector(&moto, &fleet);
    for _ in 0..2 {
        let run = fleet.ship(collector.port);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        let objects = moto.objects();
        fleet.host.check(&objects.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>());
    }
    assert_eq!(collector.log(), [] as [&str; 0]);
}

/// Segments are written to a bucket from memory, so it is bounded.
#[test]
fn long_segments_share_the_memory_of_a_collector() {
    let Some(moto) = moto() else { return };
    let fleet = Fleet::new();
    let collector = collector(&moto, &fleet);
    let most = 40 << 20;
    std::thread::scope(|scope| {
        for session in 1..=3 {
            let (fleet, port) = (&fleet, collector.port);
            scope.spawn(move || {
                let mut peer = Peer::greet(fleet, port);
                let (name, bytes) = segment_of(session, most);
                peer.segment(&name, &bytes);
                let answer = peer.answer();
                let is_stored =
                    matches!(&answer, Some(Message::Done(done)) if done.outcome == Outcome::Stored);
                assert!(is_stored, "{answer:?}");
            });
        }
    });
    check_memory(&collector, 3);
    let mut peer = Peer::greet(&fleet, collector.port);
    let (name, len) = (segment_of(4, 1024).0, most as u64 + 1);
    peer.send(&Message::Segment(Segment { number: 1, len, name }).frame());
    let Some(Message::Bye(Bye { text, .. })) = peer.answer() else { panic!("it is taken") };
    assert_eq!(text, "a segment of 41943041 bytes, expected at most 41943040");
}

#[test]
fn a_store_that_ignores_conditions_is_refused() {
    let (host, bucket) = (Host::new(), FakeS3::start(1, 0));
    bucket.ignore_conditions();
    let mut command = host.command("spool", "s3://fleet/prod");
    credentials(&mut command, &bucket.endpoint);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: s3://fleet/prod: the store overwrites objects although it is told not to, so segments could be \
         lost; expected a store with conditional writes (If-None-Match)\n"
    );
    assert!(bucket.objects().is_empty(), "{:?}", bucket.objects());
}

/// An upload in parts that has not ended is no object. One is open under each name.
#[test]
fn uploads_that_are_left_open_are_no_segments() {
    let Some(mut moto) = moto() else { return };
    let host = Host::new();
    assert_eq!(host.ship(&host.store()).code, Some(0));
    let store = host.path("store");
    let name = |path: PathBuf| format!("prod/{}", path.strip_prefix(&store).unwrap().display());
    let names: Vec<_> = files_in(&store).into_iter().map(name).collect();
    for name in &names {
        moto.ask(&format!("open {name}"));
    }
    assert!(moto.objects().is_empty(), "there is no object yet");
    let mut command = host.command("spool", "s3://fleet/prod");
    credentials(&mut command, &moto.endpoint);
    let run = said(&command.output().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(run.stdout.starts_with(&format!("shipped {} segments; ", names.len())), "{}", run.stdout);
    let (found, bytes): (Vec<_>, Vec<_>) = moto.objects().into_iter().unzip();
    assert_eq!(found, names);
    host.check(&bytes);
    let mut open: Vec<_> = moto.ask("uploads").into_iter().map(|(name, _)| name).collect();
    open.sort();
    assert_eq!(open, names);
}
