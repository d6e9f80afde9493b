//! The last blocks, in memory; and anything that can be written to.

use std::io::{self, Write};

use super::{BLOCK, block, seqs, write, write_blocks};
use crate::sink::{Blocks, Sink};
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
        assert!(memory.bytes().len() <= most);
    }
    let kept = seqs(&memory.bytes());
    assert!(kept.len() * BLOCK > most / 2, "{}", kept.len());
    assert!(kept.is_sorted() && kept.last() == Some(&999), "{kept:?}");
    // Facts come where `begin` says so, thus in front.
    assert!(begins.contains(&kept[0]), "{begins:?} {kept:?}");
    assert_eq!(kept.len() as u32, 1_000 - kept[0]);
}

#[test]
fn a_write_longer_than_the_limit_is_kept_alone() {
    let memory = Memory::new(0);
    let mut sink = memory.clone();
    for seq in [1, 2, 3] {
        assert!(write_blocks(&mut sink, &[block(seq, 200_000)]).expect("memory"));
        assert_eq!(seqs(&memory.bytes()), [seq]);
    }
}

#[test]
fn a_child_begins_anew() {
    let memory = Memory::new(0);
    let mut sink = memory.clone();
    write(&mut sink, [1]).expect("memory");
    assert!(sink.in_child());
    assert!(write(&mut sink, [2]).expect("memory"));
    assert_eq!(seqs(&memory.bytes()), [2]);
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

/// A box of a sink is the sink, in all that it says.
#[test]
fn a_box_is_what_is_in_it() {
    struct Odd;
    impl Sink for Odd {
        fn write(&mut self, _: &Blocks<'_>) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn begin(&mut self, bytes: usize) -> io::Result<bool> {
            Ok(bytes == BLOCK)
        }
        fn max_block(&self) -> usize {
            1_024
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::WouldBlock.into())
        }
        fn is_gone(&self) -> bool {
            true
        }
        fn in_child(&mut self) -> bool {
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
    assert!(sink.begin(BLOCK).expect("as Odd") && sink.is_gone() && sink.in_child());
    assert_eq!((sink.max_block(), &*sink.name()), (1_024, "odd"));
}
