//! Streams without the values of sensitive parameters: everything else is as before.

use proptest::prelude::*;
use telemetry_decode::scrub::{Method, Scrub};
use telemetry_decode::writer::{Compress, Lane, Writer};
use telemetry_decode::{Completeness, Facts, RawStr, Reader, Session, Value};
use telemetry_format::{BlockType, Loss, flags};
use telemetry_schema::{Registry, Sensitive, Sort};

use crate::made::{Made, Plan, START, blocks, edit, header, make, registry};
use crate::read::{LaneKey, Read, Way, assert_same, read};

/// Returns a registry of every type, in which every second parameter is sensitive.
fn sensitive() -> Registry {
    let mut registry = registry();
    let params = registry.events.iter_mut().flat_map(|event| &mut event.params);
    for (at, param) in params.enumerate().filter(|(at, param)| at % 2 == 0 && param.role.is_none()) {
        param.sensitive = Some(Sensitive::ALL[at / 2 % 2]);
    }
    registry.spans.clear();
    registry
}

fn how(personal: Method, secret: Method) -> Scrub {
    let mut how = Scrub::default();
    (how.personal, how.secret, how.key) = (personal, secret, [7; 16]);
    how
}

fn scrub(stream: &[u8], how: &Scrub) -> Vec<u8> {
    let mut out = Vec::new();
    Reader::from_slice(stream).scrub(how, &mut out).unwrap();
    out
}

/// A lane, and its read events, losses, missing and excluded events.
type LaneAccount = (LaneKey, u64, Loss, u64, u64);

/// Returns an account without the places of blocks.
fn account(completeness: &Completeness) -> (u64, Vec<LaneAccount>, Vec<(u64, bool)>) {
    let lanes = completeness.lanes.iter().map(|lane| {
        let key = (lane.session, lane.thread, lane.registry, lane.kind);
        (key, lane.read, lane.lost, lane.missing, lane.excluded)
    });
    let mut lanes: Vec<_> = lanes.collect();
    lanes.sort_by_key(|(key, ..)| *key);
    (completeness.events, lanes, completeness.sessions.clone())
}

/// Compares a stream with what it was, and returns the events of both.
#[track_caller]
fn check(registry: &Registry, stream: &[u8], how: &Scrub) -> (Vec<Read>, Vec<Read>) {
    let scrubbed = scrub(stream, how);
    let (before, whole) = read(Way::MemoryByTime, stream);
    let hide = |events: &[Read]| -> Vec<Read> {
        let hidden = |event: &Read| {
            let mut event = event.clone();
            let params = &registry.event(event.code).unwrap().params;
            for (value, param) in event.values.iter_mut().zip(params) {
                if param.sensitive.is_some() {
                    value.clear();
                }
            }
            event
        };
        events.iter().map(hidden).collect()
    };
    let mut after = Vec::new();
    for way in [Way::MemoryByTime, Way::FileByTime, Way::PipeByTime] {
        let (events, completeness) = read(way, &scrubbed);
        assert_same(&hide(&events), &hide(&before), &format!("{way:?}, {how:?}"));
        assert_eq!(account(&completeness), account(&whole), "{way:?}, {how:?}");
        assert_eq!(
            completeness.damaged_ranges + completeness.undecodable_parts,
            0,
            "{way:?}: {completeness}"
        );
        after = events;
    }
    let sessions = Reader::from_slice(&scrubbed).index().unwrap().sessions;
    let text = format!("personal {}, secret {}", how.personal.name(), how.secret.name());
    assert!(sessions.iter().all(|session| session.facts.text(Session::SCRUBBED) == Some(&*text)));
    (before, after)
}

