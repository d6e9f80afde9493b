//! The account of each lane after a schedule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_fleet::segment::SegmentName;
use telemetry_format::{Header, flags};

use crate::chaos::hosts::{Account, Host, OwnLane, Recorded, Started, headers, lane_of};
use crate::chaos::losses::Losses;
use crate::chaos::world::World;
use crate::lakes::{Found, Lane, LaneKey, Row, events_of, files_of};
use crate::rows::rows;

/// What all lanes have in sum, to see that schedules show something.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums {
    pub(crate) rows: u64,
    /// Lost in programs.
    pub(crate) lost: u64,
    pub(crate) excluded: u64,
    pub(crate) shed: u64,
    /// Were in the socket of a shipper that was killed.
    pub(crate) holes: u64,
    /// Programs whose account is exact.
    pub(crate) exact: u64,
    /// Rows of the table `loss`, and sessions that have not ended.
    pub(crate) missing: u64,
}

impl Sums {
    pub(crate) fn add(&mut self, other: Sums) {
        self.rows += other.rows;
        self.lost += other.lost;
        self.excluded += other.excluded;
        self.shed += other.shed;
        self.holes += other.holes;
        self.exact += other.exact;
        self.missing += other.missing;
    }
}

/// The events of lanes that are somewhere.
type Places = BTreeMap<OwnLane, BTreeSet<u64>>;

/// Adds the events that a stream has.
fn add_events(places: &mut Places, stream: &[u8]) {
    for header in headers(stream) {
        let until = header.before + u64::from(header.events);
        places.entry(lane_of(&header)).or_default().extend(header.before..until);
    }
}

/// Adds the events that a stream says were shed.
fn add_shed(places: &mut Places, stream: &[u8]) {
    let mut begin = 0;
    for header in headers(stream) {
        if header.flags & flags::SHED != 0 {
            places.entry(lane_of(&header)).or_default().extend(begin..header.before);
        }
        begin = header.before;
    }
}

/// Adds the events that a stream says were withheld.
fn add_withheld(places: &mut Places, stream: &[u8]) {
    for header in headers(stream).into_iter().filter(Header::is_withheld) {
        let until = header.before + u64::from(header.events);
        places.entry(lane_of(&header)).or_default().extend(header.before..until);
    }
}

/// The segments of a host in the store, as far as their blocks are whole.
fn segments(world: &World, host: &Host) -> Vec<Vec<u8>> {
    let root = world.lake.path();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let of: SegmentName = name.parse().ok().filter(|of: &SegmentName| of.host.as_str() == host.name)?;
        let mut bytes = std::fs::read(path).unwrap();
        if world.halves.contains(&of.to_string()) {
            bytes.truncate(whole_len(&bytes));
        }
        Some(bytes)
    };
    files_of(&root.join("segments")).into_iter().filter_map(read).collect()
}

/// The length of the blocks before one that is cut off.
fn whole_len(stream: &[u8]) -> usize {
    let mut blocks = Blocks::from_slice(stream);
    while let Some(piece) = blocks.next().unwrap() {
        if let Piece::Damage(damage, _) = piece {
            return damage.range.start as usize;
        }
    }
    panic!("a segment that was cut off is whole");
}

/// Checks that each event of each lane is a row, or on the way, or told to be missing.
pub(crate) fn none_is_gone(
    world: &World,
    host: &Host,
    lanes: &BTreeMap<LaneKey, Lane>,
    on_the_way: &[Vec<u8>],
) {
    let mut places = Places::new();
    for stream in on_the_way {
        add_events(&mut places, stream);
        add_shed(&mut places, stream);
    }
    // All segments are committed, so their events must be rows.
    for stream in segments(world, host) {
        add_shed(&mut places, &stream);
        add_withheld(&mut places, &stream);
    }
    for (key, lane) in lanes.iter().filter(|(key, _)| key.0 == host.name) {
        places.entry((key.1, key.2, key.3, key.4)).or_default().extend(lane.found.keys());
    }
    for (lane, account) in host.recorded.iter().flat_map(|recorded| &recorded.accounts) {
        let there = places.remove(lane).unwrap_or_default();
        let not_given = account.sums.lost.sink + account.sums.excluded;
        let (host, there, recorded) = (&host.name, there.len() as u64, account.recorded);
        assert_eq!(there + not_given, recorded, "{host} {lane:?}: events are gone, or too many: {account:?}");
    }
}

