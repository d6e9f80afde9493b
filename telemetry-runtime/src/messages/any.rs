//! A channel for code that does not know the types of its values.

use std::time::Duration;

use super::channel::Channel;
use super::either::Either;
use super::list;
use crate::model::channel::{AnyChannel, AnyMessage, Form};
use crate::model::message_values::Values;

impl<B: Copy + Send + Values, E: Copy + Send + Values, const LIMIT: usize> Channel<B, E, LIMIT> {
    /// Enables the message, see [`AnyChannel::start`].
    pub fn start(&'static self) -> bool {
        list::add(&self.link, self);
        self.enable()
    }

    /// Disables the message and frees all its memory.
    pub fn stop(&self) {
        self.disable();
    }
}

impl<B, E, const LIMIT: usize> AnyChannel for Channel<B, E, LIMIT>
where
    B: Copy + Send + Values,
    E: Copy + Send + Values,
{
    fn form(&self) -> &Form {
        &self.form
    }

    fn start(&'static self) -> bool {
        Channel::start(self)
    }

    fn stop(&self) {
        self.disable();
    }

    fn get(&self) -> Option<AnyMessage> {
        Channel::get(self).map(Either::any)
    }

    fn wait(&self, longest: Duration) -> Option<AnyMessage> {
        Channel::wait(self, longest).map(Either::any)
    }

    fn queued(&self) -> u64 {
        Channel::queued(self)
    }

    fn dropped(&self) -> u64 {
        Channel::dropped(self)
    }

    fn hold(&self) -> bool {
        Channel::hold(self)
    }

    fn let_go(&self) {
        Channel::let_go(self);
    }

    fn reset_in_child(&self, is_whole: bool) {
        Channel::reset_in_child(self, is_whole);
    }
}
