//! Keys of the store are in no output, and in no argument.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

use telemetry_testing::wait;

const STORE: &str = "s3://fleet/prod";
const SECRETS: [&str; 2] = ["wJalrXUtnFEMI/K7MDENG+secretaccesskey", "IQoJb3JpZ2luX2VjEtemporarytoken=="];

/// While it is locked, the store does not answer, so commands that ask it do not end.
static ANSWERS: Mutex<()> = Mutex::new(());

/// Runs the command with keys in its environment, and sees that it shows none.
fn run(arguments: &[&str], endpoint: &str) -> (Output, String) {
    let hold = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-lake"));
    command.args(arguments).env("RUST_LOG", "trace").env("RUST_BACKTRACE", "full");
    command.env("AWS_ENDPOINT_URL", endpoint).env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE").env("AWS_SECRET_ACCESS_KEY", SECRETS[0]);
    command.env("AWS_SESSION_TOKEN", SECRETS[1]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    if cfg!(target_os = "linux") && *arguments.last().unwrap() == STORE {
        // As `ps` shows them. There are none until the program is loaded.
        let (file, mut shown) = (format!("/proc/{}/cmdline", child.id()), String::new());
        wait::until("the arguments are there", || {
            shown = std::fs::read_to_string(&file).unwrap();
            !shown.is_empty()
        });
        assert!(shown.contains("telemetry-lake\0") && shown.ends_with("s3://fleet/prod\0"), "{shown:?}");
        assert!(SECRETS.iter().all(|secret| !shown.contains(secret)), "{shown:?}");
    }
    drop(hold);
    let output = child.wait_with_output().unwrap();
    let text = [&*output.stdout, &*output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    for secret in SECRETS {
        assert!(!text.contains(secret), "{arguments:?}: {text}");
    }
    (output, text)
}

/// Refuses each request, and repeats it.
fn refuse(mut connection: TcpStream) -> std::io::Result<()> {
    let mut input = BufReader::new(connection.try_clone()?);
    let mut head = String::new();
    while input.read_line(&mut head)? > 2 {}
    drop(ANSWERS.lock());
    let len = head.len();
    write!(connection, "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: {len}\r\n\r\n{head}")
}

#[test]
fn no_output_has_a_key() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || refuse(connection));
        }
    });
    for command in ["init", "commit", "complete", "stream", "compact"] {
        let (output, text) = run(&[command, STORE], &endpoint);
        assert_eq!(output.status.code(), Some(2), "{command}: {text}");
        assert!(text.contains("x-amz-security-token: [hidden]"), "{command}: {text}");
        let with_key = format!("s3://AKIA:{}@fleet/prod", SECRETS[0]);
        let (output, text) = run(&[command, &with_key], &endpoint);
        assert_eq!(output.status.code(), Some(2), "{command}: {text}");
        assert!(text.starts_with("error: `s3://[hidden]@fleet/prod` is not a store: "), "{text}");
        assert_eq!(run(&[command, "--help"], &endpoint).0.status.code(), Some(0));
    }
}
