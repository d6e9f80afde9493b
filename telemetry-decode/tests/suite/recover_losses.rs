//! Parts that only state losses, beside copies of the block with their number.

use telemetry_decode::Facts;
use telemetry_decode::writer::{Lane, Writer};
use telemetry_format::{HEADER_LEN, Header};

use crate::made::{START, edit, header, registry};
use crate::recover::{live, read_whole, recover, split};

/// A part that only states losses: its seq, offset and time, the number of events before it, and
/// the losses because the pool was full.
type Stated = (u32, u32, u64, u64, u64);

fn stated(block: &[u8]) -> Stated {
    let Header { seq, offset, base_ticks, before, lost, .. } = header(block);
    (seq, offset, base_ticks, before, lost.pool)
}

/// Makes such a part of the lane that has a block.
fn only_losses(block: &[u8], (seq, offset, ticks, before, pool): Stated) -> Vec<u8> {
    let mut part = block[..HEADER_LEN].to_vec();
    edit(&mut part, |header| {
        (header.seq, header.offset, header.before, header.lost.pool) = (seq, offset, before, pool);
        (header.base_ticks, header.end_ticks) = (ticks, ticks);
        (header.flags, header.events, header.payload_len, header.unpacked_len) = (0, 0, 0, 0);
    });
    part
}

/// Makes a stream of one lane with two blocks of two events: in parts, or whole.
fn two_blocks(are_parts: bool) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let lane = Lane { session: 1, thread: 4, registry: writer.registry(1, &registry()).unwrap() };
    for ticks in [10, 40] {
        writer.event(lane, 1, ticks, &[]).unwrap();
        if are_parts {
            writer.flush().unwrap();
        }
        writer.event(lane, 1, ticks + 5, &[]).unwrap();
        writer.sync(1, ticks + 10).unwrap();
    }
    writer.finish().unwrap()
}

/// A stream has the first block, and memory the second, which is open. The stream may state losses
/// with the number of the second block, and the time when it did.
#[test]
fn losses_with_the_number_of_a_block_do_not_hide_its_events() {
    let (parts, wholes) = (two_blocks(true), two_blocks(false));
    let ((of_parts, _), (of_wholes, facts)) = (split(&parts), split(&wholes));
    let [first, second] = of_wholes[..] else { panic!("expected two blocks, found {}", of_wholes.len()) };
    let memory = live(second, (header(second).payload_len, 2), 0);
    let check = |others: &[&[u8]], states: &[Stated]| {
        let context = format!("{} others, {states:?}", others.len());
        let states_bytes: Vec<u8> = states.iter().flat_map(|stated| only_losses(first, *stated)).collect();
        let image = [facts.concat(), first.to_vec(), states_bytes, others.concat(), memory.clone()].concat();
        let (stream, recovered) = recover(&image);
        assert!(recovered.refused.is_empty(), "{context}: {:?}", recovered.refused);
        let ticks: Vec<_> = read_whole(&stream).iter().map(|event| event.ticks).collect();
        assert_eq!(ticks, [10, 15, 40, 45], "{context}");
        // Each loss keeps its time, and none of them is the block that the thread was writing.
        let (written, _) = split(&stream);
        let written = written.into_iter().filter(|block| header(block).events == 0);
        assert_eq!(written.map(stated).collect::<Vec<_>>(), states, "{context}");
        assert_eq!(recovered.lost.pool, states.iter().map(|stated| stated.4).max().unwrap(), "{context}");
        let [thread] = &recovered.threads[..] else { panic!("{context}: {:?}", recovered.threads) };
        let last = recovered.last_event(thread).map(|event| event.ticks());
        assert_eq!((thread.open.len(), thread.open[0].events, last), (1, 2, Some(45)), "{context}");
        // Another copy of them adds nothing.
        assert_eq!(recover(&[&stream[..], &image].concat()).0, stream, "{context}");
        assert_eq!(recover(&stream).0, stream, "{context}");
    };
    // Before the block was opened, once and twice.
    check(&[], &[(1, 0, 30, 2, 3)]);
    check(&[], &[(1, 0, 30, 2, 3), (1, 0, 35, 2, 4)]);
    // Two at the same time.
    check(&[], &[(1, 0, 30, 2, 3), (1, 0, 30, 3, 4)]);
    check(&[], &[(1, 0, 30, 2, 3), (1, 0, 30, 2, 4)]);
    // After its first event, which the sink was not meant to get, or which it has.
    check(&[], &[(1, 2, 42, 3, 3)]);
    check(&of_parts[2..3], &[(1, 0, 30, 2, 3), (1, 2, 42, 3, 4)]);
    // At the time when the block was opened, as the reference writer does.
    check(&of_parts[2..3], &[(1, 2, 40, 3, 3)]);
}
