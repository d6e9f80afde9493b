//! A server of `axum` and `hyper` under load. `telemetry report` has as many spans and events as a
//! layer that counts them.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Path as Segment;
use axum::routing::get;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tower_http::trace::TraceLayer;
use tracing::span::{Attributes, Id};
use tracing::{Event, Instrument, Subscriber, info, info_span, instrument};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;

const CLIENTS: u64 = 8;
const REQUESTS: u64 = 250;

/// Where the process with the server writes its counts. Without it, this is the test.
const COUNTS: &str = "SERVER_COUNTS";

/// Counts what it gets, by the events that this project makes of it, and by the names of spans.
#[derive(Clone, Default)]
struct Counting(Arc<Mutex<BTreeMap<String, u64>>>);

impl Counting {
    fn count(&self, what: String) {
        *self.0.lock().expect("no panic").entry(what).or_default() += 1;
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Counting {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        self.count("SpanNew".to_string());
        self.count(format!("span {}", attributes.metadata().name()));
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        self.count("SpanEnter".to_string());
        self.count(format!("entered {}", context.span(id).expect("a span").name()));
    }

    fn on_exit(&self, _: &Id, _: Context<'_, S>) {
        self.count("SpanExit".to_string());
    }

    fn on_close(&self, _: Id, _: Context<'_, S>) {
        self.count("SpanClose".to_string());
    }

    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        self.count("LogEvent".to_string());
    }
}

#[instrument]
async fn square(Segment(number): Segment<u64>) -> String {
    let span = info_span!("find", number);
    // Part of the work is on other threads, and goes on after the answer.
    tokio::spawn(async { tokio::task::yield_now().await }.instrument(info_span!("audit")));
    async {
        tokio::task::yield_now().await;
        info!(found = number, "found");
        (number * number).to_string()
    }
    .instrument(span)
    .await
}

/// Sends requests over one connection.
async fn client(server: std::net::SocketAddr) {
    let mut stream = BufReader::new(TcpStream::connect(server).await.expect("the server"));
    for number in 0..REQUESTS {
        let request = format!("GET /square/{number} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("the server");
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).await.expect("an answer");
            if let Some(number) = line.to_lowercase().strip_prefix("content-length:") {
                length = number.trim().parse().expect("a number");
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.expect("an answer");
        assert_eq!(body, (number * number).to_string().into_bytes());
    }
}

/// The process with the server.
fn serve(counts: &Path) {
    let counting = Counting::default();
    tracing_subscriber::registry().with(telemetry_tracing::layer()).with(counting.clone()).init();
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_io().build();
    let threads = threads.expect("threads");
    threads.block_on(async {
        let app = Router::new().route("/square/{number}", get(square)).layer(TraceLayer::new_for_http());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, app).await });
        for client in (0..CLIENTS).map(|_| tokio::spawn(client(address))).collect::<Vec<_>>() {
            client.await.expect("no panic");
        }
    });
    // Its tasks end, and their spans with them.
    drop(threads);
    assert!(telemetry::flush());
    let text = json!(*counting.0.lock().expect("no panic")).to_string();
    std::fs::write(counts, text).expect("a file");
}

/// Returns the document in a page of `telemetry report`.
fn document(page: &str) -> Value {
    let (_, rest) = page.split_once("<script id=\"data\" type=\"text/plain\">").expect("data");
    let data = rest.split("</script>").next().expect("an end");
    let mut text = String::new();
    let deflated = BASE64_STANDARD.decode(data).expect("Base64");
    flate2::read::DeflateDecoder::new(&*deflated).read_to_string(&mut text).expect("a text");
    serde_json::from_str(&text).expect("JSON")
}

/// Returns the counts in the report, named as `Counting` names them.
fn reported(document: &Value) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for event in document["stats"]["events"].as_array().expect("events") {
        let name = event["event"].as_str().expect("a name");
        if event["registry"] == "tracing" && !name.starts_with("Field") {
            counts.insert(name.to_string(), event["count"].as_u64().expect("a number"));
        }
    }
    for span in document["paired"]["spans"].as_array().expect("spans") {
        // `Span [request]` and `Entered [request]`.
        let (form, name) = span["span"].as_str().and_then(|text| text.split_once(" [")).expect("a name");
        let name = format!("{} {}", form.to_lowercase(), name.trim_end_matches(']'));
        counts.insert(name, span["duration_ns"]["count"].as_u64().expect("a number"));
    }
    counts
}

#[test]
fn the_report_has_the_spans_that_were_counted() {
    if let Some(counts) = std::env::var_os(COUNTS) {
        return serve(Path::new(&counts));
    }
    let telemetry =
        std::env::var_os("TELEMETRY_COMMAND").expect("the command's path, as .ci/tracing gives it");
    let folder = std::env::temp_dir().join(format!("server-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let [stream, counts, page] = ["server.tel", "counts.json", "report.html"].map(|name| folder.join(name));
    let run = |command: &mut Command| {
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run(Command::new(std::env::current_exe().expect("this program"))
        .env(COUNTS, &counts)
        .env("TELEMETRY_CONTROL", "tracing:all")
        // On a busy machine, the thread that writes may have to wait.
        .env("TELEMETRY_POLICY", "wait")
        .env("TELEMETRY_FILENAME", &stream));
    // `--strict`: nothing is missing.
    run(Command::new(telemetry).args(["report", "--strict", "-o"]).arg(&page).arg(&stream));
    let counted = std::fs::read_to_string(&counts).expect("counts");
    let counted: BTreeMap<String, u64> = serde_json::from_str(&counted).expect("counts");
    let document = document(&std::fs::read_to_string(&page).expect("a page"));
    assert_eq!(reported(&document), counted);
    // Each request has the span of the library, that of the handler, and two inside.
    for name in ["span request", "span square", "span find", "span audit"] {
        assert_eq!(counted.get(name), Some(&(CLIENTS * REQUESTS)), "{name}");
    }
    assert!(counted["SpanEnter"] > counted["SpanNew"], "spans go on in other polls");
    std::fs::remove_dir_all(&folder).expect("the folder");
}
