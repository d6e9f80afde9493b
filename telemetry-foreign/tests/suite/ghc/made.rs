//! Logs made byte by byte, without the code under test.

use telemetry_testing::eventlog::header;

/// A log under construction.
pub(super) struct Log {
    bytes: Vec<u8>,
    /// Sizes by tag.
    sizes: Vec<(u16, u16)>,
    block: Option<usize>,
}

/// The size of types whose events have their own size.
pub(super) const VARIABLE: u16 = 0xffff;
/// The capability of events without one.
pub(super) const NONE: u16 = 0xffff;

impl Log {
    /// Makes a log that declares types: tag, size, description.
    pub(super) fn new(types: &[(u16, u16, &str)]) -> Log {
        let bytes = header(types.iter().copied());
        let sizes = types.iter().map(|(tag, size, _)| (*tag, *size)).collect();
        Log { bytes, sizes, block: None }
    }

    /// Appends an event.
    pub(super) fn event(mut self, tag: u16, time: u64, payload: &[u8]) -> Log {
        let size = self.sizes.iter().rev().find(|(declared, _)| *declared == tag).map(|(_, size)| *size);
        self.bytes.extend(tag.to_be_bytes());
        self.bytes.extend(time.to_be_bytes());
        if size == Some(VARIABLE) {
            self.bytes.extend((payload.len() as u16).to_be_bytes());
        }
        self.bytes.extend(payload);
        self
    }

    /// Begins a block; the one before it is complete.
    pub(super) fn block(mut self, time: u64, end_time: u64, cap: u16) -> Log {
        self.complete();
        self.block = Some(self.bytes.len());
        let payload = [&[0; 4][..], &end_time.to_be_bytes(), &cap.to_be_bytes()].concat();
        self.event(18, time, &payload)
    }

    fn complete(&mut self) {
        if let Some(at) = self.block.take() {
            let size = (self.bytes.len() - at) as u32;
            self.bytes[at + 10..at + 14].copy_from_slice(&size.to_be_bytes());
        }
    }

    /// Returns the log without its end mark, with its last block complete.
    pub(super) fn cut(mut self) -> Vec<u8> {
        self.complete();
        self.bytes
    }

    /// Returns the log with its end mark.
    pub(super) fn end(self) -> Vec<u8> {
        [self.cut(), vec![0xff, 0xff]].concat()
    }
}

/// The types of a small log.
const SMALL: &[(u16, u16, &str)] = &[
    (0, 4, "Create thread"),
    (1, 4, "Run thread"),
    (2, 10, "Stop thread"),
    (9, 0, "Starting GC"),
    (10, 0, "Finished GC"),
    (18, 14, "Block marker"),
    (19, VARIABLE, "User message"),
    (25, 6, "Create capability set"),
    (164, VARIABLE, "Heap profile string sample"),
];

/// Makes a log of two capabilities, and events without one, in three blocks that overlap in time.
pub(super) fn small() -> Log {
    Log::new(SMALL)
        .block(100, 900, 0)
        .event(0, 200, &[0, 0, 0, 7])
        .event(1, 300, &[0, 0, 0, 7])
        .event(19, 400, "hé".as_bytes())
        .event(2, 800, &[0, 0, 0, 7, 0, 2, 0, 0, 0, 42])
        .block(110, 950, 1)
        .event(9, 500, &[])
        .event(10, 600, &[])
        .block(90, 960, NONE)
        .event(25, 150, &[0, 0, 0, 1, 0, 2])
        .event(164, 700, b"\x01\0\0\0\0\0\0\x01\0list\0")
}

/// The text that is shown for it.
pub(super) const SMALL_SHOWN: &str = "\
Event Types:
0: Create thread (size 4)
1: Run thread (size 4)
2: Stop thread (size 10)
9: Starting GC (size 0)
10: Finished GC (size 0)
18: Block marker (size 14)
19: User message (size variable)
25: Create capability set (size 6)
164: Heap profile string sample (size variable)

