//! No command tells the value of a sensitive parameter, unless it is told to.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::{DeflateDecoder, GzDecoder, ZlibDecoder};
use telemetry_decode::writer::Lane;
use telemetry_decode::{EnumValue, RawStr, Value};
use telemetry_schema::Registry;

use crate::run::{Folder, commands};
use crate::streams::{START, begun, runtime_registry};

pub(crate) const SHOP: &str = include_str!("../../../tests/registries/shop.toml");

/// Texts that only sensitive parameters have: themselves, as labels, or by numbers.
pub(crate) const TEXTS: [&str; 5] =
    ["Ada Lovelace-Quux", "Marylebone-Quux", "bank-token-Quux", "Grace Hopper-Quux", "owner-Quux"];

pub(crate) const CARD: u64 = 4_929_123_456_789_012_345;
pub(crate) const PIN: u64 = 987_654_321;
pub(crate) const ARTICLE: u64 = 777_000_111_222_333;
pub(crate) const ACCOUNT: u64 = 3_141_592_653;
pub(crate) const PLACE: u64 = 0x7f5e_c2e7_dead_b000;
pub(crate) const LATITUDE: f64 = 51.523_774_891_237;
pub(crate) const RATE: f32 = 0.387_421_1;
pub(crate) const CHANGE: i64 = -5_550_001_234_567;

/// A key of hashes.
pub(crate) const KEY: &str = "000102030405060708090a0b0c0d0e0f\n";

fn shop_registry() -> Registry {
    telemetry_schema::parse(SHOP).unwrap_or_else(|invalid| panic!("{}", invalid.render("shop.toml", SHOP)))
}

/// Makes a run of a shop, with labels.
pub(crate) fn shop() -> Vec<u8> {
    shop_of(&shop_registry(), 9)
}

/// Makes a run with this registry, which is a session of its own.
pub(crate) fn shop_of(registry: &Registry, session: u64) -> Vec<u8> {
    let (mut writer, lane) = begun(session, START, "shop", registry);
    let runtime = writer.registry(session, &runtime_registry()).unwrap();
    let labels = Lane { thread: 0, registry: runtime, ..lane };
    for (label, text) in [(1, "/books"), (2, TEXTS[1])] {
        let values = [Value::Label(label), Value::String(RawStr(text.as_bytes()))];
        writer.event(labels, 2, 10 * label, &values).unwrap();
    }
    let name = [Value::Unsigned(ACCOUNT), Value::String(RawStr(TEXTS[3].as_bytes()))];
    writer.event(lane, 4, 25, &name).unwrap();
    let (place, owner) = (Value::Pointer(PLACE), Value::String(RawStr(TEXTS[4].as_bytes())));
    writer.event(lane, 5, 30, &[place, Value::Word(64), owner]).unwrap();
    for visit in 0..3 {
        let at = 1_000 * (visit + 1);
        let number = Value::Unsigned(visit);
        let user = Value::String(RawStr(TEXTS[0].as_bytes()));
        let plan = Value::Named(EnumValue::new(2));
        let start = [number, user, Value::Label(1), Value::Label(2), plan];
        writer.event(lane, 1, at, &start).unwrap();
        let cart = [ARTICLE, 5].map(Value::Unsigned);
        let places = [LATITUDE, -0.158_5].map(Value::F64);
        let paid = [
            number,
            Value::Word(1_999),
            Value::Unsigned(CARD),
            Value::Unsigned(PIN),
            Value::Bytes(TEXTS[2].as_bytes()),
            Value::Array((&cart[..]).into()),
            Value::Array((&places[..]).into()),
            Value::F32(RATE),
            Value::Signed(CHANGE),
            Value::Bool(true),
        ];
        writer.event(lane, 3, at + 200, &paid).unwrap();
        writer.event(lane, 2, at + 700, &[number]).unwrap();
    }
    writer.end(session, 9_000).unwrap();
    writer.finish().unwrap()
}

