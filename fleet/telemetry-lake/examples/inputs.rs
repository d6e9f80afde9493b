//! Makes streams and their segments for the comparison of engines: `inputs DIR`.
//!
//! For each case there are streams in `DIR/CASE/streams`, and the same streams as segments in
//! `DIR/CASE/store`.

use std::path::{Path, PathBuf};

use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{EnumValue, Facts, Value};
use telemetry_fleet::segment::Cutter;
use telemetry_format::Loss;
use telemetry_testing::made::{Random, START, blocks};

const REGISTRY: &str = r#"
[registry]
name = "app"
version = "1.0.0"
doc = "Requests"

[kinds]
Request = { bit = 0, doc = "requests" }
Cache = { bit = 1, doc = "the cache" }

[types.Why]
repr = "u8"
values = { Full = 1, Expired = 2, Asked = 3 }

[[event]]
name = "RequestBegin"
code = 1
kind = "Request"
doc = "A request began"
params = [{ name = "request", sort = "u64", doc = "its number" }]

[[event]]
name = "RequestEnd"
code = 2
kind = "Request"
doc = "A request ended"
params = [{ name = "request", sort = "u64", doc = "its number" }, { name = "size", sort = "word", doc = "bytes" }]

[[event]]
name = "Evicted"
code = 3
kind = "Cache"
doc = "An entry was evicted"
params = [{ name = "why", sort = "Why", doc = "why" }, { name = "age", sort = "u32", doc = "how old" }]

[[span]]
name = "Request"
begin = "RequestBegin"
end = "RequestEnd"
key = "request"
doc = "A request"
"#;

fn main() {
    let root = PathBuf::from(std::env::args().nth(1).expect("usage: inputs DIR"));
    let later = REGISTRY.replace("1.0.0", "1.1.0").replace(
        "{ name = \"age\", sort = \"u32\", doc = \"how old\" }",
        "{ name = \"age\", sort = \"u32\", doc = \"how old\" }, { name = \"place\", sort = \"u64\", doc = \"where\" }",
    );
    let one = |session, lose| stream(session, REGISTRY, lose);
    case(&root, "one", &[("h1", one(1, false))], 1);
    // Hosts that look like numbers, of which two are equal.
    let hosts = [("12", one(11, false)), ("7", one(12, false)), ("0012", one(1 << 63, false))];
    case(&root, "hosts", &hosts, 1);
    case(&root, "lossy", &[("h1", one(21, true)), ("h2", one(22, true))], 1);
    let mut damaged = one(31, false);
    for block in blocks(&damaged).into_iter().skip(9).step_by(7) {
        damaged[block.end - 1] ^= 1;
    }
    case(&root, "damaged", &[("h1", damaged)], 1);
    case(&root, "resent", &[("h1", one(41, true)), ("h2", one(42, false))], 3);
    let mixed = [("h1", one(51, false)), ("h2", stream(52, &later, false)), ("h3", one(53, false))];
    case(&root, "mixed", &mixed, 1);
}

fn case(root: &Path, name: &str, streams: &[(&str, Vec<u8>)], cuts: u64) {
    let folder = root.join(name);
    std::fs::create_dir_all(folder.join("streams")).unwrap();
    for (number, (host, stream)) in streams.iter().enumerate() {
        std::fs::write(folder.join(format!("streams/{number}.tel")), stream).unwrap();
        for cut in 1..=cuts {
            ship(&folder.join("store"), host, stream, 20_000 * cut);
        }
    }
}

fn ship(store: &Path, host: &str, stream: &[u8], max_len: u64) {
    let open = store.join("open");
    std::fs::create_dir_all(&open).unwrap();
    let mut cutter = Cutter::new(&open, host.parse().unwrap(), max_len);
    let (mut blocks, mut segments) = (Blocks::from_slice(stream), Vec::new());
    while let Some(piece) = blocks.next().unwrap() {
        if let Piece::Block(block) = piece {
            segments.extend(cutter.push(&block).unwrap());
        }
    }
    segments.extend(cutter.finish().unwrap());
    for segment in segments {
        let place = store.join(segment.name.to_string());
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::rename(&segment.path, place).unwrap();
    }
    let _ = std::fs::remove_dir(open);
}

/// A stream of one session: requests of four threads in some minutes.
fn stream(session: u64, text: &str, lose: bool) -> Vec<u8> {
    let registry = telemetry_schema::parse(text).expect("it is valid");
    let has_place = text.contains("\"place\"");
    let mut random = Random(session);
    let mut writer = Writer::new(Vec::new()).block_size(2000);
    let mut facts = Facts::default();
    facts.set("clock", "os");
    facts.set("program", format!("program{}", session % 2));
    writer.session(session, &facts, 0, START).unwrap();
    let registry = writer.registry(session, &registry).unwrap();
    let mut now = 0;
    for request in 0..2000_u64 {
        let lane = Lane { session, thread: 1 + (request % 4) as u32, registry };
        now += random.below(200_000_000);
        writer.event(lane, 1, now, &[Value::Unsigned(request)]).unwrap();
        if random.below(3) == 0 {
            let mut values = vec![
                Value::Named(EnumValue::new(1 + i128::from(random.below(9).min(2)))),
                Value::Unsigned(random.below(1000)),
            ];
            if has_place {
                values.push(Value::Unsigned(random.bits()));
            }
            writer.event(lane, 3, now, &values).unwrap();
        }
        now += random.below(100_000_000);
        writer.event(lane, 2, now, &[Value::Unsigned(request), Value::Word(random.below(1 << 40))]).unwrap();
        if lose && random.below(50) == 0 {
            let loss = Loss { pool: random.below(9), sink: 1 + random.below(3), ..Loss::default() };
            writer.lose(lane, 0, loss).unwrap();
        }
    }
    writer.end(session, now + 1).unwrap();
    writer.finish().unwrap()
}
