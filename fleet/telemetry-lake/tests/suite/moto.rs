//! S3, as moto's server has it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::lakes::{Form, Said, TestLake, said};

/// A server with the bucket `fleet`, and what it takes from standard input:
///
/// - `put NAME LENGTH` and the bytes store an object; `add` only if there is none of this name.
/// - `list PREFIX` gives the name and length of each object, and its bytes.
/// - `asked` gives the paths of the requests that were not writes, since the last time.
/// - `faults PREFIX N SEED` lets one in N requests below a prefix fail; 0 is none.
/// - `drop PREFIX` deletes the objects.
/// - `open NAME` begins an upload in parts, and does not end it.
/// - `uploads` gives the names of these.
///
/// Requests from here do not fail.
const SERVER: &str = r#"
import random, sys, time, traceback, boto3
from moto.server import DomainDispatcherApplication, ThreadedMotoServer
asked, faults, dispatch = [], {}, DomainDispatcherApplication.__call__
def serve(self, environ, start_response):
    path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
    if method in ("GET", "HEAD"):
        asked.append(path)
    where = path + "?" + environ.get("QUERY_STRING", "")
    fault = None
    if "Boto3" not in environ.get("HTTP_USER_AGENT", ""):
        for prefix, (one_in, numbers) in list(faults.items()):
            if prefix in where and numbers.randrange(one_in) == 0:
                fault = numbers.choice(["busy", "conflict", "lost", "late", "silent"])
    if fault == "late":
        time.sleep(0.2)
    if fault == "busy" or fault == "conflict" and method == "PUT":
        # The client may wait for an answer until its data are read.
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        status = "503 Slow Down" if fault == "busy" else "409 Conflict"
        start_response(status, [("Content-Length", "0")])
        return [b""]
    answer = dispatch(self, environ, start_response)
    if fault == "silent":
        time.sleep(5)
    if fault in ("lost", "silent"):
        raise ConnectionAbortedError
    return answer
DomainDispatcherApplication.__call__ = serve
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
url = f"http://{host}:{port}"
s3 = boto3.client("s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="key", aws_secret_access_key="secret")
s3.create_bucket(Bucket="fleet")
print(url, 0, flush=True)
def keys(prefix):
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket="fleet", Prefix=prefix):
        yield from [o["Key"] for o in page.get("Contents", [])]
def do(words):
    if words[0] == "put":
        s3.put_object(Bucket="fleet", Key=words[1], Body=sys.stdin.buffer.read(int(words[2])))
    elif words[0] == "add":
        try:
            s3.put_object(Bucket="fleet", Key=words[1], Body=sys.stdin.buffer.read(int(words[2])), IfNoneMatch="*")
        except s3.exceptions.ClientError:
            pass
    elif words[0] == "asked":
        sys.stdout.buffer.write("".join(f"{path} 0\n" for path in asked).encode())
        asked.clear()
    elif words[0] == "faults":
        faults.pop(words[1], None)
        if words[2] != "0":
            faults[words[1]] = (int(words[2]), random.Random(int(words[3])))
    elif words[0] == "drop":
        for key in keys(words[1]):
            s3.delete_object(Bucket="fleet", Key=key)
    elif words[0] == "open":
        of = {"Bucket": "fleet", "Key": words[1]}
        upload = s3.create_multipart_upload(**of)["UploadId"]
        s3.upload_part(UploadId=upload, PartNumber=1, Body=b"half", **of)
    elif words[0] == "uploads":
        for upload in s3.list_multipart_uploads(Bucket="fleet").get("Uploads", []):
            sys.stdout.buffer.write(f"{upload['Key']} 0\n".encode())
    else:
        for key in keys(words[1]):
            try:
                body = s3.get_object(Bucket="fleet", Key=key)["Body"].read()
            except s3.exceptions.NoSuchKey:
                # Another process has deleted it since.
                continue
            sys.stdout.buffer.write(f"{key} {len(body)}\n".encode() + body)
for line in sys.stdin.buffer:
    end = b"end 0\n"
    try:
        do(line.decode().split())
    except Exception:
        text = traceback.format_exc().encode()
        end = f"error {len(text)}\n".encode() + text
    sys.stdout.buffer.write(end)
    sys.stdout.buffer.flush()
"#;

/// An object's name and its bytes.
type Object = (String, Vec<u8>);