/// Commands that read events, and the file or folder that each writes, if it does. All may have
/// `--show-sensitive`, except `scrub`.
const READERS: &[(&str, &str)] = &[
    ("print FILE", ""),
    ("print --order stream --threads 2 FILE", ""),
    ("print --json FILE", ""),
    ("print --json-strings --json FILE", ""),
    ("print --last 3 FILE", ""),
    ("print --event VisitStart FILE", ""),
    ("info FILE", ""),
    ("info --json FILE", ""),
    ("stats FILE", ""),
    ("stats --json FILE", ""),
    ("stats --by user FILE", ""),
    ("stats --by town --json FILE", ""),
    ("stats --by page --sum pin --percentiles 50,99 FILE", ""),
    ("stats --by card --sum amount FILE", ""),
    ("stats --by name FILE", ""),
    ("spans FILE", ""),
    ("spans --json FILE", ""),
    ("spans --csv FILE", ""),
    ("address 0x7f5ec2e7dead FILE", ""),
    ("address --json 0x40 FILE", ""),
    ("census FILE", ""),
    ("flame FILE", ""),
    ("flame --by user FILE", ""),
    ("flame --by event,town --weight pin FILE", ""),
    ("flame --to speedscope FILE", ""),
    ("flame --to pprof -o out.pb.gz FILE", "out.pb.gz"),
    ("leaks FILE", ""),
    ("leaks --json --by owner FILE", ""),
    ("diff FILE FILE", ""),
    ("diff --json --by user --sum pin FILE FILE", ""),
    ("report -o out.html FILE", "out.html"),
    ("report --against FILE --by user -o out.html FILE", "out.html"),
    ("validate FILE", ""),
    ("validate --json FILE", ""),
    #[cfg(feature = "sql")]
    ("sql -o out.db FILE", "out.db"),
    ("csv --event Paid FILE", ""),
    ("csv --event Intern FILE", ""),
    ("csv -d out FILE", "out"),
    #[cfg(feature = "parquet")]
    ("parquet -d out FILE", "out"),
    ("convert --to telemetry -o out.tel FILE", "out.tel"),
    ("convert --to mps -o out.log FILE", "out.log"),
    ("convert --to ghc-eventlog -o out.eventlog FILE", "out.eventlog"),
    ("convert --to mono -o out.mlpd FILE", "out.mlpd"),
    ("convert --to perfetto -o out.pftrace FILE", "out.pftrace"),
    ("convert --to chrome -o out.json.gz FILE", "out.json.gz"),
    ("convert --to chrome -o out.json FILE", "out.json"),
    ("convert --to ctf -d out FILE", "out"),
    #[cfg(feature = "arrow")]
    ("convert --to arrow -d out FILE", "out"),
    ("replay --dry-run FILE", ""),
    ("replay --json --dry-run FILE", ""),
    ("scrub -o out.tel FILE", "out.tel"),
    ("scrub --personal hash --secret hash --key-file key -o out.tel FILE", "out.tel"),
    ("scrub --personal truncate --secret truncate --keep 2 -o out.tel FILE", "out.tel"),
    #[cfg(unix)]
    ("top --once FILE", ""),
    ("cnv FILE", ""),
    ("txt FILE", ""),
    ("show FILE", ""),
];

/// Commands that never show values of events: they read registries, control processes, write
/// copies of blocks as they are, or start another program. [`crate::processes`] tests `tail`.
const OTHERS: &[&str] = &[
    "doctor",
    "query",
    "recover",
    "list",
    "control",
    "tail",
    "listen",
    "gdb",
    "ship",
    "collect",
    "lake",
    "init",
    "check",
    "release",
    "history",
    "registry",
    "c",
    "py",
    "mono-debug",
    "mono-report",
    "completions",
    "man",
    "parquet",
    "sql",
    "top",
];

/// Commands that tell a value when they may.
const SHOWING: &[&str] = &["print", "spans", "csv", "stats --json", "report", "convert --to perfetto"];

