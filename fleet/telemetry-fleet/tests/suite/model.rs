//! A model of the protocol, without processes: all schedules of steps and of a few faults, in which
//! a host ships a file of two segments. `cargo xtask chaos` tests the programs; this tests the
//! rules.
//!
//! Each rule that keeps events has a broken variant here, and the model must find out.

use std::collections::{HashSet, VecDeque};

/// The segments 0 and 1, and what is left of each if it is shed: 2 and 3.
type Item = u8;
const SEGMENTS: [Item; 2] = [0, 1];
const ITEMS: [Item; 4] = [0, 1, 2, 3];

/// A set of items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Set(u8);

impl Set {
    fn has(self, item: Item) -> bool {
        self.0 & 1 << item != 0
    }

    fn with(self, item: Item) -> Set {
        Set(self.0 | 1 << item)
    }

    fn without(self, item: Item) -> Set {
        Set(self.0 & !(1 << item))
    }
}

/// Everything at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct State {
    /// The file with all events is there.
    has_file: bool,
    /// Segments that this process has cut from it.
    cut: u8,
    /// On disk at the host.
    spool: Set,
    /// The segment whose shedding is half done.
    shedding: Option<Item>,
    connection: Option<Connection>,
    /// Came to the collector, is not stored, and no answer is waited for.
    orphans: Set,
    store: Set,
    faults: u8,
    sheds: u8,
}

/// What is on the way is gone when a connection ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Connection {
    sent: Set,
    segments: VecDeque<Item>,
    /// At the collector.
    pending: Set,
    stored: Set,
    answers: VecDeque<Item>,
}

/// The rules, or all but one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rules {
    Kept,
    /// The file is removed when its first segment is in the spool.
    FileRemovedEarly,
    /// A segment leaves the spool when it is sent.
    SpoolRemovedEarly,
    /// The collector answers before it has stored.
    AnsweredEarly,
    /// Events are shed before the account of them is on disk.
    ShedBeforeAccount,
    /// "There is one of this name" is believed without a look.
    ConflictBelieved,
    /// A process that was killed has forgotten to send what is in the spool.
    SpoolForgotten,
}

const BROKEN: [Rules; 6] = [
    Rules::FileRemovedEarly,
    Rules::SpoolRemovedEarly,
    Rules::AnsweredEarly,
    Rules::ShedBeforeAccount,
    Rules::ConflictBelieved,
    Rules::SpoolForgotten,
];

impl State {
    fn first() -> State {
        State { has_file: true, faults: 3, sheds: 1, ..State::default() }
    }

    /// Says which events are neither there nor told.
    fn lost(&self) -> Option<Item> {
        SEGMENTS.into_iter().find(|&segment| {
            let is_there = self.has_file || self.spool.has(segment) || self.store.has(segment);
            let is_told = self.spool.has(segment + 2) || self.store.has(segment + 2);
            !is_there && !is_told
        })
    }

    /// Says whether everything has arrived.
    fn is_done(&self) -> bool {
        let is_stored = |&segment: &Item| self.store.has(segment) || self.store.has(segment + 2);
        !self.has_file && self.spool == Set::default() && SEGMENTS.iter().all(is_stored)
    }

    /// The next states without a fault.
    fn steps(&self, rules: Rules) -> Vec<State> {
        let mut next = Vec::new();
        let mut add = |change: &dyn Fn(&mut State)| {
            let mut state = self.clone();
            change(&mut state);
            next.push(state);
        };
        if self.has_file && self.cut < 2 {
            add(&|state| {
                state.spool = state.spool.with(state.cut);
                state.cut += 1;
            });
        }
        if self.has_file && (self.cut == 2 || rules == Rules::FileRemovedEarly && self.cut == 1) {
            add(&|state| state.has_file = false);
        }
        if let Some(segment) = self.shedding {
            add(&|state| {
                state.shedding = None;
                state.spool = match rules {
                    Rules::ShedBeforeAccount => state.spool.with(segment + 2),
                    _ => state.spool.without(segment),
                };
            });
        }
        for orphan in ITEMS.into_iter().filter(|&item| self.orphans.has(item)) {
            add(&|state| {
                state.orphans = state.orphans.without(orphan);
                state.store = state.store.with(orphan);
            });
        }
        let Some(connection) = &self.connection else {
            add(&|state| state.connection = Some(Connection::default()));
            return next;
        };
        let mut on = |change: &dyn Fn(&mut State, &mut Connection)| {
            add(&|state| {
                let mut connection = state.connection.take().unwrap_or_default();
                change(state, &mut connection);
                state.connection = Some(connection);
            });
        };
        for item in ITEMS {
            let is_shedding = self.shedding == Some(item);
            if self.spool.has(item) && !connection.sent.has(item) && !is_shedding {
                on(&|state, connection| {
                    connection.sent = connection.sent.with(item);
                    connection.segments.push_back(item);
                    if rules == Rules::SpoolRemovedEarly {
                        state.spool = state.spool.without(item);
                    }
                });
                // The spool is full.
                if self.sheds > 0 && self.shedding.is_none() && item < 2 {
                    on(&|state, _| {
                        (state.sheds, state.shedding) = (state.sheds - 1, Some(item));
                        state.spool = match rules {
                            Rules::ShedBeforeAccount => state.spool.without(item),
                            _ => state.spool.with(item + 2),
                        };
                    });
                }
            }
            if connection.pending.has(item) {
                // Stored now, or there before: an object is never replaced.
                on(&|state, connection| {
                    state.store = state.store.with(item);
                    connection.pending = connection.pending.without(item);
                    connection.stored = connection.stored.with(item);
                });
            }
            if connection.stored.has(item) {
                on(&|_, connection| {
                    connection.stored = connection.stored.without(item);
                    connection.answers.push_back(item);
                });
            }
        }
        if let Some(&item) = connection.segments.front() {
            on(&|_, connection| {
                connection.segments.pop_front();
                connection.pending = connection.pending.with(item);
                if rules == Rules::AnsweredEarly {
                    connection.answers.push_back(item);
                }
            });
        }
        if let Some(&item) = connection.answers.front() {
            on(&|state, connection| {
                connection.answers.pop_front();
                connection.sent = connection.sent.without(item);
                state.spool = state.spool.without(item);
            });
        }
        next
    }

