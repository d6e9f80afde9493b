//! Tokens and keys of stores are in no argument, no line of a log and no other output.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::collect::{Collector, Fleet};
use crate::daemon::{Daemon, signal};
use crate::ship::{files_in, said};

const KEY: &str = "wJalrXUtnFEMI/K7MDENG+secretaccesskey";
const SESSION: &str = "IQoJb3JpZ2luX2VjEtemporarytoken==";
const PASSWORD: &str = "passwordOfTheEndpoint";

/// What must be nowhere.
struct Secrets(Vec<String>);

impl Secrets {
    /// Those of a fleet: its tokens, its private keys, and the keys of its store.
    fn of(files: &[&Path]) -> Secrets {
        let mut all: Vec<String> = [KEY, SESSION, PASSWORD].map(str::to_owned).into();
        for file in files {
            let text = std::fs::read_to_string(file).unwrap();
            all.extend(text.lines().filter(|line| !line.starts_with("-----")).map(str::to_owned));
        }
        assert!(all.iter().all(|secret| secret.len() >= 16), "too short to be found: {all:?}");
        Secrets(all)
    }

    fn check(&self, place: &str, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let found = self.0.iter().find(|secret| text.contains(&***secret));
        assert_eq!(found, None, "in {place}: {text}");
    }

    fn check_output(&self, output: &Output) {
        self.check("standard output", &output.stdout);
        self.check("standard error", &output.stderr);
    }

    /// Checks the arguments of a process, as `ps` shows them.
    fn check_arguments(&self, pid: u32) {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        assert!(arguments.windows(15).any(|part| part == b"telemetry-fleet"), "{arguments:?}");
        self.check("arguments", &arguments);
    }
}

/// The command, as talkative as it can be, with all secrets in its environment.
fn command(endpoint: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
    command.env("RUST_LOG", "trace").env("RUST_BACKTRACE", "full").stdin(Stdio::null());
    command.env("AWS_ENDPOINT_URL", endpoint).env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE").env("AWS_SECRET_ACCESS_KEY", KEY);
    command.env("AWS_SESSION_TOKEN", SESSION);
    command
}

/// Starts a store that refuses each request, and repeats it in the answer. S3 does so with tokens
/// that have expired.
fn mirror() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://user:{PASSWORD}@{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || refuse(connection));
        }
    });
    endpoint
}

