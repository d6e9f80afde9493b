//! What rust-analyzer shows of an emitter, asked by its protocol in a call that is half written.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

const SOURCE: &str = r#"#[telemetry::telemetry_event("events.toml")]
pub mod events {}

struct Arena { size: u64, level: u32 }

fn main() {
    let arena = Arena { size: 1, level: 2 };
    events::grown!(&arena, arena.size, arena.level, events::Why::Full, "name");
    events::grown!(&arena, arena.);
}
"#;

/// A running rust-analyzer.
struct Editor {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    uri: String,
    requests: u64,
}

impl Editor {
    /// Opens a package, and waits until it is loaded.
    fn open(package: &Path) -> Editor {
        let mut process = Command::new("rust-analyzer")
            .env("CARGO_NET_OFFLINE", "true")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("rust-analyzer runs");
        let input = process.stdin.take().expect("a pipe");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let uri = format!("file://{}/src/main.rs", package.display());
        let mut editor = Editor { process, input, output, uri, requests: 0 };
        let options = json!({"cargo": {"targetDir": package.join("target")}, "checkOnSave": false});
        editor.ask(
            "initialize",
            json!({
                "processId": null,
                "rootUri": format!("file://{}", package.display()),
                "initializationOptions": options,
                "capabilities": {"experimental": {"serverStatusNotification": true}},
            }),
        );
        editor.send(json!({"method": "initialized", "params": {}}));
        let document = json!({"uri": editor.uri, "languageId": "rust", "version": 1, "text": SOURCE});
        editor.send(json!({"method": "textDocument/didOpen", "params": {"textDocument": document}}));
        loop {
            let message = editor.receive();
            if message["method"] == "experimental/serverStatus" && message["params"]["quiescent"] == true {
                assert_eq!(message["params"]["health"], "ok", "{message}");
                return editor;
            }
        }
    }

    /// Asks about the place `offset` bytes after the start of `text`.
    fn ask_at(&mut self, method: &str, text: &str, offset: usize) -> Value {
        let before = &SOURCE[..SOURCE.find(text).expect("a place in the source") + offset];
        let line = before.matches('\n').count();
        let character = before.len() - before.rfind('\n').map_or(0, |end| end + 1);
        let place = json!({"line": line, "character": character});
        self.ask(method, json!({"textDocument": {"uri": self.uri}, "position": place}))
    }

    /// Returns the result of a request.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        self.send(json!({"id": self.requests, "method": method, "params": params}));
        loop {
            let message = self.receive();
            if message["id"] == self.requests && message.get("method").is_none() {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("rust-analyzer reads");
        self.input.flush().expect("rust-analyzer reads");
    }

    /// Returns the next message. A request of the server gets an empty answer.
    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("text") > 0, "rust-analyzer ended");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse().expect("a number"),
                Some(_) => {}
                None => break,
            }
        }
        let mut text = vec![0; length];
        self.output.read_exact(&mut text).expect("a message");
        let message: Value = serde_json::from_slice(&text).expect("JSON");
        if message.get("method").is_some() && message.get("id").is_some() {
            self.send(json!({"id": message["id"], "result": null}));
        }
        message
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn half_a_call() {
    let version = Command::new("rust-analyzer").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: no rust-analyzer; help: `rustup component add rust-analyzer`");
        return;
    }
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("editor");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = format!(
        "[package]\nname = \"editor\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\ntelemetry-events = {{ path = {:?} }}\n[workspace]\n",
        here.join("..")
    );
    std::fs::create_dir_all(package.join("src")).expect("a writable target directory");
    std::fs::write(package.join("Cargo.toml"), manifest).expect("a writable target directory");
    std::fs::write(package.join("src/main.rs"), SOURCE).expect("a writable target directory");
    for (from, to) in [("../Cargo.lock", "Cargo.lock"), ("tests/ui/registries/good.toml", "events.toml")] {
        std::fs::copy(here.join(from), package.join(to)).expect("a writable target directory");
    }
    let mut editor = Editor::open(&package);

    let fields = editor.ask_at("textDocument/completion", "arena.)", 6);
    let fields = fields.get("items").unwrap_or(&fields).as_array().expect("a list").clone();
    let fields: Vec<&str> = fields.iter().filter_map(|item| item["label"].as_str()).collect();
    assert!(fields.contains(&"size") && fields.contains(&"level"), "{fields:?}");

    let help = editor.ask_at("textDocument/signatureHelp", "arena.)", 6);
    let signature = help["signatures"][0]["label"].as_str().unwrap_or_default();
    assert_eq!(
        signature, "fn grown(arena: &Arena, size: impl Word, level: u32, why: Why, name: &str)",
        "{help}"
    );
    assert_eq!(help["activeParameter"], 1, "{help}");

    let hover = editor.ask_at("textDocument/hover", "grown!", 1).to_string();
    for expected in ["An arena grew.", "size: its size (word, in bytes)"] {
        assert!(hover.contains(expected), "{hover}");
    }

    let names = editor.ask_at("textDocument/completion", "events::grown!", 8).to_string();
    assert!(names.contains("\"label\":\"grown") && names.contains("\"label\":\"moved"), "{names}");
}
