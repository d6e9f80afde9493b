//! Waits for the next message in a task.

use core::future::poll_fn;
use core::task::Poll;

use super::channel::Channel;
use super::either::Either;
use super::wakers::wait;
use crate::model::message_values::Values;

impl<B: Copy + Send + Values, E: Copy + Send + Values, const LIMIT: usize> Channel<B, E, LIMIT> {
    /// Returns the next message as soon as there is one. Works with any executor. The task sleeps
    /// forever while the message is not enabled.
    pub async fn next(&'static self) -> Either<B, E> {
        poll_fn(|context| {
            if let Some(message) = self.get() {
                return Poll::Ready(message);
            }
            wait(self, context.waker());
            // A message may have been posted before the task waited.
            self.get().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}