fn refuse(mut connection: TcpStream) -> std::io::Result<()> {
    let mut input = BufReader::new(connection.try_clone()?);
    let mut head = String::new();
    while input.read_line(&mut head)? > 2 {}
    let body = format!(
        "<Error><Code>ExpiredToken</Code><Message>refused</Message><Token-0>{SESSION}</Token-0>{head}</Error>"
    );
    write!(
        connection,
        "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The page of metrics that a log names.
fn metrics(line: &str) -> Vec<u8> {
    let (_, address) = line.split_once("metrics at http://").unwrap();
    let mut stream = TcpStream::connect(address.trim_end_matches("/metrics")).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut page = Vec::new();
    stream.read_to_end(&mut page).unwrap();
    page
}

#[test]
fn processes_show_no_secret() {
    let fleet = Fleet::new();
    let token = fleet.token("h7", "1");
    let (path, endpoint) = (|name| fleet.host.path(name), mirror());
    let secrets = Secrets::of(&[&token, &fleet.key(), &fleet.client.1]);
    let mut collect = command(&endpoint);
    collect.arg("collect").args(fleet.arguments()).arg("--metrics=127.0.0.1:0");
    let collector = Collector::of(&mut collect);
    std::fs::create_dir(path("watched")).unwrap();
    let mut ship = command(&endpoint);
    ship.args(["ship", "--host=h7", "--metrics=127.0.0.1:0", "--watch"]).arg(path("watched"));
    ship.arg(format!("--to=tls://{}:{}", fleet.address, collector.port)).arg("--spool").arg(path("spool"));
    ship.arg("--ca").arg(&fleet.authority.file).arg("--token-file").arg(&token);
    let daemon = Daemon::start(&mut ship);
    for file in &fleet.host.files {
        std::fs::copy(file, path("watched").join(file.file_name().unwrap())).unwrap();
    }
    collector.wait_for("metrics at http://");
    let pages = [collector.wait_for("metrics at http://"), daemon.log.wait_for("metrics at http://")];
    for page in pages.map(|line| metrics(&line)) {
        assert!(page.windows(10).any(|part| part == b"telemetry_"));
        secrets.check("metrics", &page);
    }
    for pid in [collector.child.id(), daemon.child.id()] {
        secrets.check_arguments(pid);
    }
    // A wrong token is refused, in both logs. So is a file in which someone left the token itself.
    std::fs::write(path("tokens.toml"), "").unwrap();
    secrets.check_output(&with_token(&fleet, &collector, &token));
    let token_text = std::fs::read_to_string(&token).unwrap();
    std::fs::write(
        path("tokens.toml"),
        format!("[[token]]\nhost = \"h7\"\ntoken = \"{}\"\n", token_text.trim()),
    )
    .unwrap();
    secrets.check_output(&with_token(&fleet, &collector, &token));
    collector.wait_for("are not used");
    secrets.check("the log of the shipper", daemon.stop().join("\n").as_bytes());
    // A crash: the message of the process that ends, and nothing else.
    signal(&collector.child, "-ABRT");
    secrets.check("the log of the collector", collector.log().join("\n").as_bytes());
    for file in files_in(&path("spool")).into_iter().chain(files_in(&path("store"))) {
        secrets.check(&file.display().to_string(), &std::fs::read(&file).unwrap());
    }
}

fn with_token(fleet: &Fleet, collector: &Collector, token: &Path) -> Output {
    let output = fleet.shipper("spool2", collector.port).arg("--token-file").arg(token).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn a_store_that_repeats_requests_is_not_repeated() {
    let (fleet, endpoint) = (Fleet::new(), mirror());
    let secrets = Secrets::of(&[&fleet.key()]);
    let mut ship = command(&endpoint);
    ship.args(["ship", "--to=s3://fleet/prod", "--spool"]).arg(fleet.host.path("spool"));
    ship.args(&fleet.host.files);
    let mut collect = command(&endpoint);
    collect.arg("collect").args(fleet.arguments()).arg("--store=s3://fleet/prod");
    collect.arg("--spool").arg(fleet.host.path("collector"));
    for command in [&mut ship, &mut collect] {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("ExpiredToken") && text.contains("[hidden]"), "{text}");
        secrets.check_output(&output);
    }
}

#[test]
fn addresses_with_keys_are_refused() {
    let fleet = Fleet::new();
    let hidden = "is not a store: an address is in `ps` and in logs, so it has no key; help: give keys in the environment; expected ";
    for (address, why) in [
        ("s3://AKIA:{}@fleet/prod", format!("`s3://[hidden]@fleet/prod` {hidden}")),
        ("https://AKIA:{}@fleet/prod", format!("`https://[hidden]@fleet/prod` {hidden}")),
        (
            "s3://fleet/prod?X-Amz-Signature={}",
            "`s3://fleet/prod?[hidden]` is not a store: it has a `?` or `#`".to_owned(),
        ),
        (
            "tls://h7:{}@collector:7400",
            "`tls://[hidden]@collector:7400` is not the address of a collector".to_owned(),
        ),
    ] {
        // A key with a slash makes the address invalid in another way.
        for key in ["secretaccesskeyofthestore", KEY] {
            let mut ship = command("http://127.0.0.1:9");
            ship.args(["ship", "--host=h7", "--to"]).arg(address.replace("{}", key));
            ship.arg("--spool").arg(fleet.host.path("spool"));
            ship.arg("--ca").arg(&fleet.authority.file);
            let run = said(&ship.output().unwrap());
            assert_eq!(run.code, Some(2));
            assert!(!run.stderr.contains(key), "{}", run.stderr);
            if !key.contains('/') {
                assert!(run.stderr.starts_with(&format!("error: {why}")), "{} for {why}", run.stderr);
            }
        }
    }
}

#[test]
fn files_in_the_wrong_place_are_not_shown() {
    let fleet = Fleet::new();
    let token = fleet.token("h7", "1");
    let secrets = Secrets::of(&[&token, &fleet.key()]);
    for option in ["tokens", "config", "cert", "key", "client-ca", "revoked"] {
        for file in [&token, &fleet.key()] {
            let mut collect = command("http://127.0.0.1:9");
            collect.arg("collect").args(fleet.arguments()).arg(format!("--{option}")).arg(file);
            if option == "key" && *file == fleet.key() {
                continue;
            }
            let output = collect.output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{option}");
            secrets.check_output(&output);
        }
    }
    for option in ["ca", "cert", "token-file", "config"] {
        let mut ship = fleet.shipper("spool", 9);
        let output = ship.arg(format!("--{option}")).arg(fleet.key()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{option}");
        secrets.check_output(&output);
    }
}

#[test]
fn help_shows_no_secret() {
    for arguments in
        ["--help", "ship --help", "collect --help", "token --help", "control --help", "--version", "ship"]
    {
        let output = command("http://127.0.0.1:9").args(arguments.split(' ')).output().unwrap();
        assert!(!output.stdout.is_empty() || !output.stderr.is_empty());
        Secrets::of(&[]).check_output(&output);
    }
}