Events:
90: event block: cap 65535, end time: 960

100: cap 0: event block: cap 0, end time: 900

110: cap 1: event block: cap 1, end time: 950

150: created capset 1 of type CapsetOsProcess
200: cap 0: creating thread 7
300: cap 0: running thread 7
400: cap 0: hé
500: cap 1: starting GC
600: cap 1: finished GC
700: heap prof sample 1, residency 256, label list
800: cap 0: stopping thread 7 (stack overflow, size 42)

";

/// Makes a log with an event of every type in the registry.
pub(super) fn every_type() -> Log {
    let mut types = Vec::new();
    let mut events: Vec<(u16, Vec<u8>)> = Vec::new();
    for event in &telemetry_foreign::ghc::registry().events {
        let tag = event.code;
        if tag == 0xffff {
            continue;
        }
        // Written by hand for each field, from the description of the format.
        let payload: Vec<u8> = match tag {
            0 | 1 | 3 | 5 | 15 | 26 | 201 => vec![0, 0, 1, tag as u8],
            2 => vec![0, 0, 0, 9, 0, 8, 0, 0, 0, 4],
            4 | 6 | 8 | 27 | 28 => vec![0, 0, 0, 9, 0, 1],
            17 | 39 | 45..=48 | 206 => vec![0, 3],
            18 => continue,
            25 => vec![0, 0, 0, 9, 0, 3],
            16 | 19 | 23 | 24 | 58 => format!("text of {tag}").into_bytes(),
            29 | 44 | 140 => b"\0\0\0\x05a name".to_vec(),
            30 | 31 => b"\0\0\0\x05./prog\0-x\0\0".to_vec(),
            32 | 33 | 208 => vec![0, 0, 0, 1, 0, 0, 7, 0],
            34 => (1..=7).flat_map(|n: u64| n.to_be_bytes()).collect(),
            42 => b"interned\0\0\0\x07".to_vec(),
            43 => b"\0\0\0\x01\0\0\0\0\x60\0\0\0\0\0\0\x09".to_vec(),
            49..=51 | 91 => b"\0\0\0\0\0\0\0\0\0\x10\0\0".to_vec(),
            52 => [&[0, 0, 0, 0, 0, 2][..], &[0, 0, 0, 0, 0, 1, 0, 0].repeat(4)].concat(),
            53 => {
                let numbers = [1, 2, 3].map(|n: u64| n.to_be_bytes()).concat();
                let more = [5, 6, 7].map(|n: u64| n.to_be_bytes()).concat();
                [&[0, 0, 0, 0, 0, 1][..], &numbers, &[0, 0, 0, 4], &more].concat()
            }
            55 => b"\0\0\x7f\0\0\0\x10\0\0\x01\0\0\0\0\0\0\x12\x34".to_vec(),
            56 => b"\0\0\x7f\0\0\0\x10\0\0\x01\0\0".to_vec(),
            57 => b"\0\0\x7f\0\0\0\x10\0".to_vec(),
            90 => [1, 2, 3, 4].map(|n: u32| n.to_be_bytes()).concat(),
            141 => b"\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x63".to_vec(),
            142 => b"\0\0\0\x01\0\0\0\0\0\0\0\x02".to_vec(),
            160 => b"\x01\0\0\0\0\0\0\0\x05\0\0\0\x07mods\0\0\0cc\0\0\0\0".to_vec(),
            161 => b"\0\0\0\x05label\0Main\0Main.hs:1\0\x01".to_vec(),
            162 | 165 | 168 => b"\0\0\0\0\0\0\0\x03".to_vec(),
            163 => b"\x01\0\0\0\0\0\0\0\x20\x02\0\0\0\x05\0\0\0\x06".to_vec(),
            164 => b"\x01\0\0\0\0\0\0\0\x20THUNK\0".to_vec(),
            166 => b"\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\x01\0".to_vec(),
            167 => b"\0\0\0\x01\0\0\0\0\0\0\0\x09\x01\0\0\0\x05".to_vec(),
            169 => b"\0\0\0\0\0\x40\x12\x34table\x003\0Int\0f\0Main\0Main.hs:2\0".to_vec(),
            181 => b"a\xff\0z".to_vec(),
            207 => b"\0\x40\0\0\0\x01\0\0\0\x02\0\0\0\x03".to_vec(),
            210 => b"\0\0\0\0\0\0\0\x01\0\x02ii\0f\0\0\0\0\0\0\x40\0\x10{}\0".to_vec(),
            211 => (1..=4).flat_map(|n: u64| n.to_be_bytes()).collect(),
            _ => Vec::new(),
        };
        let is_variable = matches!(
            tag,
            16 | 19
                | 23
                | 24
                | 29
                | 30
                | 31
                | 42
                | 44
                | 58
                | 140
                | 160
                | 161
                | 163
                | 164
                | 167
                | 169
                | 181
                | 210
        );
        let size = if is_variable { VARIABLE } else { payload.len() as u16 };
        types.push((tag, size, format!("type {tag}")));
        events.push((tag, payload));
    }
    types.push((18, 14, "Block marker".to_string()));
    let types: Vec<(u16, u16, &str)> =
        types.iter().map(|(tag, size, description)| (*tag, *size, description.as_str())).collect();
    let log = Log::new(&types).block(1, 5000, 3);
    events
        .iter()
        .enumerate()
        .fold(log, |log, (number, (tag, payload))| log.event(*tag, 10 + number as u64, payload))
}