/// Reads all bytes that a command wrote to a path, unpacked.
fn bytes_at(path: &Path, out: &mut Vec<u8>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            out.extend(entry.file_name().as_encoded_bytes());
            bytes_at(&entry.path(), out);
        }
        return;
    }
    let bytes = std::fs::read(path).unwrap_or_default();
    let mut unpacked = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).unwrap();
    } else if let Some((_, data)) = std::str::from_utf8(&bytes)
        .ok()
        .and_then(|html| html.split_once("<script id=\"data\" type=\"text/plain\">"))
    {
        let packed = BASE64_STANDARD.decode(data.split_once("</script>").unwrap().0).unwrap();
        DeflateDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
    }
    for at in 0..bytes.len().saturating_sub(1) {
        // The header of zlib, in traces for Perfetto.
        if bytes[at] == 0x78 && u16::from_be_bytes([bytes[at], bytes[at + 1]]).is_multiple_of(31) {
            // What is no such data fails.
            let _ = ZlibDecoder::new(&bytes[at..]).read_to_end(&mut unpacked);
        }
    }
    out.extend(bytes);
    out.extend(unpacked);
}

/// Returns the forms in which outputs may have a number.
fn forms(number: u64, len: usize) -> Vec<Vec<u8>> {
    let mut varint = Vec::new();
    telemetry_format::put::unsigned(&mut varint, number);
    let mut leb = Vec::new();
    let mut rest = number;
    while rest > 0x7f {
        leb.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    leb.push(rest as u8);
    let (le, be) = (number.to_le_bytes(), number.to_be_bytes());
    vec![
        number.to_string().into_bytes(),
        format!("{number:x}").into_bytes(),
        format!("{number:X}").into_bytes(),
        le[..len].to_vec(),
        be[8 - len..].to_vec(),
        varint,
        leb,
    ]
}

/// Returns what a text tells of the sensitive values.
pub(crate) fn told(bytes: &[u8]) -> Vec<String> {
    let mut needles: Vec<(String, Vec<u8>)> = Vec::new();
    for text in TEXTS {
        needles.push((text.to_string(), text.into()));
        let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        needles.push((text.to_string(), hex.clone().into()));
        needles.push((text.to_string(), hex.to_uppercase().into()));
        needles.push((text.to_string(), BASE64_STANDARD.encode(text)[..12].into()));
    }
    for (number, len) in [(CARD, 8), (PIN, 4), (ARTICLE, 8), (ACCOUNT, 4), (PLACE, 8)] {
        needles.extend(forms(number, len).into_iter().map(|form| (number.to_string(), form)));
    }
    for number in [LATITUDE.to_bits(), CHANGE as u64] {
        needles.push((format!("{number:x}"), number.to_le_bytes().to_vec()));
        needles.push((format!("{number:x}"), number.to_be_bytes().to_vec()));
    }
    needles.push(("rate".to_string(), RATE.to_le_bytes().to_vec()));
    for text in
        ["51.5237", "0.38742", "5550001234567", "5,550,001,234,567", "987,654,321", "5 550 001 234 567"]
    {
        needles.push((text.to_string(), text.into()));
    }
    let has = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
    let found: BTreeSet<String> =
        needles.into_iter().filter(|(_, needle)| has(needle)).map(|(name, _)| name).collect();
    found.into_iter().collect()
}

/// Runs a command, and returns what it tells.
fn run(line: &str, file: &str) -> (Vec<String>, String) {
    let folder = Folder::new().with("in.tel", shop()).with("key", KEY);
    let run = folder.run(&line.replace("FILE", "in.tel"));
    let mut bytes = run.stdout.clone();
    bytes.extend(run.stderr.as_bytes());
    if !file.is_empty() {
        bytes_at(&folder.path(file), &mut bytes);
    }
    let text = format!("{}{}", String::from_utf8_lossy(&run.stdout), run.stderr);
    // A hidden number is none, so that it has no sum: some of these command lines are refused.
    assert!(!bytes.is_empty() && matches!(run.code, Some(0..=2)), "{line}: {:?} {text}", run.code);
    (told(&bytes), text)
}

#[test]
fn no_command_tells_a_sensitive_value() {
    for (line, file) in READERS {
        let (told, text) = run(line, file);
        assert!(told.is_empty(), "{line} tells {told:?}:\n{text}");
    }
}

/// So the search finds what there is.
#[test]
fn commands_show_sensitive_values_if_they_are_told_to() {
    for wanted in SHOWING {
        let (line, file) = READERS.iter().find(|(line, _)| line.starts_with(wanted)).unwrap();
        let (told, text) = run(&format!("{line} --show-sensitive"), file);
        assert!(!told.is_empty(), "{line} tells nothing:\n{text}");
    }
    // What `scrub` writes has no such values.
    for (line, _) in READERS.iter().filter(|(line, _)| !line.starts_with("scrub ")) {
        let name = line.split(' ').next().unwrap();
        let help = Folder::new().run(&format!("{name} --help")).stdout;
        assert!(String::from_utf8(help).unwrap().contains("--show-sensitive"), "{name}");
    }
}

#[test]
fn every_command_is_tested() {
    let readers = READERS.iter().map(|(line, _)| line.split(' ').next().unwrap());
    let tested: BTreeSet<&str> = readers.chain(OTHERS.iter().copied()).collect();
    for command in commands(&Folder::new()) {
        assert!(tested.contains(&*command), "`{command}` is in no table of this file");
    }
}

#[test]
fn streams_are_scrubbed() {
    let mut damaged = shop();
    let place = damaged.windows(8).rposition(|bytes| bytes == b"TELEMETR").unwrap_or(damaged.len() - 150);
    damaged[place - 40] ^= 1;
    let folder = Folder::new()
        .with("shop.tel", shop())
        .with("damaged.tel", damaged)
        .with("key", KEY)
        .with("short", "0001")
        .with("letters", "x".repeat(32))
        .with("noise", "no stream");
    folder.check(
        "scrub",
        &[
            "scrub shop.tel -o dropped.tel",
            "print dropped.tel",
            "validate dropped.tel",
            "scrub --personal hash --secret truncate --keep 8 --key-file key shop.tel -o hashed.tel",
            "print hashed.tel",
            "print --where user==\"\" dropped.tel shop.tel",
            "stats --by town hashed.tel",
            "scrub --personal hash shop.tel -o none.tel",
            "scrub --personal hash --key-file short shop.tel -o none.tel",
            "scrub --personal hash --key-file letters shop.tel -o none.tel",
            "scrub --personal hash --key-file missing shop.tel -o none.tel",
            "scrub noise -o none.tel",
            "scrub --show-sensitive shop.tel -o none.tel",
            "scrub shop.tel -o shop.tel",
            "scrub damaged.tel -o kept.tel",
            "validate kept.tel",
            "scrub hashed.tel -o twice.tel",
            "info twice.tel",
        ],
    );
    assert!(!folder.path("none.tel").exists());
}

#[test]
fn what_is_hidden() {
    let folder = Folder::new().with("shop.tel", shop()).with("shop.toml", SHOP);
    folder.check(
        "sensitive",
        &[
            "print shop.tel",
            "print --json --event Paid --limit 1 shop.tel",
            "print --event Registered --event Paid --limit 2 --show-sensitive shop.tel",
            "stats --json --event VisitStart shop.tel",
            "spans shop.tel",
            "csv --event Paid shop.tel",
            "cnv shop.tel",
            "stats --by town shop.tel",
            "stats --by page --sum pin shop.tel",
            "print --where card==4929123456789012345 shop.tel",
            "print --where user~Ada shop.tel",
            "print --where amount>card shop.tel",
            "spans --where pin>5 shop.tel",
            "print --where card==4929123456789012345 --show-sensitive --limit 1 shop.tel",
            "convert --to telemetry -o out.tel shop.tel",
            "convert --to telemetry -o out.tel --show-sensitive shop.tel",
            "registry --toml shop shop.tel",
        ],
    );
}