/// Checks all lanes.
pub(crate) fn check(world: &World) -> Sums {
    let mut lanes = world.lake.lanes();
    let losses = Losses::of(&world.lake);
    losses.check(&made(world), &lanes);
    let watermarks = world.lake.latest("watermark");
    let open = watermarks.iter().filter(|row| row["ended"] != "true").count();
    let mut sums = Sums { missing: (losses.rows.len() + open) as u64, ..Sums::default() };
    for lane in lanes.values() {
        sums.rows += lane.of("rows");
        sums.lost +=
            ["lost_pool", "lost_reentrant", "lost_sink"].map(|name| lane.of(name)).iter().sum::<u64>();
        sums.excluded += lane.of("excluded");
        sums.shed += lane.of("shed");
        sums.holes += lane.of("holes");
    }
    for host in &world.hosts {
        let segments = segments(world, host);
        check_segments(host, &segments);
        none_is_gone(world, host, &lanes, &[]);
        for recorded in &host.recorded {
            check_recorded(host, recorded, &losses, &mut lanes);
        }
        for (number, program) in host.programs.iter().enumerate() {
            let is_exact = check_program(world, host, (number, program), &losses.rows, &mut lanes);
            sums.exact += u64::from(is_exact);
        }
    }
    // The runtime's own events.
    lanes.retain(|_, lane| lane.account.get("registry").is_none_or(|name| name != "telemetry"));
    assert!(lanes.is_empty(), "events of no stream: {lanes:?}");
    sums
}

/// Returns the host and the session of each stream that was made.
fn made(world: &World) -> BTreeSet<(String, u64)> {
    let of_host = |host: &Host| {
        let lanes = host.recorded.iter().flat_map(|recorded| recorded.accounts.keys());
        lanes.map(|lane| (host.name.clone(), lane.0)).collect::<Vec<_>>()
    };
    world.hosts.iter().flat_map(of_host).collect()
}

/// Checks that segments have the events of the host's streams, with their values.
fn check_segments(host: &Host, segments: &[Vec<u8>]) {
    let mut wanted = BTreeMap::new();
    let mut sessions = BTreeSet::new();
    for recorded in &host.recorded {
        sessions.extend(recorded.accounts.keys().map(|lane| lane.0));
        for (session, thread, kind, n, text) in rows(recorded.whole()) {
            if host.withheld != Some(kind) {
                wanted.insert((session, thread, kind, n), text);
            }
        }
    }
    for (session, thread, kind, n, text) in segments.iter().flat_map(|segment| rows(segment)) {
        if sessions.contains(&session) {
            assert_eq!(wanted.get(&(session, thread, kind, n)), Some(&text), "{}", host.name);
        }
    }
}

