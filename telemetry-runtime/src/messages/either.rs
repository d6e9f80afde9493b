//! A message as the program gets it.

use core::convert::Infallible;

use crate::model::channel::AnyMessage;
use crate::model::message_values::Values;
use crate::model::posted::Posted;

/// A message that is a begin or an end.
#[derive(Debug, Clone, Copy)]
pub enum Either<B, E> {
    /// The begin of a pair, or a message without an end.
    Begin(Posted<B>),
    /// The end of a pair.
    End(Posted<E>),
}

impl<B> Either<B, Infallible> {
    /// Returns a message without an end.
    pub fn single(self) -> Posted<B> {
        match self {
            Either::Begin(message) => message,
            Either::End(never) => match *never {},
        }
    }
}

impl<B: Copy + Values + 'static, E: Copy + Values + 'static> Either<B, E> {
    pub(super) fn any(self) -> AnyMessage {
        match self {
            Either::Begin(begin) => AnyMessage::new(false, begin),
            Either::End(end) => AnyMessage::new(true, end),
        }
    }
}