    /// The next states with a fault.
    fn faults(&self, rules: Rules) -> Vec<State> {
        let mut next = Vec::new();
        if self.faults == 0 {
            return next;
        }
        let mut add = |change: &dyn Fn(&mut State)| {
            let mut state = State { faults: self.faults - 1, ..self.clone() };
            change(&mut state);
            next.push(state);
        };
        // The shipper is killed. The collector stores what has come.
        let end = |state: &mut State| {
            let connection = state.connection.take().unwrap_or_default();
            state.orphans = Set(state.orphans.0 | connection.pending.0);
        };
        add(&|state| {
            end(state);
            (state.cut, state.shedding) = (0, None);
            if rules == Rules::SpoolForgotten {
                state.spool = Set::default();
            }
        });
        // The connection breaks.
        add(&|state| end(state));
        // The collector is killed, and what it has not stored is gone.
        add(&|state| (state.connection, state.orphans) = (None, Set::default()));
        // The file is there again, as from a backup.
        add(&|state| (state.has_file, state.cut) = (true, 0));
        let pending = self.connection.as_ref().map_or(Set::default(), |connection| connection.pending);
        for item in ITEMS.into_iter().filter(|&item| pending.has(item)) {
            // The answer of the store is lost, and the collector tries again.
            add(&|state| state.store = state.store.with(item));
            // The store says that there is one, but another write of it is in progress and fails.
            if rules == Rules::ConflictBelieved {
                add(&|state| {
                    if let Some(connection) = &mut state.connection {
                        connection.pending = connection.pending.without(item);
                        connection.stored = connection.stored.with(item);
                    }
                });
            }
        }
        next
    }
}

/// Visits all states. Returns their number, or the schedule to one in which events are lost.
fn explore(rules: Rules) -> Result<usize, Vec<State>> {
    let mut found = vec![(State::first(), 0)];
    let mut known: HashSet<State> = found.iter().map(|(state, _)| state.clone()).collect();
    let mut at = 0;
    while at < found.len() {
        let state = found[at].0.clone();
        let steps = state.steps(rules);
        // Connecting again changes nothing, so only other steps count.
        let is_over = steps.iter().all(|next| next.connection == Some(Connection::default()))
            && state.connection.is_none()
            && !state.has_file
            && state.spool == Set::default();
        let is_stuck = steps.is_empty() && !state.is_done();
        if state.lost().is_some()
            || is_stuck
            || is_over && !state.is_done() && state.orphans == Set::default()
        {
            let mut schedule = vec![state];
            let mut place = at;
            while place > 0 {
                place = found[place].1;
                schedule.push(found[place].0.clone());
            }
            schedule.reverse();
            return Err(schedule);
        }
        for next in steps.into_iter().chain(state.faults(rules)) {
            if known.insert(next.clone()) {
                found.push((next, at));
            }
        }
        at += 1;
    }
    Ok(found.len())
}

#[test]
fn no_schedule_loses_events() {
    match explore(Rules::Kept) {
        Ok(states) => {
            println!("{states} states");
            assert!(states > 10_000, "{states} are too few to say anything");
        }
        Err(schedule) => panic!("events are lost: {schedule:#?}"),
    }
}

#[test]
fn each_rule_is_needed() {
    for rules in BROKEN {
        assert!(explore(rules).is_err(), "{rules:?} loses nothing");
    }
}
