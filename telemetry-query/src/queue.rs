//! The queue between the threads that decode and the threads of the engine.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use futures::Stream;
use futures::stream::unfold;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The end of a queue from which all partitions of a table take batches.
pub(crate) type Outlet = Arc<Shared>;

type Shared = tokio::sync::Mutex<Receiver<Result<RecordBatch>>>;

/// The end of a queue into which batches go. It is closed when the engine needs no more.
pub(crate) type Inlet = Sender<Result<RecordBatch>>;

/// The queues of a table. Usually there is one: an engine that runs a plan again gets another.
#[derive(Debug, Default)]
pub(crate) struct Queues(Mutex<Vec<Weak<Shared>>>);

impl Queues {
    /// Returns the queue of a run. The first partition that asks for it starts its reader. Returns
    /// `None` if all partitions that had the queue have ended.
    pub(crate) fn of_run(&self, run: usize, len: usize, start: impl FnOnce(Inlet)) -> Option<Outlet> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(run) {
            return queue.upgrade();
        }
        let (inlet, outlet) = channel(len);
        let outlet = Arc::new(tokio::sync::Mutex::new(outlet));
        queues.resize(run, Weak::new());
        queues.push(Arc::downgrade(&outlet));
        start(inlet);
        Some(outlet)
    }
}

/// Returns the batches of a queue that come to one partition.
pub(crate) fn batches(outlet: Option<Outlet>) -> Pin<Box<dyn Stream<Item = Result<RecordBatch>> + Send>> {
    Box::pin(unfold(outlet, |outlet| async move {
        let outlet = outlet?;
        let batch = outlet.lock().await.recv().await?;
        Some((batch, Some(outlet)))
    }))
}
