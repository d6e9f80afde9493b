//! The example of tasks: spans belong to a task, on whatever thread it runs. And the page about it.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use telemetry::decode::Reader;
use telemetry::sinks::{Batch, Sink};

#[telemetry::telemetry_event("examples/tasks/events.toml", decode)]
pub mod events {}

#[path = "../examples/tasks/task.rs"]
mod task;

use events::Event;
use task::{Step, Task};

static STREAM: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Keeps the stream.
struct Kept;

impl Sink for Kept {
    fn write(&mut self, blocks: &Batch<'_>) -> std::io::Result<()> {
        let mut stream = STREAM.lock().expect("no panic");
        blocks.iter().flatten().for_each(|bytes| stream.extend_from_slice(bytes));
        Ok(())
    }
}

async fn serve() {
    for number in 0..3 {
        let _step = Step::new(number);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A future that is ready when it is polled again.
async fn step_on_two_threads() {
    let _step = Step::new(7);
    let mut is_first = true;
    std::future::poll_fn(
        move |_| if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) },
    )
    .await;
}

/// Polls a future once.
fn poll<F: Future + Unpin>(future: &mut F) -> bool {
    pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn spans_belong_to_tasks() {
    telemetry::sinks::add(Kept).expect("a sink");
    telemetry::set("all");

    // One task moves from thread to thread, while this thread runs another.
    let mut moved = Task::new("moved", step_on_two_threads());
    let mut stays = Task::new("stays", step_on_two_threads());
    assert!(!poll(&mut moved) && !poll(&mut stays));
    std::thread::scope(|scope| scope.spawn(|| assert!(poll(&mut moved))).join().expect("no panic"));
    assert!(poll(&mut stays));
    drop((moved, stays));

    // Tasks of tokio, one of which is dropped in a step.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_time().build();
    runtime.expect("a runtime").block_on(async {
        let tasks: Vec<_> = (0..20).map(|_| tokio::spawn(Task::new("served", serve()))).collect();
        for task in tasks {
            task.await.expect("no panic");
        }
        let mut dropped = Task::new("dropped", serve());
        assert!(!poll(&mut dropped));
    });
    assert!(telemetry::flush());
    let counters = telemetry::counters::total();
    assert_eq!(counters.lost_pool + counters.lost_reentrant + counters.lost_sink, 0);
    let stream = STREAM.lock().expect("no panic").clone();
    check(&stream);
}

/// The open steps and polls of a task, and what is over.
#[derive(Default)]
struct Account {
    name: String,
    steps: Vec<(u32, u32)>,
    open: Option<u32>,
    is_over: bool,
}

/// Pairs the events of each task.
fn check(stream: &[u8]) {
    let mut events = Reader::from_slice(stream).typed::<events::Decoder>().expect("a stream");
    let mut tasks = BTreeMap::<u64, Account>::new();
    let mut polled = BTreeMap::<u32, u64>::new();
    while let Some(at) = events.next().expect("a sound stream") {
        let thread = at.thread();
        match at.event {
            Event::TaskStart(start) => {
                tasks.entry(start.task).or_default().name = start.name.to_string();
            }
            Event::TaskEnd(end) => {
                let task = tasks.entry(end.task).or_default();
                assert!(!std::mem::replace(&mut task.is_over, true));
            }
            Event::StepStart(start) => {
                let task = tasks.entry(start.task).or_default();
                assert!(task.open.replace(thread).is_none());
            }
            Event::StepEnd(end) => {
                let task = tasks.entry(end.task).or_default();
                let began = task.open.take().expect("an open step");
                task.steps.push((began, thread));
            }
            // Polls nest per thread.
            Event::PollStart(start) => assert!(polled.insert(thread, start.task).is_none()),
            Event::PollEnd(end) => assert_eq!(polled.remove(&thread), Some(end.task)),
        }
    }
    assert!(polled.is_empty() && tasks.values().all(|task| task.is_over && task.open.is_none()));
    let steps = |name: &str| -> Vec<_> {
        tasks.values().filter(|task| task.name == name).map(|task| task.steps.clone()).collect()
    };
    let ([moved], [stays]) = (&steps("moved")[..], &steps("stays")[..]) else { panic!("one task each") };
    assert!(moved.len() == 1 && moved[0].0 != moved[0].1, "{moved:?}");
    assert!(stays.len() == 1 && stays[0].0 == stays[0].1, "{stays:?}");
    let served = steps("served");
    assert!(served.len() == 20 && served.iter().all(|steps| steps.len() == 3), "{served:?}");
    assert_eq!(steps("dropped").concat().len(), 1);
}

/// The code of the page is that of the example.
#[test]
fn the_page_quotes_the_example() {
    let page = include_str!("../docs/async.md");
    // In a package of its own, the registry lies beside the manifest.
    let program = include_str!("../examples/tasks.rs").replace("examples/tasks/", "");
    let files =
        [include_str!("../examples/tasks/events.toml"), include_str!("../examples/tasks/task.rs"), &program];
    let manifest = include_str!("../Cargo.toml");
    let mut quotes = 0;
    for language in ["```toml\n", "```rust,ignore\n"] {
        for fence in page.split(language).skip(1).filter_map(|rest| rest.split("```").next()) {
            for part in fence.trim().split("\n\n") {
                if let Some(dependencies) = part.strip_prefix("[dependencies]") {
                    let tokio = "tokio = { version = \"1.52\"";
                    assert!(dependencies.contains(tokio) && manifest.contains(tokio), "{dependencies}");
                    continue;
                }
                assert!(files.iter().any(|file| file.contains(part)), "not in the example:\n{part}");
                quotes += 1;
            }
        }
    }
    assert!(quotes >= 6, "{quotes} quotes");
}
