//! Readers can move to another thread.

use telemetry_decode::blocks::{Block, Blocks, Index, Piece};
use telemetry_decode::foreign::{Log, LogBytes, LogFile, Page};
use telemetry_decode::recover::Recovered;
use telemetry_decode::writer::{WriteError, Writer};
use telemetry_decode::{
    Completeness, Error, Event, EventBatch, Events, Filter, Input, OwnedEvent, OwnedEvents, Position, Reader,
    Session, Timed, TypedEvents, Value,
};

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

/// The compiler checks each line.
#[test]
fn what_reads_is_send() {
    is_send::<Reader<'static>>();
    is_send::<Input>();
    is_send::<Events<'static>>();
    is_send::<OwnedEvents<'static>>();
    is_send::<OwnedEvent>();
    is_send::<TypedEvents<'static, ()>>();
    is_send::<Blocks<'static>>();
    is_send::<LogBytes<'static>>();
    is_send::<LogFile<'static>>();
    is_send::<Box<dyn Log>>();
    is_send::<Writer<Vec<u8>>>();
    is_send::<Error>();
    is_send::<WriteError>();
}

#[test]
fn what_was_read_is_sync() {
    is_sync::<Event<'static>>();
    is_sync::<EventBatch<'static>>();
    is_sync::<OwnedEvent>();
    is_sync::<Timed<'static, ()>>();
    is_sync::<Value<'static>>();
    is_sync::<Session>();
    is_sync::<Block<'static>>();
    is_sync::<Piece<'static>>();
    is_sync::<Page>();
    is_sync::<Index>();
    is_sync::<Recovered>();
    is_sync::<Completeness>();
    is_sync::<Filter>();
    is_sync::<Position>();
    is_sync::<Error>();
}

#[test]
fn events_are_read_on_another_thread() {
    let reader = Reader::from_reader(std::io::empty());
    let read = std::thread::spawn(|| reader.events()?.next().map(|event| event.is_none()));
    assert!(read.join().unwrap().unwrap());
}