/// Makes a log of types that are unknown, longer, shorter, of another form, or declared twice.
pub(super) fn odd_types() -> Log {
    Log::new(&[
        (18, 14, "Block marker"),
        (1, 4, "Run thread"),
        (777, VARIABLE, "A type, of its own"),
        (778, 3, "another\ttype"),
        (779, 1, ""),
        // Longer than known: the rest is skipped.
        (3, 9, "Thread runnable"),
        // Shorter than known.
        (4, 5, "Migrate thread"),
        // Each event has its own size, where all should have one.
        (8, VARIABLE, "Wakeup thread"),
        // As older writers declare them.
        (2, 6, "Stop thread"),
        (53, 50, "GC statistics"),
        (207, 13, "Nonmoving heap census"),
        (210, VARIABLE, "Ticky counter definition"),
        (19, 7, "User message"),
        (19, VARIABLE, "User message again"),
    ])
    .block(1, 100, 65_534)
    .event(1, 10, &[0, 0, 0, 1])
    .event(777, 11, b"what\0ever")
    .event(778, 12, b"abc")
    .event(779, 13, b"x")
    .event(3, 14, &[0, 0, 0, 1, 0, 0, 0, 0, 0])
    .event(4, 15, &[0, 0, 0, 1, 2])
    .event(8, 16, &[0, 0, 0, 1, 0, 2])
    .event(2, 17, &[0, 0, 0, 1, 0, 2])
    .event(53, 18, &[0; 50])
    .event(207, 19, b"\x04\0\0\0\x01\0\0\0\x02\0\0\0\x03")
    .event(19, 21, b"message")
}

/// The text that is shown for their events.
pub(super) const ODD_SHOWN: &str = "
Events:
1: cap 65534: event block: cap 65534, end time: 100

10: cap 65534: running thread 1
11: cap 65534: A type, of its own
12: cap 65534: another\ttype
13: cap 65534: \n\
14: cap 65534: thread 1 is runnable
15: cap 65534: Migrate thread
16: cap 65534: Wakeup thread
17: cap 65534: stopping thread 1 (stack overflow)
18: cap 65534: GC stats for heap capset 0: generation 0, 0 bytes copied, 0 bytes slop, 0 bytes fragmentation, 0 par threads, 0 bytes max par copied, 0 bytes total par copied
19: cap 65534: nonmoving heap census 16: 1 active segments, 2 filled segments, 3 live blocks
21: cap 65534: message

";
