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
use telemetry_schema::{Param, Registry, Sort};
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
params = [{ name = "why", sort = "Why", doc = "why" }, { name = "age", sort = "u32", doc = "how old" }, { name = "cause", sort = "label", doc = "who caused it" }]

[[span]]
name = "Request"
begin = "RequestBegin"
end = "RequestEnd"
key = "request"
doc = "A request"
"#;

/// The strings of the labels of `cause`, from 1 on.
const CAUSES: [&str; 4] = ["the clock", "a request", "the operator", "another host"];

/// The values of `age` in the version that has texts.
const AGES: [&str; 3] = ["new", "old", "ancient"];

/// Nearly three minutes before midnight in UTC. A stream takes five minutes.
const LATE: u64 = START + 6_400_000_000_000 - 170_000_000_000;

fn main() {
    let root = PathBuf::from(std::env::args().nth(1).expect("usage: inputs DIR"));
    let one = |session, lose| stream(session, REGISTRY, lose, START);
    case(&root, "one", &[("h1", one(1, false))], 1);
    // Hosts that look like numbers, of which two are equal.
    let hosts = [("12", one(11, false)), ("7", one(12, false)), ("0012", one(1 << 63, false))];
    case(&root, "hosts", &hosts, 1);
    // The segments of a session are in the folders of two days.
    let lossy = [("h1", stream(21, REGISTRY, true, LATE)), ("h2", one(22, true))];
    case(&root, "lossy", &lossy, 1);
    let mut damaged = one(31, false);
    for block in blocks(&damaged).into_iter().skip(9).step_by(7) {
        damaged[block.end - 1] ^= 1;
    }
    case(&root, "damaged", &[("h1", damaged)], 1);
    case(&root, "resent", &[("h1", one(41, true)), ("h2", one(42, false))], 3);
    let [later, changed, major] = versions().map(|text| move |session| stream(session, &text, false, START));
    // The host of the second major version also has the first, because a query lists the hosts of
    // its table.
    let mixed = [
        ("h1", one(51, false)),
        ("h2", later(52)),
        ("h3", one(53, false)),
        ("h4", changed(54)),
        ("h3", major(55)),
    ];
    case(&root, "mixed", &mixed, 1);
}

/// Returns later versions of the registry: with a further parameter, with a parameter of another
/// type, and with another major version.
fn versions() -> [String; 3] {
    let age = "{ name = \"age\", sort = \"u32\", doc = \"how old\" }";
    let place = ", { name = \"place\", sort = \"u64\", doc = \"where\" }";
    let text = "{ name = \"age\", sort = \"string\", max = 20, doc = \"how old\" }";
    let flag = "{ name = \"age\", sort = \"bool\", doc = \"whether it is old\" }";
    let with = |version, new: &str| REGISTRY.replace("1.0.0", version).replace(age, new);
    [with("1.1.0", &format!("{age}{place}")), with("1.2.0", text), with("2.0.0", flag)]
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
fn stream(session: u64, text: &str, lose: bool, start: u64) -> Vec<u8> {
    let parsed = telemetry_schema::parse(text).expect("it is valid");
    let mut random = Random(session);
    let mut writer = Writer::new(Vec::new()).block_size(2000);
    let mut facts = Facts::default();
    facts.set("clock", "os");
    facts.set("program", format!("program{}", session % 2));
    writer.session(session, &facts, 0, start).unwrap();
    let registry = writer.registry(session, &parsed).unwrap();
    let own = telemetry_decode::names::runtime_registry().expect("it is valid");
    let labels = Lane { session, thread: 0, registry: writer.registry(session, &own).unwrap() };
    for (number, text) in (1..).zip(CAUSES) {
        // The event `Intern`.
        writer.event(labels, 2, 0, &[Value::Label(number), Value::String(text.into())]).unwrap();
    }
    // So the first segment has the strings.
    writer.sync(session, 0).unwrap();
    let mut now = 0;
    for request in 0..2000_u64 {
        let lane = Lane { session, thread: 1 + (request % 4) as u32, registry };
        now += random.below(200_000_000);
        writer.event(lane, 1, now, &[Value::Unsigned(request)]).unwrap();
        if random.below(3) == 0 {
            writer.event(lane, 3, now, &evicted(&parsed, &mut random)).unwrap();
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

/// The values of `Evicted` in a version of the registry.
fn evicted(registry: &Registry, random: &mut Random) -> Vec<Value<'static>> {
    let event = registry.events.iter().find(|event| event.name == "Evicted").expect("all versions have it");
    let value = |param: &Param| match (param.name.as_str(), param.sort) {
        ("why", _) => Value::Named(EnumValue::new(1 + i128::from(random.below(9).min(2)))),
        ("age", Sort::String) => Value::String(AGES[random.below(3) as usize].into()),
        ("age", Sort::Bool) => Value::Bool(random.below(3) == 0),
        ("age", _) => Value::Unsigned(random.below(1000)),
        ("cause", _) => Value::Label(1 + random.below(7).min(3)),
        _ => Value::Unsigned(random.bits()),
    };
    event.params.iter().map(value).collect()
}