fn methods() -> impl Strategy<Value = Method> {
    prop::sample::select(Method::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn everything_else_is_as_before(
        (seed, sessions, compress) in (any::<u64>(), 1..3_u64, any::<bool>()),
        (personal, secret) in (methods(), methods()),
    ) {
        let registry = sensitive();
        let plan = Plan { seed, sessions, compress, events: 120, lose: 15, end: seed.is_multiple_of(2), ..Plan::default() };
        let Made { stream, .. } = make(&registry, &plan);
        let how = how(personal, secret);
        let (before, after) = check(&registry, &stream, &how);
        for (before, after) in before.iter().zip(&after) {
            let params = &registry.event(before.code).unwrap().params;
            for ((param, before), after) in params.iter().zip(&before.values).zip(&after.values) {
                let Some(sensitive) = param.sensitive else { continue };
                let method = if sensitive == Sensitive::Personal { personal } else { secret };
                let is_zero = ["(0)", "(0x0)", "(false)", "(00000000)", "(0000000000000000)", "(RawStr([]))", "([])"];
                let is_list = after.starts_with('[');
                prop_assert!(
                    method != Method::Drop || is_list || is_zero.iter().any(|zero| after.ends_with(zero)),
                    "{}: {before} became {after}",
                    param.name
                );
            }
        }
    }

    /// What is kept is exact, and the rest is missing as it was.
    #[test]
    fn damage_stays_accounted(seed in any::<u64>(), place in any::<prop::sample::Index>(), cut in any::<bool>()) {
        let registry = sensitive();
        let mut stream = make(&registry, &Plan { seed, events: 150, ..Plan::default() }).stream;
        let at = place.index(stream.len());
        if cut { stream.truncate(at) } else { stream[at] ^= 0x55 }
        let scrubbed = scrub(&stream, &how(Method::Hash, Method::Drop));
        let (before, found) = read(Way::MemoryByTime, &stream);
        let (after, kept) = read(Way::MemoryByTime, &scrubbed);
        let place = |event: &Read| (event.lane(), event.code, event.ticks);
        // A registry or session that is damaged leaves nothing that could be read.
        prop_assert_eq!(before.iter().map(place).collect::<Vec<_>>(), after.iter().map(place).collect::<Vec<_>>());
        prop_assert_eq!(found.missing(), kept.missing(), "{} {}", found, kept);
        prop_assert_eq!(found.lost(), kept.lost());
    }
}

#[test]
fn equal_values_have_equal_hashes() {
    let registry = sensitive();
    let stream = make(&registry, &Plan { events: 400, ..Plan::default() }).stream;
    let (before, after) = check(&registry, &stream, &how(Method::Hash, Method::Hash));
    let mut hashes = std::collections::HashMap::new();
    let mut replaced = 0;
    for (before, after) in before.iter().zip(&after) {
        let params = &registry.event(before.code).unwrap().params;
        for ((param, before), after) in params.iter().zip(&before.values).zip(&after.values) {
            if param.sensitive.is_some() && param.sort != Sort::Label {
                let hash = hashes.entry((registry.sort_text(param), before.clone())).or_insert(after.clone());
                assert_eq!(hash, after, "{}: {before}", param.name);
                replaced += usize::from(before != after);
            }
        }
    }
    assert!(replaced > 500, "{replaced} values differ");
    let mut other = how(Method::Hash, Method::Hash);
    other.key = [8; 16];
    assert_ne!(scrub(&stream, &how(Method::Hash, Method::Hash)), scrub(&stream, &other), "another key");
}

const LABELS: &str = r#"
    [registry]
    name = "towns"
    version = "1.0.0"
    doc = "d"
    [kinds]
    Visit = { bit = 0, doc = "d" }
    [[event]]
    name = "Visited"
    code = 1
    kind = "Visit"
    doc = "d"
    params = [
      { name = "page", sort = "label", doc = "d" },
      { name = "town", sort = "label", sensitive = "personal", doc = "d" },
      { name = "others", sort = "[label]", max = 4, sensitive = "secret", doc = "d" },
    ]"#;

/// Strings of labels are replaced if a sensitive parameter stands for them, or if no event says
/// what they stand for.
#[test]
fn labels_are_replaced() {
    let registry = telemetry_schema::parse(LABELS).unwrap();
    let mut writer = Writer::new(Vec::new()).compress(Compress::All);
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let own = writer.registry(1, &telemetry_decode::names::runtime_registry().unwrap()).unwrap();
    let registry = writer.registry(1, &registry).unwrap();
    let lane = |thread, registry| Lane { session: 1, thread, registry };
    for (label, text) in [(1, "page one"), (2, "Ely"), (3, "Wells"), (4, "Bath")] {
        let values = [Value::Label(label), Value::String(RawStr::from(text))];
        writer.event(lane(0, own), 2, label, &values).unwrap();
    }
    let others = [Value::Label(3)];
    let values = [Value::Label(1), Value::Label(2), Value::Array((&others[..]).into())];
    writer.event(lane(1, registry), 1, 10, &values).unwrap();
    writer.end(1, 20).unwrap();
    let stream = writer.finish().unwrap();
    for (personal, secret, expected) in [
        (Method::Truncate, Method::Drop, ["page one", "El", "", ""]),
        (Method::Drop, Method::Truncate, ["page one", "", "We", "Ba"]),
        (
            Method::Hash,
            Method::Hash,
            ["page one", "3ee6d51ae2d81f65", "dd24e9b626a03d99", "d748aef213c0d46e"],
        ),
    ] {
        let mut how = how(personal, secret);
        how.keep = 2;
        let scrubbed = scrub(&stream, &how);
        let mut events = Reader::from_slice(&scrubbed).events().unwrap();
        let mut found = Vec::new();
        while let Some(event) = events.next().unwrap() {
            if event.name() == "Intern" {
                found.push(event.value(1).unwrap().to_string());
            }
        }
        assert_eq!(found, expected);
    }
}

/// A stream whose sessions are all scrubbed has nothing to hide.
#[test]
fn what_is_scrubbed_is_not_hidden_again() {
    let registry = sensitive();
    let stream = make(&registry, &Plan::default()).stream;
    let scrubbed = scrub(&stream, &how(Method::Hash, Method::Hash));
    let names = |stream: &[u8]| -> Vec<bool> {
        [Reader::from_slice(stream), Reader::from_reader(stream).order(telemetry_decode::Order::Stream)]
            .map(|reader| {
                let mut events = reader.events().unwrap();
                let mut hides = false;
                while let Some(event) = events.next().unwrap() {
                    hides |= event.params().any(|param| param.value.to_string().contains("<personal>"));
                }
                hides
            })
            .to_vec()
    };
    assert_eq!(names(&stream), [true, true]);
    assert_eq!(names(&scrubbed), [false, false]);
    // The same with a session that is not scrubbed.
    let other = make(&registry, &Plan { seed: 5, sessions: 2, ..Plan::default() }).stream;
    let mixed: Vec<u8> = [&scrubbed[..], &other].concat();
    assert_eq!(names(&mixed), [true, true]);
    // The same session again, as it was. A pipe gives the events that come first.
    assert_eq!(names(&[&scrubbed[..], &stream].concat()), [true, false]);
    assert_eq!(names(&[&stream[..], &scrubbed].concat()), [true, true]);
    assert!(blocks(&scrubbed).len() >= blocks(&stream).len());
}

/// Returns what readers that hide show of the parameter `user` of all events.
fn users(stream: &[u8]) -> Vec<String> {
    let mut events = Reader::from_slice(stream).events().unwrap();
    let mut users = Vec::new();
    while let Some(event) = events.next().unwrap() {
        users.extend(
            event.params().find(|param| param.schema.name == "user").map(|param| param.value.to_string()),
        );
    }
    users
}

pub(crate) fn logins(mark: &str) -> Registry {
    let text = format!(
        r#"
        [registry]
        name = "logins"
        version = "1.0.0"
        doc = "d"
        [kinds]
        User = {{ bit = 0, doc = "d" }}
        [[event]]
        name = "Login"
        code = 1
        kind = "User"
        doc = "d"
        params = [{{ name = "user", sort = "string", max = 64{mark}, doc = "d" }}]
        "#
    );
    telemetry_schema::parse(&text).unwrap()
}

/// A stream with one event of a session.
fn login(id: u64, registry: &Registry, facts: &Facts) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    writer.session(id, facts, 0, START).unwrap();
    let registry = writer.registry(id, registry).unwrap();
    let user = [Value::String(RawStr::from("Ada"))];
    writer.event(Lane { session: id, thread: 1, registry }, 1, 10, &user).unwrap();
    writer.end(id, 20).unwrap();
    writer.finish().unwrap()
}