/// Checks the lanes of a stream, and takes them out.
fn check_recorded(host: &Host, recorded: &Recorded, losses: &Losses, lanes: &mut BTreeMap<LaneKey, Lane>) {
    let mut wanted = BTreeMap::<_, BTreeMap<u64, Found>>::new();
    for (_, session, thread, kind, n, table, time_ns) in events_of(&host.name, recorded.whole()) {
        let key = (session as u64, thread, kind);
        wanted.entry(key).or_default().insert(n as u64, Found { table, time_ns, i: None });
    }
    for (lane, account) in &recorded.accounts {
        let (session, registry, thread, kind) = *lane;
        let key = (host.name.clone(), session, registry, thread, kind);
        let found = lanes.remove(&key);
        let found = found.unwrap_or_else(|| panic!("{key:?} is not there: {account:?}"));
        let Account { recorded, sums } = *account;
        let of = |name: &str| found.of(name);
        assert_eq!(
            (of("recorded"), of("lost_pool"), of("lost_reentrant"), of("lost_sink"), of("truncated")),
            (recorded, sums.lost.pool, sums.lost.reentrant, sums.lost.sink, sums.lost.truncated),
            "{key:?}"
        );
        let mut wanted = wanted.remove(&(session, thread, kind)).unwrap_or_default();
        let mut excluded = sums.excluded;
        if host.withholds(lane) {
            excluded += wanted.len() as u64;
            wanted.clear();
        }
        assert_eq!((of("excluded"), of("holes")), (excluded, 0), "{key:?}: {:?}", found.account);
        for (n, row) in &found.found {
            assert_eq!(wanted.get(n), Some(row), "{key:?}, event {n}");
        }
        let missing = wanted.iter().filter(|(n, _)| !found.found.contains_key(*n));
        let missing: Vec<_> = missing.map(|(n, event)| (*n, event.time_ns)).collect();
        losses.check_shed(&found, &missing);
    }
}

/// Checks the lanes of a program, and takes them out. Returns whether its account is exact.
fn check_program(
    world: &World,
    host: &Host,
    (number, program): (usize, &Started),
    losses: &[Row],
    lanes: &mut BTreeMap<LaneKey, Lane>,
) -> bool {
    let fact = format!("env = {{ EMIT = \"{number}\" }}\n");
    let is_it = |row: &&Row| row["host"] == host.name && row["facts"].contains(&fact);
    let sessions = world.lake.latest("session");
    let session = sessions.iter().find(is_it);
    let Started { plan, starts, .. } = program;
    let was_heard = !plan.is_live || *starts == host.starts && !program.has_unsent();
    let is_whole = plan.killed.is_none() && was_heard;
    let Some(session) = session else {
        assert!(!is_whole, "{plan:?} has no session: {sessions:?}");
        return false;
    };
    let id = session["session"].parse::<i64>().unwrap() as u64;
    let mut own = 0;
    let is_of_program = |key: &LaneKey, lane: &Lane| {
        key.0 == host.name && key.1 == id && lane.account.get("registry").is_some_and(|name| name == "app")
    };
    let keys: Vec<_> =
        lanes.iter().filter(|(key, lane)| is_of_program(key, lane)).map(|(key, _)| key.clone()).collect();
    for key in keys {
        let lane = lanes.remove(&key).unwrap();
        let of = |name: &str| lane.of(name);
        let never = of("lost_pool") + of("lost_reentrant");
        let emitted = of("recorded") + never;
        assert!(emitted <= plan.events, "{key:?}: {plan:?}: {:?}", lane.account);
        // Only what was in the socket of a killed shipper is a hole.
        if is_whole {
            assert_eq!((emitted, of("holes")), (plan.events, 0), "{key:?}: {plan:?}: {:?}", lane.account);
        } else if !plan.is_live {
            assert_eq!(of("holes"), 0, "{key:?}: {plan:?}: {:?}", lane.account);
        }
        let mut last = None;
        for (n, row) in &lane.found {
            let i = row.i.expect("its number");
            assert!((*n..=n + never).contains(&i) && last < Some(i), "{key:?}: {n} is {i}: {plan:?}");
            last = Some(i);
        }
        own += 1;
    }
    if is_whole {
        assert_eq!((own, &*session["ended"]), (4, "true"), "{plan:?}");
        let is_hole = |row: &Row| {
            row["host"] == host.name && row["session"] == session["session"] && row["why"] == "hole"
        };
        assert!(!losses.iter().any(is_hole), "{plan:?} has holes");
    }
    is_whole
}
