//! Recordings that are large, odd, or made to do harm: the page stays small, and no text in them
//! becomes markup.

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, RawStr, Value};

use super::Page;
use crate::streams::{START, begun, gc_registry};

const EVIL: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}\u{1b}[31m\u{0}";

#[test]
fn no_text_becomes_markup() {
    let mut facts = Facts::default();
    for key in ["program", "host", "args", "os"] {
        facts.set(key, EVIL);
    }
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &facts, 0, START).unwrap();
    let registry = writer.registry(1, &gc_registry()).unwrap();
    let mut thread = Facts::default();
    thread.set("name", EVIL);
    writer.thread(1, 1, &thread).unwrap();
    let lane = Lane { session: 1, thread: 1, registry };
    writer.event(lane, 0xffff, 5, &[Value::String(RawStr(EVIL.as_bytes()))]).unwrap();
    writer.event(lane, 0xffff, 6, &[Value::String(RawStr(b"\xff\xfe</script>"))]).unwrap();
    let page = Page::of(&writer.finish().unwrap());
    let frame = page.frame();
    for wrong in ["<script", "<img", "\u{202e}", "\u{1b}", "\u{0}"] {
        assert!(!frame.contains(wrong), "{wrong:?} in {frame}");
    }
    // The document has the texts as they are.
    assert_eq!(page.document["threads"][0]["name"], EVIL);
    assert_eq!(page.document["sample"][0]["rows"][0][2], EVIL);
}

#[test]
fn a_recording_without_events_says_so() {
    let (mut writer, _) = begun(1, START, "quiet", &gc_registry());
    writer.end(1, 5_000).unwrap();
    let page = Page::of(&writer.finish().unwrap());
    assert_eq!(page.document["stats"]["count"], 0);
    assert!(page.frame().contains("complete: 0 events"), "{}", page.frame());
}

#[test]
fn a_long_value_is_cut() {
    let (mut writer, lane) = begun(1, START, "long", &gc_registry());
    let text = "é".repeat(500);
    writer.event(lane, 0xffff, 5, &[Value::String(RawStr(text.as_bytes()))]).unwrap();
    let page = Page::of(&writer.finish().unwrap());
    let value = page.document["sample"][0]["rows"][0][2].as_str().unwrap();
    assert!(value.starts_with("éé") && value.ends_with("… (1000 bytes)"), "{value}");
    assert!(value.len() < 300, "{}", value.len());
}

#[test]
fn many_threads_share_a_lane_beyond_the_first_thousand() {
    const THREADS: u32 = 10_000;
    let (mut writer, lane) = begun(1, START, "threads", &gc_registry());
    for thread in 1..=THREADS {
        let lane = Lane { thread, ..lane };
        for time in [0, 1_000_000] {
            writer.event(lane, 0x101, u64::from(thread) + time, &[]).unwrap();
        }
    }
    let page = Page::of(&writer.finish().unwrap());
    let threads = page.document["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 1001);
    let others = threads.last().unwrap();
    assert_eq!((others["others"].as_u64(), others["events"].as_u64()), (Some(9000), Some(18_000)));
    assert_eq!(page.document["stats"]["count"], 20_000);
}

/// Begins without ends, ends without begins, and far more spans than fit on the page.
#[test]
fn many_spans_are_reduced() {
    let registry = telemetry_schema::parse(crate::spans::REGISTRY).unwrap();
    let (mut writer, lane) = begun(1, START, "spans", &registry);
    let (begin, end) = (crate::spans::PHASE_BEGIN, crate::spans::PHASE_END);
    let mut time = 0;
    for number in 0..150_000_u64 {
        time += 10;
        writer.event(lane, begin, time, &[Value::Unsigned(1)]).unwrap();
        // Every thousandth never ends.
        if number % 1000 != 0 {
            time += number % 977;
            writer.event(lane, end, time, &[]).unwrap();
        }
    }
    let page = Page::of(&writer.finish().unwrap());
    let lane = &page.document["lanes"][0];
    let kept = lane["spans"]["begin"].as_array().unwrap().len();
    assert_eq!(lane["total"], 149_850);
    assert!((30_000..=60_000).contains(&kept), "{kept}");
    assert!(lane["complete_from"].as_u64().unwrap() > 500, "{}", lane["complete_from"]);
    assert_eq!(page.document["paired"]["spans"][0]["begins_without_end"], 150);
}

#[test]
fn a_damaged_recording_says_so_at_the_top() {
    let mut stream = crate::streams::gc();
    let at = stream.len() / 2;
    stream[at] ^= 1;
    let page = Page::of(&stream);
    assert_eq!(page.run.code, Some(1), "{}", page.run.stderr);
    assert!(page.frame().contains("class=\"incomplete\""), "{}", page.frame());
    assert!(page.frame().contains("are damaged"), "{}", page.frame());
}

#[test]
fn memory_that_is_never_freed_is_left() {
    let stream = crate::replay::growing(50_000);
    let page = Page::of(&stream);
    let memory = &page.document["memory"];
    let left =
        memory["classes"].as_array().unwrap().iter().map(|class| class["left_blocks"].as_u64().unwrap());
    assert_eq!(left.sum::<u64>(), 50_000);
    assert!(memory["groups"].as_array().unwrap().len() <= 101);
}

/// Each label is a text that occurs once.
#[test]
fn many_labels_leave_the_page_small() {
    const LABELS: u64 = 200_000;
    let registry = "\
        [registry]\nname = \"labels\"\nversion = \"1.0.0\"\ndoc = \"Labels\"\n\
        [kinds]\nName = { bit = 0, doc = \"names\" }\n\
        [[event]]\nname = \"Named\"\ncode = 1\nkind = \"Name\"\ndoc = \"Something with a name\"\n\
        params = [{ name = \"label\", sort = \"label\", doc = \"its name\" }]\n";
    let (mut writer, lane) = begun(1, START, "labels", &telemetry_schema::parse(registry).unwrap());
    let runtime = writer.registry(1, &crate::streams::runtime_registry()).unwrap();
    for number in 1..=LABELS {
        let text = format!("a label with the number {number}");
        let values = [Value::Label(number), Value::String(RawStr(text.as_bytes()))];
        writer.event(Lane { thread: 0, registry: runtime, ..lane }, 2, number, &values).unwrap();
        writer.event(lane, 1, number, &[Value::Label(number)]).unwrap();
    }
    let page = Page::of(&writer.finish().unwrap());
    assert_eq!(page.document["stats"]["count"], 2 * LABELS);
    let labels = page.document["sample"].as_array().unwrap().last().unwrap();
    let first = labels["rows"][0][2].as_str().unwrap();
    assert!(first.contains("a label with the number 1"), "{first}");
}
