//! The worked example of docs/format.md. The writer makes it, this draws it byte by byte, and
//! compares the text.

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, RawStr, Value};
use telemetry_format::{BlockType, Cursor, HEADER_LEN};

use crate::made::{blocks, header};
use crate::read::{Way, read};

const REGISTRY: &str = r#"
[registry]
name = "demo"
version = { major = 1, median = 0, minor = 0 }
doc = "A pool of memory"
[kinds]
Pool = { bit = 1, doc = "per pool" }
[[event]]
name = "PoolGrow"
code = 0x0102
kind = "Pool"
doc = "A pool got memory"
params = [
  { name = "pool", sort = "pointer", doc = "which pool" },
  { name = "size", sort = "word", unit = "bytes", doc = "its size now" },
  { name = "fill", sort = "f32", doc = "how full it was" },
  { name = "why", sort = "string", doc = "what for" },
]
"#;

fn stream() -> Vec<u8> {
    let registry = telemetry_schema::parse(REGISTRY).unwrap();
    let mut facts = Facts::default();
    facts.set("program", "demo");
    facts.set("clock", "os");
    facts.set("ticks_per_second", 1_000_000_000_i64);
    let mut writer = Writer::new(Vec::new());
    writer.session(0x5e55_1011, &facts, 5_000, 1_700_000_000_000_000_000).unwrap();
    let lane =
        Lane { session: 0x5e55_1011, thread: 1, registry: writer.registry(0x5e55_1011, &registry).unwrap() };
    let mut thread = Facts::default();
    thread.set("name", "main");
    writer.thread(lane.session, lane.thread, &thread).unwrap();
    for (ticks, size, fill, why) in [(5_250, 65_536, 0.0, "start"), (6_000, 61_440, 0.75, "é")] {
        let values = [
            Value::Pointer(0x7f00_1000),
            Value::Word(size),
            Value::F32(fill),
            Value::String(RawStr::from(why)),
        ];
        writer.event(lane, 0x0102, ticks, &values).unwrap();
    }
    writer.end(lane.session, 7_000).unwrap();
    writer.finish().unwrap()
}

/// The bytes of a stream, each line with its meaning.
struct Drawing<'a> {
    stream: &'a [u8],
    at: usize,
    text: String,
}

impl Drawing<'_> {
    /// Draws the next bytes.
    fn line(&mut self, len: usize, what: impl std::fmt::Display) {
        let bytes = &self.stream[self.at..self.at + len];
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let line = format!("{:04x}  {:24}  {what}", self.at, hex.join(" "));
        self.text += line.trim_end();
        self.text.push('\n');
        self.at += len;
    }

    fn header(&mut self, name: &str) {
        let head = header(&self.stream[self.at..]);
        self.text += &format!("{}{name} block\n", if self.at == 0 { "" } else { "\n" });
        self.line(8, "magic");
        self.line(4, format!("version 1, type {}, header of {HEADER_LEN} bytes", head.block_type.code()));
        let flags = ["", ", LAST", ", END"][usize::from(head.flags)];
        self.line(4, format!("kind {}{flags}, codec 0", head.kind));
        self.line(8, format!("payload of {} bytes, {} events", head.payload_len, head.events));
        self.line(8, "session");
        self.line(8, "registry");
        self.line(8, format!("thread {}, seq {}", head.thread, head.seq));
        self.line(8, format!("offset {}, {} bytes unpacked", head.offset, head.unpacked_len));
        self.line(8, format!("base_ticks {}", head.base_ticks));
        self.line(8, format!("base_wall {}", head.base_wall));
        self.line(8, format!("end_ticks {}", head.end_ticks));
        self.line(8, format!("before {}", head.before));
        for cause in ["pool", "reentrant", "sink", "truncated"] {
            self.line(8, format!("lost: {cause}"));
        }
        self.line(8, format!("excluded {}", head.excluded));
        self.line(8, "");
        self.line(8, "payload_crc, header_crc");
    }

    /// Draws a payload of text.
    fn text(&mut self, end: usize) {
        while self.at < end {
            let len = (end - self.at).min(8);
            let shown =
                |byte: &u8| if byte.is_ascii_graphic() || *byte == b' ' { char::from(*byte) } else { '.' };
            let shown: String = self.stream[self.at..self.at + len].iter().map(shown).collect();
            self.line(len, shown);
        }
    }

    fn events(&mut self, end: usize) {
        let (mut pool, mut size) = (0, 0);
        while self.at < end {
            let stream = self.stream;
            let mut cursor = Cursor::new(&stream[self.at..end]);
            let mut left = cursor.rest().len();
            let mut line = |drawing: &mut Self, cursor: &Cursor, what: String| {
                drawing.line(left - cursor.rest().len(), what);
                left = cursor.rest().len();
            };
            let code = cursor.unsigned().unwrap();
            line(self, &cursor, format!("code {code:#06x}: PoolGrow"));
            let ticks = cursor.unsigned().unwrap();
            line(self, &cursor, format!("{ticks} ticks since the last"));
            for (name, slot) in [("pool", &mut pool), ("size", &mut size)] {
                let before = *slot;
                let value = cursor.delta(slot).unwrap();
                let distance = value.wrapping_sub(before) as i64;
                line(self, &cursor, format!("{name}: {distance:+} from {before:#x} is {value:#x}"));
            }
            let fill = cursor.f32().unwrap();
            line(self, &cursor, format!("fill: {fill:?}"));
            let why = cursor.str().unwrap();
            line(self, &cursor, format!("why: {} bytes, {why:?}", why.len()));
        }
    }
}

fn draw(stream: &[u8]) -> String {
    let mut drawing = Drawing { stream, at: 0, text: String::new() };
    for block in blocks(stream) {
        match header(&stream[block.clone()]).block_type {
            BlockType::Session => drawing.header("session"),
            BlockType::Registry => drawing.header("registry"),
            BlockType::Thread => drawing.header("thread"),
            BlockType::Sync => drawing.header("sync"),
            _ => {
                drawing.header("events");
                drawing.events(block.end);
            }
        }
        drawing.text(block.end);
    }
    drawing.text
}

#[test]
fn document() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/format.md");
    let text = std::fs::read_to_string(path).unwrap();
    let start = "<!-- the test `document` writes what follows -->\n```text\n";
    let (before, rest) = text.split_once(start).expect("docs/format.md has a place for the example");
    let (found, behind) = rest.split_once("```").expect("the example ends");
    let expected = draw(&stream());
    if std::env::var_os("UPDATE_DOCUMENT").is_some() {
        std::fs::write(path, format!("{before}{start}{expected}```{behind}")).unwrap();
        return;
    }
    assert!(
        found == expected,
        "docs/format.md differs; run the test with UPDATE_DOCUMENT=1 and look at the change"
    );
}

/// Reading the example gives its events.
#[test]
fn the_example_is_read() {
    for way in Way::ALL {
        let (events, completeness) = read(way, &stream());
        let shown: Vec<String> =
            events.iter().map(|event| format!("{} {}", event.ticks, event.values.join(" "))).collect();
        assert_eq!(
            shown,
            [
                "5250 Pointer(2130710528) Word(65536) F32(00000000) String(RawStr([115, 116, 97, 114, 116]))",
                "6000 Pointer(2130710528) Word(61440) F32(3f400000) String(RawStr([195, 169]))",
            ]
        );
        assert!(completeness.is_complete());
    }
}
