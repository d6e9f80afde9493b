//! The command with S3, as moto's server has it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use telemetry_lake::lake::Format;
use telemetry_testing::made::Plan;

use crate::commit::{FORMATS, all_events, streams};
use crate::lakes::{Said, TestLake, said};

/// A server with the bucket `fleet`. `put NAME LENGTH` and the bytes store an object; `list` gives
/// the name and length of each object, and its bytes.
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
for line in sys.stdin.buffer:
    words = line.decode().split()
    if words[0] == "put":
        s3.put_object(Bucket="fleet", Key=words[1], Body=sys.stdin.buffer.read(int(words[2])))
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

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-lake"));
        command.arg(args[0]).arg("s3://fleet/prod").args(&args[1..]);
        command.env("AWS_ENDPOINT_URL", &self.endpoint).env("AWS_ALLOW_HTTP", "true");
        command.env("AWS_REGION", "us-east-1");
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> Said {
        said(&self.command(args).output().unwrap())
    }

    /// Copies the bucket to a directory.
    fn fetch(&mut self, format: Format) -> TestLake {
        let lake = TestLake::new(format);
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
    for format in FORMATS {
        let Some(mut moto) = Moto::start() else { return };
        let source = TestLake::new(format);
        let streams = streams(&Plan { events: 300, block_size: 1024, ..Plan::default() });
        assert_eq!(moto.run(&["init", "--format", format.word()]).code, Some(0));
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
        moto.fetch(format).check(&all_events(&streams));

        // A lease that has not ended keeps others away; one that has ended does not.
        moto.put("lease.json", br#"{"owner": "other", "until": 99999999999}"#);
        let said = moto.run(&["commit"]);
        assert!(said.stderr.starts_with("error: another process commits to this lake; its lease ends in "));
        moto.put("lease.json", br#"{"owner": "other", "until": 1}"#);
        assert_eq!(moto.run(&["commit"]).stdout, "no new segments\n");
        assert_eq!(moto.run(&["delete", "--host", "h3"]).code, Some(0));
        let wanted = all_events(&streams).into_iter().filter(|key| key.0 != "h3").collect();
        moto.fetch(format).check(&wanted);
    }
}
