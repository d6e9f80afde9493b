//! A message of any registry, and the operations that a program has for it.

use std::time::Duration;

use crate::model::message_values::{Valued, Values};
use crate::model::posted::Posted;

/// A message of any registry, for code that does not know its types.
pub trait AnyChannel: Sync {
    /// Returns the form of the message.
    fn form(&self) -> &Form;
    /// Enables the message. Returns false if there is no memory for all pairs that may run at once.
    fn start(&'static self) -> bool;
    /// Disables the message and frees all its memory.
    fn stop(&self);
    /// Returns the oldest message.
    fn get(&self) -> Option<AnyMessage>;
    /// Returns the oldest message, and waits for one up to `longest`.
    fn wait(&self, longest: Duration) -> Option<AnyMessage>;
    /// Returns the number of messages that can be fetched.
    fn queued(&self) -> u64;
    /// Returns the number of messages that could not be posted.
    fn dropped(&self) -> u64;
    /// Keeps other threads out. Returns false if one stays inside for too long.
    fn hold(&self) -> bool;
    /// Lets other threads in again.
    fn let_go(&self);
    /// Empties the queue and ends all pairs, in the child of a fork. `is_whole` says that no thread
    /// was inside.
    fn reset_in_child(&self, is_whole: bool);
}

/// A fetched message of any registry.
pub struct AnyMessage {
    /// True if the message ends a pair.
    pub is_end: bool,
    /// When the message was posted.
    pub ticks: u64,
    values: Box<dyn Values>,
}

impl AnyMessage {
    pub(crate) fn new<T: Copy + Values + 'static>(is_end: bool, message: Posted<T>) -> Self {
        AnyMessage { is_end, ticks: Posted::ticks(&message), values: Box::new(*message) }
    }

    /// Returns the parameter with this name.
    pub fn find(&self, name: &str) -> Option<&dyn Valued> {
        self.values.find(name)
    }
}

/// The form of a message, as the macro knows it.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// The name of the registry.
    pub registry: &'static str,
    /// The name of the message, in `CamelCase`.
    pub name: &'static str,
    /// True if the message has an end.
    pub is_pair: bool,
    /// True if a key tells running pairs apart. Without one, one pair runs at a time, in one
    /// thread.
    pub is_keyed: bool,
}
