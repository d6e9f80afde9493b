//! The last blocks, in memory, and sinks for any writer.

use std::io::{self, Write};

use super::{BLOCK, block, seqs, write, write_blocks};
use crate::sinks::sink::{Batch, Sink, Start};
use crate::sinks::{Memory, Writer};

#[test]
fn the_last_blocks_are_kept() {
    let most = 256 << 10;
    let memory = Memory::new(most);
    let mut sink = memory.clone();
    let mut begins = Vec::new();
    for seq in 0..1_000 {
        if write(&mut sink, [seq]).expect("memory") {
            begins.push(seq);
        }
        assert!(memory.to_vec().len() <= most);
    }
    let kept = seqs(&memory.to_vec());
    assert!(kept.len() * BLOCK > most / 2, "{}", kept.len());
    assert!(kept.is_sorted() && kept.last() == Some(&999), "{kept:?}");
    // Facts come where `begin` asks for them, so at the beginning.
    assert!(begins.contains(&kept[0]), "{begins:?} {kept:?}");
    assert_eq!(kept.len() as u32, 1_000 - kept[0]);
}

#[test]
fn a_write_longer_than_the_limit_is_kept_alone() {
    let memory = Memory::new(0);
    let mut sink = memory.clone();
    for seq in [1, 2, 3] {
        assert!(write_blocks(&mut sink, &[block(seq, 200_000)]).expect("memory"));
        assert_eq!(seqs(&memory.to_vec()), [seq]);
    }
}

#[test]
fn a_child_starts_again() {
    let memory = Memory::new(0);
    let mut sink = memory.clone();
    write(&mut sink, [1]).expect("memory");
    assert!(sink.after_fork());
    assert!(write(&mut sink, [2]).expect("memory"));
    assert_eq!(seqs(&memory.to_vec()), [2]);
}

#[test]
fn anything_can_be_written_to() {
    struct Flushed<'a>(&'a mut Vec<u8>, Vec<u8>);
    impl Write for Flushed<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1.write(&bytes[..bytes.len().min(100)])
        }
        fn flush(&mut self) -> io::Result<()> {
            self.0.append(&mut self.1);
            Ok(())
        }
    }
    let mut out = Vec::new();
    let mut sink = Writer::new(Flushed(&mut out, Vec::new()));
    write(&mut sink, 0..3).expect("a vector");
    sink.flush().expect("a vector");
    write(&mut sink, 3..5).expect("a vector");
    drop(sink);
    assert_eq!(seqs(&out), [0, 1, 2]);
}

/// A box of a sink has all methods of the sink.
#[test]
fn a_box_is_what_is_in_it() {
    struct Odd;
    impl Sink for Odd {
        fn write(&mut self, _: &Batch<'_>) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn begin(&mut self, bytes: usize) -> io::Result<Start> {
            Ok(Start::new_if(bytes == BLOCK))
        }
        fn max_block(&self) -> usize {
            1_024
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::WouldBlock.into())
        }
        fn is_closed(&self) -> bool {
            true
        }
        fn after_fork(&mut self) -> bool {
            true
        }
        fn name(&self) -> String {
            "odd".into()
        }
    }
    let mut sink: Box<dyn Sink> = Box::new(Odd);
    let sink: &mut dyn Sink = &mut sink;
    assert_eq!(write(sink, [0]).expect_err("as Odd").kind(), io::ErrorKind::StorageFull);
    assert_eq!(sink.flush().expect_err("as Odd").kind(), io::ErrorKind::WouldBlock);
    assert!(sink.begin(BLOCK).expect("as Odd") == Start::New && sink.is_closed() && sink.after_fork());
    assert_eq!((sink.max_block(), &*sink.name()), (1_024, "odd"));
}
