//! A server of tokio under load: its spans are those that a layer which counts has seen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tracing::span::{Attributes, Id};
use tracing::{Event, Instrument, Subscriber, debug, info_span, instrument};
use tracing_subscriber::layer::Context;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Layer, Registry};

use crate::recorded::events;

/// Counts what a layer hears.
#[derive(Default)]
struct Counts {
    new: AtomicU64,
    close: AtomicU64,
    enter: AtomicU64,
    event: AtomicU64,
}

struct Counting(Arc<Counts>);

impl<S: Subscriber> Layer<S> for Counting {
    fn on_new_span(&self, _: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        self.0.new.fetch_add(1, Relaxed);
    }

    fn on_close(&self, _: Id, _: Context<'_, S>) {
        self.0.close.fetch_add(1, Relaxed);
    }

    fn on_enter(&self, _: &Id, _: Context<'_, S>) {
        self.0.enter.fetch_add(1, Relaxed);
    }

    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        self.0.event.fetch_add(1, Relaxed);
    }
}

const CLIENTS: u64 = 8;
const REQUESTS: u64 = 50;

/// Answers each byte with another one.
#[instrument(skip(socket))]
async fn serve(mut socket: TcpStream, client: u64) {
    let mut byte = [0];
    while socket.read_exact(&mut byte).await.is_ok() {
        async {
            tokio::task::yield_now().await;
            debug!(byte = byte[0], "answered");
            socket.write_all(&[byte[0] ^ 1]).await.expect("a client");
        }
        .instrument(info_span!("request", byte = byte[0]))
        .await;
    }
}

async fn load() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = tokio::spawn(async move {
        let mut open = Vec::new();
        for client in 0..CLIENTS {
            let (socket, _) = listener.accept().await.expect("a client");
            open.push(tokio::spawn(serve(socket, client)));
        }
        for task in open {
            task.await.expect("no panic");
        }
    });
    let clients = (0..CLIENTS).map(|_| {
        tokio::spawn(async move {
            let mut socket = TcpStream::connect(address).await.expect("the server");
            for number in 0..REQUESTS {
                let mut byte = [number as u8];
                socket.write_all(&byte).await.expect("the server");
                socket.read_exact(&mut byte).await.expect("an answer");
                assert_eq!(byte[0], number as u8 ^ 1);
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.expect("no panic");
    }
    server.await.expect("no panic");
}

#[test]
fn counts_are_those_of_a_counting_layer() {
    let counts = Arc::new(Counts::default());
    let subscriber = Registry::default().with(telemetry_tracing::layer()).with(Counting(counts.clone()));
    let dispatch = tracing::Dispatch::new(subscriber);
    let run = || {
        let threads = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(3)
            .enable_io()
            // Each thread of the executor has the subscriber to its end.
            .on_thread_start(move || std::mem::forget(tracing::dispatcher::set_default(&dispatch)))
            .build()
            .expect("a runtime");
        threads.block_on(async { tokio::spawn(load()).await.expect("no panic") });
    };
    let mut found = BTreeMap::<String, u64>::new();
    let mut open = BTreeMap::new();
    events("tracing:all", run, |event| {
        *found.entry(event.name().to_string()).or_default() += 1;
        let number = |name: &str| event.get(name).and_then(|value| value.as_u64());
        match event.name() {
            "SpanNew" => assert_eq!(open.insert(number("span"), number("parent")), None),
            "SpanClose" => assert!(open.remove(&number("span")).is_some()),
            "SpanEnter" => assert!(open.contains_key(&number("span"))),
            _ => {}
        }
    });
    assert!(open.is_empty(), "{open:?}");
    let count = |name: &str| found.get(name).copied().unwrap_or(0);
    assert_eq!(count("SpanNew"), CLIENTS + CLIENTS * REQUESTS);
    assert_eq!(count("SpanNew"), counts.new.load(Relaxed));
    assert_eq!(count("SpanClose"), counts.close.load(Relaxed));
    assert_eq!(count("SpanEnter"), counts.enter.load(Relaxed));
    assert_eq!(count("SpanExit"), counts.enter.load(Relaxed));
    assert_eq!(count("LogEvent"), counts.event.load(Relaxed));
    assert_eq!(count("FieldU64"), CLIENTS + 2 * CLIENTS * REQUESTS);
}
