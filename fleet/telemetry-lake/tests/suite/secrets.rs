//! Keys of the store are in no output.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};

const SECRETS: [&str; 2] = ["wJalrXUtnFEMI/K7MDENG+secretaccesskey", "IQoJb3JpZ2luX2VjEtemporarytoken=="];

/// Runs the command with keys in its environment, and sees that it shows none.
fn run(arguments: &[&str], endpoint: &str) -> (Output, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-lake"));
    command.args(arguments).env("RUST_LOG", "trace").env("RUST_BACKTRACE", "full");
    command.env("AWS_ENDPOINT_URL", endpoint).env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE").env("AWS_SECRET_ACCESS_KEY", SECRETS[0]);
    let output = command.env("AWS_SESSION_TOKEN", SECRETS[1]).output().unwrap();
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
        let (output, text) = run(&[command, "s3://fleet/prod"], &endpoint);
        assert_eq!(output.status.code(), Some(2), "{command}: {text}");
        assert!(text.contains("x-amz-security-token: [hidden]"), "{command}: {text}");
        let with_key = format!("s3://AKIA:{}@fleet/prod", SECRETS[0]);
        let (output, text) = run(&[command, &with_key], &endpoint);
        assert_eq!(output.status.code(), Some(2), "{command}: {text}");
        assert!(text.starts_with("error: `s3://[hidden]@fleet/prod` is not a store: "), "{text}");
        assert_eq!(run(&[command, "--help"], &endpoint).0.status.code(), Some(0));
    }
}
