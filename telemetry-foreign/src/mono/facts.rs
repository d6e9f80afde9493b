//! The facts of a log about its run and its threads, as facts of a session; and back.

use telemetry_decode::{AddressName, Facts, Labels, Session};

use super::decode::Item;
use super::header::FileHead;
use super::layout::Version;

/// The format's name in session facts.
pub(super) const FORMAT: &str = "mono-log";

/// The texts of a file header of version 17.
const TEXTS: [&str; 3] = ["arguments", "architecture", "system"];

/// Returns the facts of a session. Without a header, only the format is known.
pub(super) fn session(head: Option<&FileHead>, program: Option<&str>) -> Facts {
    let mut facts = Facts::default();
    if let Some(program) = program {
        facts.set("program", program);
    }
    facts.set("clock", "os");
    facts.set("format", FORMAT);
    let (key, value) = Session::NO_END_MARK;
    facts.set(key, value);
    let Some(head) = head else { return facts };
    facts.set("data_version", i64::from(head.version.stamp().data));
    facts.set("log_version", format!("{}.{}", head.major, head.minor));
    if head.pid != 0 {
        facts.set("pid", i64::from(head.pid));
    }
    facts.set("pointer_size", i64::from(head.pointer_size));
    set_number(&mut facts, "start_ms", head.start_ms);
    facts.set("timer_overhead_ns", i64::from(head.overhead_ns));
    if head.flags != 0 {
        facts.set("flags", i64::from(head.flags));
    }
    if head.port != 0 {
        facts.set("port", i64::from(head.port));
    }
    for (key, text) in TEXTS.into_iter().zip(&head.texts) {
        if !text.is_empty() {
            facts.set(key, String::from_utf8_lossy(text).into_owned());
        }
    }
    facts
}

/// Returns the header of data version 1 for a session.
pub(super) fn file_head(facts: &Facts) -> FileHead {
    let stamp = Version::One.stamp();
    let is_mono = facts.text("format") == Some(FORMAT);
    let number = |key: &str| number(facts, key).filter(|_| is_mono).unwrap_or_default();
    let log_version = facts.text("log_version").filter(|_| is_mono && number("data_version") == 1);
    let numbers = log_version.and_then(|text| text.split_once('.'));
    let (major, minor) = numbers
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
        .unwrap_or((stamp.major, stamp.minor));
    FileHead {
        version: Version::One,
        major,
        minor,
        pointer_size: u8::try_from(number("pointer_size")).ok().filter(|size| *size != 0).unwrap_or(8),
        start_ms: number("start_ms"),
        start_ns: 0,
        overhead_ns: number("timer_overhead_ns") as u32,
        flags: number("flags") as u32,
        pid: facts.number("pid").unwrap_or_default() as u32,
        port: number("port") as u32,
        texts: Default::default(),
    }
}

/// Returns the fact of a thread: the result of pthread_self in it.
pub(super) fn thread(id: u64, labels: &Labels) -> Facts {
    let mut facts = Facts::default();
    set_number(&mut facts, "tid", id);
    if let Some(name) = labels.name_of_pointer(id, u64::MAX).and_then(AddressName::text) {
        facts.set("name", name);
    }
    facts
}

/// Returns the result of pthread_self in a thread. Without that fact, it is the session's number
/// for the thread.
pub(super) fn thread_id(facts: Option<&Facts>, thread: u32) -> u64 {
    facts.and_then(|facts| number(facts, "tid")).unwrap_or(thread.into())
}

/// Returns the name of the program: the image that is not a library.
pub(super) fn program(item: &Item<'_>) -> Option<String> {
    let path = String::from_utf8_lossy(item.text(item.entry.name?.into())).into_owned();
    let file = path.rsplit(['/', '\\']).next()?;
    Some(file.strip_suffix(".exe")?.to_string())
}

/// Sets a number of 64 bits. TOML has 63, so the largest are text.
fn set_number(facts: &mut Facts, key: &str, number: u64) {
    match i64::try_from(number) {
        Ok(number) => facts.set(key, number),
        Err(_) => facts.set(key, format!("{number:#x}")),
    }
}

fn number(facts: &Facts, key: &str) -> Option<u64> {
    let text = || u64::from_str_radix(facts.text(key)?.strip_prefix("0x")?, 16).ok();
    facts.number(key).or_else(text)
}
