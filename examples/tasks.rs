//! A server whose requests are tasks of tokio: spans that belong to a task, whatever thread runs
//! it. It shows how to write such a registry; `telemetry_std::task::watch` has one that is ready.
//!
//! ```sh
//! TELEMETRY_CONTROL=all TELEMETRY_FILENAME=tasks.tel cargo run --example tasks
//! telemetry spans tasks.tel
//! ```

use std::time::Duration;

#[telemetry::telemetry_event("examples/tasks/events.toml")]
pub mod events {}

#[path = "tasks/task.rs"]
mod task;

use task::{Step, Task};

#[tokio::main(flavor = "multi_thread", worker_threads = 3)]
async fn main() {
    let requests = ["index", "search", "login", "image"];
    let tasks = requests.map(|request| tokio::spawn(Task::new(request, serve())));
    for task in tasks {
        task.await.expect("no task panics");
    }
    // A task that takes too long is dropped in the middle of a step.
    let slow = tokio::time::timeout(Duration::from_millis(3), Task::new("slow", serve()));
    slow.await.expect_err("three steps take longer");
}

/// Answers a request in three steps. After each wait, another thread may go on.
async fn serve() {
    for number in 0..3 {
        let _step = Step::new(number);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
