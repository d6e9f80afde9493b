//! What a backlog knows about the blocks that its writer has not taken.

use std::io::{self, ErrorKind, Write};

use super::{BLOCK, PAYLOAD, block};
use crate::sinks::backlog::Backlog;
use crate::sinks::sink::Batch;

/// A reader that takes some bytes and is gone then.
#[derive(Debug)]
struct Takes(usize);

impl Write for Takes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 { Err(ErrorKind::BrokenPipe.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn send(backlog: &mut Backlog<Takes>, blocks: usize) -> io::Result<()> {
    let blocks: Vec<_> = (0..blocks as u32).map(|seq| block(seq, PAYLOAD)).collect();
    let blocks: Vec<[&[u8]; 2]> =
        blocks.iter().map(|[header, payload]| [&header[..], &payload[..]]).collect();
    backlog.send(&Batch { blocks: &blocks })
}

/// A reader takes some bytes of blocks that waited for it, or of new ones. Those that it has in
/// full are sent, and the next call reports that it is gone.
#[test]
fn a_reader_that_is_gone_has_what_it_took() {
    let check = |bytes: usize, has_waited: bool| {
        let mut backlog = Backlog::new(None, usize::MAX);
        let reader = Some(Takes(bytes));
        let first = if has_waited {
            send(&mut backlog, 1).and_then(|()| send(&mut backlog, 2)).expect("room");
            assert_eq!(backlog.unsent(), 3);
            backlog.out = reader;
            backlog.flush()
        } else {
            backlog.out = reader;
            send(&mut backlog, 3)
        };
        let unsent = 3 - bytes / BLOCK;
        if bytes == 0 {
            assert_eq!(first.expect_err("no reader").kind(), ErrorKind::BrokenPipe);
            // New blocks are not taken.
            assert_eq!(backlog.unsent(), if has_waited { 3 } else { 0 });
            return;
        }
        assert_eq!(backlog.unsent(), unsent, "{bytes}");
        let second = backlog.flush().err().map(|error| error.kind());
        assert_eq!(second, (unsent > 0).then_some(ErrorKind::BrokenPipe), "{bytes}");
        assert_eq!((backlog.clear(), backlog.forgotten(), backlog.forgotten()), (unsent as u64, unsent, 0));
        assert_eq!(backlog.unsent(), 0);
    };
    for bytes in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK - 1, 3 * BLOCK] {
        check(bytes, false);
        check(bytes, true);
    }
}
