//! Broken streams: Python gives the same events and the same verdict as Rust.

use telemetry_decode::Order;
use telemetry_format::flags;

use crate::dump::{Compared, dump};
use crate::made::{
    Plan, Random, blocks, edit, header, late_loss, make, of_two_sinks, registry, withheld, withheld_parts,
};

fn lossy(seed: u64) -> Vec<u8> {
    let plan = Plan { seed, sessions: 2, events: 60, lose: 7, flush: 4, ..Plan::default() };
    make(&registry(), &plan).stream
}

#[test]
fn cut_streams() {
    let registry = registry();
    let mut compared = Compared::new(&registry);
    let stream = lossy(3);
    let borders = blocks(&stream).into_iter().flat_map(|block| [block.start, block.start + 3, block.end - 1]);
    for cut in borders {
        compared.check(&stream[..cut], &format!("cut at {cut}"));
        compared.check(&stream[cut..], &format!("cut before {cut}"));
    }
    compared.check(b"some text", "no stream");
}

#[test]
fn flipped_bits_and_missing_blocks() {
    let registry = registry();
    let mut compared = Compared::new(&registry);
    let stream = lossy(5);
    let mut random = Random(1);
    for case in 0..60 {
        let mut broken = stream.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(stream.len() as u64) as usize;
            broken[at] ^= 1 << random.below(8);
        }
        compared.check(&broken, &format!("bits, case {case}"));
        let kept = blocks(&stream).into_iter().filter(|_| random.below(6) > 0);
        let kept: Vec<u8> = kept.flat_map(|block| stream[block].to_vec()).collect();
        compared.check(&kept, &format!("blocks, case {case}"));
        let twice = [&kept[..], &stream].concat();
        compared.check(&twice, &format!("repeated, case {case}"));
    }
}

/// Blocks whose checksums are right and whose contents are not: what a program would never write.
#[test]
fn wrong_contents() {
    let registry = registry();
    let mut compared = Compared::new(&registry);
    let stream = lossy(9);
    let all = blocks(&stream);
    let mut random = Random(7);
    for case in 0..120 {
        let mut broken = stream.clone();
        let block = all[random.below(all.len() as u64) as usize].clone();
        let start = block.start + usize::from(header(&stream[block.clone()]).header_len);
        if block.end > start {
            let at = start + random.below((block.end - start) as u64) as usize;
            broken[at] ^= 1 << random.below(8);
        }
        let number = random.bits();
        edit(&mut broken[block], |header| match case % 12 {
            0 => header.events = header.events.wrapping_add(number as u32 % 3).wrapping_sub(1),
            1 => header.kind = number as u8 % 70,
            2 => header.codec = 1,
            3 => header.offset = header.offset.wrapping_add(1),
            4 => header.seq ^= 1,
            5 => header.flags ^= flags::LAST,
            6 => header.before ^= number % 4,
            7 => header.registry ^= 1,
            8 => header.excluded = number % 50,
            _ => {}
        });
        compared.check(&broken, &format!("case {case}"));
    }
}

/// A block states more as excluded than there can be since the block before it.
#[test]
fn excluded_events_do_not_hide_missing_ones() {
    let (registry, stream) = (registry(), withheld(".x.ex."));
    let verdict = dump(&registry, Order::Stream, &stream, false).join("\n");
    assert!(verdict.contains("missing: 4 events of") && verdict.contains("excluded: 2 events"), "{verdict}");
    let mut compared = Compared::new(&registry);
    compared.check(&stream, "excluded");
    for letters in [".x.wx.", "www...", "xxwwww", "wxwxwx", "wwwwww"] {
        compared.check(&withheld(letters), letters);
        let parts = [withheld_parts(letters), withheld_parts("......")];
        compared.check(&parts[0], letters);
        compared.check(&parts.concat(), letters);
        compared.check(&[&parts[1][..], &parts[0]].concat(), letters);
    }
    compared.check(&late_loss(), "a loss that is stated late");
}

/// Streams of one session state sums of their own.
#[test]
fn streams_of_one_session() {
    let registry = registry();
    let mut compared = Compared::new(&registry);
    for (lost, missing) in [([0, 0], None), ([5, 0], Some("missing: 5 ")), ([0, 7], Some("missing: 7 "))] {
        let both = of_two_sinks(lost);
        for stream in [both[0].clone(), both.concat(), [&both[1][..], &both[0]].concat()] {
            let verdict = dump(&registry, Order::Stream, &stream, false).join("\n");
            assert_eq!(verdict.contains("missing: "), missing.is_some(), "{verdict}");
            assert!(verdict.contains(missing.unwrap_or_default()), "{verdict}");
            compared.check(&stream, &format!("{lost:?} lost"));
        }
    }
}

/// Streams whose registry has an impossible parameter: both readers do not understand its block.
#[test]
fn alignments_that_cannot_be() {
    let registry = registry();
    let mut compared = Compared::new(&registry);
    for (sort, align) in [("pointer", 24), ("pointer", 1 << 31), ("u32", 8), ("[word; 3]", 8), ("[addr]", 8)]
    {
        let mut wrong = registry.clone();
        let mut params = wrong.events.iter_mut().flat_map(|event| &mut event.params);
        let param = params.find(|param| registry.sort_text(param) == sort).unwrap();
        param.align = align;
        let (context, stream) = (format!("`{sort}` with {align}"), make(&wrong, &Plan::default()).stream);
        let verdict = dump(&registry, Order::Stream, &stream, false);
        assert!(
            verdict.iter().any(|line| line.contains("not understood: 1 block")),
            "{context}: {verdict:?}"
        );
        compared.check(&stream, &context);
    }
}