/// Registries that differ in marks alone have one fingerprint. The stricter mark counts.
#[test]
fn the_stricter_of_two_marks_counts() {
    let registries = ["", ", sensitive = \"personal\"", ", sensitive = \"secret\""].map(logins);
    let streams: Vec<Vec<u8>> =
        (1..).zip(&registries).map(|(id, registry)| login(id, registry, &Facts::default())).collect();
    let check = |order: &[usize], expected: &str| {
        let stream: Vec<u8> = order.iter().flat_map(|at| &streams[*at]).copied().collect();
        assert_eq!(users(&stream), vec![expected; order.len()], "{order:?}");
        // Scrubbed as strictly.
        if expected != "Ada" {
            let scrubbed = scrub(&stream, &how(Method::Drop, Method::Drop));
            assert!(!scrubbed.windows(3).any(|window| window == b"Ada"), "{order:?}");
        }
    };
    check(&[0], "Ada");
    check(&[0, 1], "<personal>");
    check(&[1, 0], "<personal>");
    check(&[0, 2, 1], "<secret>");
    check(&[1, 2], "<secret>");
    // A registry from the caller counts, too.
    let reader = Reader::from_slice(&streams[0]).registry(registries[2].clone());
    let mut events = reader.events().unwrap();
    assert_eq!(events.next().unwrap().unwrap().value(0).unwrap().to_string(), "<secret>");
}