/// The longest that the server may take for the next object of an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads answers until the server ends.
fn read(mut output: BufReader<ChildStdout>, to: &Sender<Option<Object>>) -> Option<()> {
    loop {
        let mut line = String::new();
        output.read_line(&mut line).ok()?;
        let (key, len) = line.trim().rsplit_once(' ')?;
        let mut bytes = vec![0; len.parse().ok()?];
        output.read_exact(&mut bytes).ok()?;
        to.send((key != "end").then(|| (key.to_owned(), bytes))).ok()?;
    }
}

/// A command on the lake `prod` of the bucket of a server.
pub(crate) fn command(endpoint: &str, args: &[impl AsRef<str>]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-lake"));
    let args: Vec<_> = args.iter().map(AsRef::as_ref).collect();
    command.arg(args[0]).arg("s3://fleet/prod").args(&args[1..]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    settings(endpoint, &mut command);
    command
}

/// Tells a command where the server is.
pub(crate) fn settings<'c>(endpoint: &str, command: &'c mut Command) -> &'c mut Command {
    command.env("AWS_ENDPOINT_URL", endpoint).env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret")
}

/// The server, killed when dropped.
pub(crate) struct Moto {
    child: Child,
    /// Takes what is written to the server. A thread waits for a server that does not read.
    asks: Sender<Vec<u8>>,
    /// The objects of answers. `None` ends one.
    answers: Receiver<Option<Object>>,
    pub(crate) endpoint: String,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Moto {
    /// Starts the server with the Python that `TELEMETRY_MOTO` names.
    pub(crate) fn start() -> Option<Moto> {
        let Some(python) = std::env::var_os("TELEMETRY_MOTO") else {
            eprintln!("SKIPPED: TELEMETRY_MOTO names no Python with `moto[server]` and `boto3`");
            return None;
        };
        let mut command = Command::new(python);
        command.args(["-c", SERVER]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("Python");
        let output = BufReader::new(child.stdout.take().unwrap());
        let (to, answers) = channel();
        let mut input = child.stdin.take().unwrap();
        let (asks, asked) = channel::<Vec<u8>>();
        // Both end with the server.
        std::thread::spawn(move || read(output, &to));
        std::thread::spawn(move || asked.iter().try_for_each(|bytes| input.write_all(&bytes)));
        let mut moto = Moto { child, asks, answers, endpoint: String::new() };
        let (endpoint, _) = moto.answer("start").expect("the server has not started");
        moto.endpoint = endpoint;
        Some(moto)
    }

    /// Waits for the next object of an answer. Returns `None` at its end.
    fn answer(&mut self, what: &str) -> Option<Object> {
        let answer = self.answers.recv_timeout(PATIENCE).unwrap_or_else(|error| {
            let ended = self.child.try_wait();
            panic!("moto's server does not answer `{what}`: {error}; it has ended: {ended:?}")
        });
        // All objects have a folder.
        if let Some((_, text)) = answer.as_ref().filter(|(name, _)| name == "error") {
            panic!("moto's server cannot answer `{what}`: {}", String::from_utf8_lossy(text));
        }
        answer
    }

    /// Sends a line and bytes. Returns the objects of the answer.
    pub(crate) fn ask(&mut self, line: &str, bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
        let ask = [line.as_bytes(), b"\n", bytes].concat();
        // If the server has ended, it does not answer.
        let _ = self.asks.send(ask);
        std::iter::from_fn(|| self.answer(line)).collect()
    }

    pub(crate) fn put(&mut self, name: &str, bytes: &[u8]) {
        self.ask(&format!("put prod/{name} {}", bytes.len()), bytes);
    }

    pub(crate) fn command(&self, args: &[impl AsRef<str>]) -> Command {
        command(&self.endpoint, args)
    }

    pub(crate) fn run(&self, args: &[impl AsRef<str>]) -> Said {
        said(&self.command(args).output().unwrap())
    }

    /// The objects below `prod/` that were read since the last call. An empty name is a list of
    /// objects.
    pub(crate) fn asked(&mut self) -> Vec<String> {
        let asked = self.ask("asked", &[]).into_iter();
        asked.map(|(path, _)| path.strip_prefix("/fleet/prod/").unwrap_or_default().to_owned()).collect()
    }

    /// Copies the bucket to a directory.
    pub(crate) fn fetch(&mut self, form: Form) -> TestLake {
        let lake = TestLake::new(form);
        lake.fill(self.ask("list prod/", &[]), "prod/");
        lake
    }
}