/// A block that is left out still states its events, and whether a shipper shed them. Its pair of
/// clock readings is of one moment, so the rate of the clock stays.
#[test]
fn what_is_left_out_is_stated() {
    const MILLION: u64 = 1_000_000;
    let mut facts = Facts::default();
    facts.set("clock", "tsc");
    facts.set("ticks_per_second", 2_000_000_000_i64);
    let stream = login(1, &logins(""), &facts);
    for (of_block, expected) in [(0, 0), (flags::LAST, 0), (flags::LAST | flags::SHED, flags::SHED)] {
        let mut unknown = Vec::new();
        for block in blocks(&stream) {
            let mut block = stream[block].to_vec();
            match header(&block).block_type {
                BlockType::Registry => continue,
                BlockType::Events => edit(&mut block, |header| {
                    header.flags = of_block;
                    (header.base_ticks, header.base_wall) = (6 * MILLION, START + 3 * MILLION);
                    header.end_ticks = 10 * MILLION;
                }),
                _ => {}
            }
            unknown.extend(block);
        }
        let scrubbed = scrub(&unknown, &how(Method::Drop, Method::Drop));
        let headers = blocks(&scrubbed).into_iter().map(|block| header(&scrubbed[block]));
        let of_events = headers.filter(|header| header.block_type == BlockType::Events);
        let left: Vec<_> = of_events.map(|header| (header.events, header.before, header.flags)).collect();
        assert_eq!(left, [(0, 1, expected)]);
        for stream in [&unknown, &scrubbed] {
            let clock = Reader::from_slice(stream).index().unwrap().sessions[0].clock;
            assert_eq!(clock.ns(10 * MILLION), 5 * MILLION as i64);
        }
    }
}

/// The text of a scrubbed session may be longer than a block.
#[test]
fn long_sessions_that_are_scrubbed_are_not_hidden() {
    let registry = logins(", sensitive = \"personal\"");
    let scrubbed = scrub(&login(1, &registry, &Facts::default()), &how(Method::Hash, Method::Hash));
    let parts = |stream: &[u8], keeps_last: bool| -> Vec<u8> {
        let mut out = Vec::new();
        for block in blocks(stream) {
            let bytes = &stream[block.clone()];
            let header = telemetry_format::Header::decode(bytes, crc32c::crc32c).unwrap();
            if header.block_type != telemetry_format::BlockType::Session {
                out.extend_from_slice(bytes);
                continue;
            }
            let (first, last) = (&b"length = 1\n"[..], &bytes[usize::from(header.header_len)..]);
            let part = |payload: &[u8], offset: u32, flags: u8| {
                let header = telemetry_format::Header {
                    offset,
                    flags,
                    payload_len: payload.len() as u32,
                    unpacked_len: payload.len() as u32,
                    payload_crc: crc32c::crc32c(payload),
                    ..header.clone()
                };
                [&header.encode(crc32c::crc32c)[..], payload].concat()
            };
            out.extend(part(first, 0, 0));
            if keeps_last {
                out.extend(part(last, first.len() as u32, telemetry_format::flags::LAST));
            }
        }
        out
    };
    let shown = users(&scrubbed);
    assert!(shown[0] != "<personal>", "{shown:?}");
    let in_parts = parts(&scrubbed, true);
    assert_eq!(users(&in_parts), shown);
    assert_eq!(users(&in_parts.repeat(20))[0], shown[0]);
    // Without the last part, nothing says that it is scrubbed.
    assert_eq!(users(&parts(&scrubbed, false)), ["<personal>"]);
}

/// What tells a string for a number is as sensitive as the strictest parameter with such a number.
#[test]
fn marks_follow_from_others() {
    let registry = |mark: &str| {
        let text = format!(
            r#"
            [registry]
            name = "shop"
            version = "1.0.0"
            doc = "A shop"
            [kinds]
            Use = {{ bit = 0, doc = "use" }}
            [[event]]
            name = "Bought"
            code = 1
            kind = "Use"
            doc = "Something was bought"
            params = [{{ name = "user", sort = "u32", numbers = "users"{mark}, doc = "who" }}]
            [[event]]
            name = "Renewed"
            code = 2
            kind = "Use"
            doc = "A user has another number"
            params = [
              {{ name = "user", sort = "u32", numbers = "users", sensitive = "personal", doc = "who" }},
            ]
            [[event]]
            name = "UserName"
            code = 3
            kind = "Use"
            doc = "A user has a name"
            params = [
              {{ name = "id", sort = "u32", numbers = "users", doc = "who" }},
              {{ name = "name", sort = "string", names = "id", doc = "the name" }},
            ]
            "#
        );
        telemetry_schema::parse(&text).unwrap_or_else(|wrong| panic!("{}", wrong.render("shop", &text)))
    };
    for (mark, strictest) in [("", Sensitive::Personal), (r#", sensitive = "secret""#, Sensitive::Secret)] {
        let registry = registry(mark);
        assert_eq!(registry.sensitive_labels(), None);
        let hidden = registry.hidden();
        assert_eq!(hidden.hidden_as(&hidden.events[2].params[1]), Some(strictest));
    }
}
