//! Random registries that obey every rule.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use telemetry_schema::limits::{DEFAULT_RUN_LEN, MAX_EVENT_LEN, MAX_RUN_LEN};
use telemetry_schema::{
    Clock, Count, CounterPer, Event, EventRule, Kind, Message, NameBy, Named, Network, Param, Preset,
    Registry, Replay, ReplayAction, ReplayRole, Role, RuleForm, Sensitive, Sort, Span, Tracing, TracingAt,
    Type, TypeForm, TypeValue, Version,
};

/// Names of kinds, types and events: acronyms, digits, single letters.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "PoolInit", "VMMap", "L2Cache", "X", "GC", "Trace", "TraceEnd", "Utf8", "PoolInitMVFF", "Q7", "Alloc", "Free", "Sweep",
    "Mark", "HeapGrow", "Intern", "Names", "YieldAll", "LoopBegin", "R2D2", "Segment", "Access", "Why", "Flip", "Zz",
];

/// Names of parameters: few, so that events share some.
const PARAMS: &[&str] = &["at", "size", "old_size", "x", "u32", "name", "time", "self_time"];

/// Generates any valid registry, small enough to be generated often.
pub fn registries() -> impl Strategy<Value = Registry> {
    let names = Just(NAMES.to_vec()).prop_shuffle();
    (names, 1..6usize, 0..5usize, 0..12usize)
        .prop_flat_map(|(names, kinds, types, events)| {
            let (kind_names, rest) = names.split_at(kinds);
            let (type_names, event_names) = rest.split_at(types);
            let kinds = subsequence((0..64).collect::<Vec<u8>>(), kinds);
            let kinds = (
                Just(kind_names.to_vec()),
                kinds,
                vec((docs(), any::<bool>(), 0..=9u8, any::<bool>()), kind_names.len()),
            );
            let types: Vec<_> = type_names.iter().map(|name| a_type(name)).collect();
            let codes = subsequence((0..=u16::MAX).step_by(255).collect::<Vec<_>>(), events);
            let events: Vec<_> =
                event_names[..events].iter().map(|name| event(name, kind_names.len(), types.len())).collect();
            ("[a-z]{1,8}_x", any::<(u32, u32, u32)>(), docs(), kinds, types, events, codes)
        })
        .prop_map(|(name, (major, median, minor), doc, (names, bits, rest), mut types, mut events, codes)| {
            let kinds = names.into_iter().zip(bits).zip(rest).map(
                |((name, bit), (doc, inherit, priority, allow))| {
                    let clock = if inherit { Clock::Inherit } else { Clock::Precise };
                    let network = if allow { Network::Allow } else { Network::default() };
                    Kind { name: name.to_string(), bit, doc, clock, priority, network }
                },
            );
            types.sort_by(|a, b| a.name.cmp(&b.name));
            events.iter_mut().zip(codes).for_each(|(event, code)| event.code = code);
            let version = Version { major, median, minor };
            events.iter_mut().for_each(|event| append(event, version));
            let mut registry = Registry::default();
            (registry.name, registry.version, registry.doc) = (name, version, doc);
            (registry.kinds, registry.types, registry.events) = (kinds.collect(), types, events);
            for index in 0..registry.events.len() {
                while registry.events[index].max_len(&registry) > MAX_EVENT_LEN {
                    registry.events[index].params.pop();
                }
                // Marks refer to the remaining parameters.
                let event = &mut registry.events[index];
                name_each_other(&mut event.params);
                give_roles(&mut event.params);
                event.replay = replay(&event.params, event.always);
                event.tracing = tracing(event);
            }
            registry.presets = presets(&registry);
            registry.spans = spans(&registry.events);
            registry.messages = messages(&registry.spans, &registry.events);
            registry.rules = rules(&registry.spans);
            registry
        })
}

/// A preset for every second kind, without the first used event.
fn presets(registry: &Registry) -> Vec<Preset> {
    let first = registry.events.iter().find(|event| event.used);
    let without = first.map_or(String::new(), |event| format!(" -{}", event.name));
    let kinds = registry.kinds.iter().step_by(2).enumerate();
    kinds.map(|(at, kind)| Preset::new(format!("preset_{at}"), format!("{}{without}", kind.name))).collect()
}

fn docs() -> impl Strategy<Value = String> {
    "[!-~ß世🦀]([ -~ß世🦀\n\t]{0,20}[!-~世])?"
}

fn docs_or_none() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), docs()]
}

fn a_type(name: &str) -> impl Strategy<Value = Type> + use<> {
    let name = name.to_string();
    let reprs: Vec<Sort> = Sort::ALL.iter().copied().filter(|sort| sort.int_range().is_some()).collect();
    let value_names = subsequence(vec!["A", "Full", "L2", "ReadOnly", "GC", "Nothing"], 1..=6);
    (select(reprs), any::<bool>(), docs_or_none(), value_names).prop_flat_map(
        move |(repr, flags, doc, value_names)| {
            let range = repr.int_range().expect("it was chosen for that");
            let flags = flags && *range.start() == 0;
            let start = if flags { 1 } else { *range.start() };
            let numbers = prop_oneof![start..=*range.end(), Just(*range.end()), Just(start), Just(start + 1)];
            let name = name.clone();
            let count = value_names.len();
            btree_map(numbers, docs_or_none(), 1..=count).prop_map(move |numbers| Type {
                name: name.clone(),
                doc: doc.clone(),
                repr,
                form: if flags { TypeForm::Flags } else { TypeForm::Enum },
                values: value_names
                    .iter()
                    .zip(numbers)
                    .map(|(name, (number, doc))| TypeValue { name: name.to_string(), number, doc })
                    .collect(),
            })
        },
    )
}

fn event(name: &str, kinds: usize, types: usize) -> impl Strategy<Value = Event> + use<> {
    let name = name.to_string();
    let params = subsequence(PARAMS.to_vec(), 0..=PARAMS.len()).prop_shuffle();
    let params =
        params.prop_flat_map(move |names| names.iter().map(|name| param(name, types)).collect::<Vec<_>>());
    (any::<bool>(), any::<bool>(), 0..kinds, docs(), params).prop_map(
        move |(always, used, kind, doc, params)| {
            let mut event = Event::new(&name, 0, kind);
            (event.always, event.used, event.doc, event.params) = (always, used, doc, params);
            event
        },
    )
}

/// Marks up to three of the last parameters as appended, the last in the registry's version.
fn append(event: &mut Event, version: Version) {
    let appended = usize::from(event.code / 255 % 4);
    for (age, param) in event.params.iter_mut().rev().take(appended).enumerate() {
        param.since = Some(Version { median: version.median >> (8 * age), ..version });
    }
}

/// Lets each parameter that can give a name name the first unnamed parameter that can have one.
fn name_each_other(params: &mut [Param]) {
    for by in 0..params.len() {
        let Some(name) = NameBy::of(params[by].sort).filter(|_| params[by].count == Count::One) else {
            continue;
        };
        let fits = |of: &usize| {
            let named = Named::of(params[*of].sort).filter(|_| params[*of].count == Count::One);
            let taken = params.iter().any(|param| param.names == Some(*of));
            *of != by && !taken && named.is_some_and(|named| name == NameBy::Text || !named.is_number())
        };
        params[by].names = (0..params.len()).find(fits);
    }
}

/// Makes a stack of each number that has no other mark, if its name has an even length.
fn give_roles(params: &mut [Param]) {
    for param in params {
        let is_marked =
            !param.unit.is_empty() || param.sensitive.is_some() || param.is_counter || param.names.is_some();
        if (param.sort, param.count) == (Sort::U32, Count::One) && !is_marked && param.name.len() % 2 == 0 {
            param.role = Some(Role::Stack);
        }
    }
}

/// Makes a mark `tracing` of an event whose parameters can be fields.
fn tracing(event: &Event) -> Option<Tracing> {
    let fits = |param: &Param| param.count == Count::One && param.sort != Sort::Bytes;
    let at = if event.always { TracingAt::New } else { TracingAt::Close };
    let mark = || Tracing { target: "a::b".to_string(), name: event.name.clone(), at };
    event.params.iter().all(fits).then(mark)
}

/// Makes a mark with the first action whose roles the parameters can have.
fn replay(params: &[Param], custom: bool) -> Option<Replay> {
    let custom = custom.then(|| Replay { action: ReplayAction::Custom, roles: Vec::new() });
    let mut actions = [ReplayAction::Realloc, ReplayAction::Alloc, ReplayAction::Free].into_iter();
    actions.find_map(|action| roles(params, action)).or(custom)
}

fn roles(params: &[Param], action: ReplayAction) -> Option<Replay> {
    let mut left: Vec<usize> = (0..params.len()).collect();
    let mut roles = Vec::new();
    for role in ReplayRole::ALL {
        let fits = |index: &usize| {
            let Param { sort, count, unit, .. } = &params[*index];
            *count == Count::One && role.takes(*sort) && matches!(unit.as_str(), "" | "bytes")
        };
        let needed = action.needs().contains(role);
        if !needed && !action.allows().contains(role) {
            continue;
        }
        match left.iter().position(fits) {
            Some(at) => roles.push((*role, left.remove(at))),
            None if needed => return None,
            None => {}
        }
    }
    Some(Replay { action, roles })
}

fn param(name: &str, types: usize) -> impl Strategy<Value = Param> + use<> {
    let name = name.to_string();
    let sorts: Vec<Sort> = Sort::ALL.iter().copied().chain((0..types).map(Sort::Named)).collect();
    let count = prop_oneof![
        3 => Just(Count::One),
        1 => (1..9u32).prop_map(Count::Fixed),
        1 => prop_oneof![Just(64), 1..300u32].prop_map(Count::UpTo),
    ];
    let max_len = prop_oneof![Just(DEFAULT_RUN_LEN), 1..=MAX_RUN_LEN];
    let align = prop_oneof![2 => Just(0), 1 => 1..=30u32].prop_map(|bits| 1 << bits);
    let unit = prop_oneof![Just(String::new()), "[!-~µ]([ -~µ]{0,8}[!-~])?"];
    let usual = prop_oneof![2 => Just(None), 1 => (1..=3u8).prop_map(Some)];
    (select(sorts), count, max_len, align, (unit, any::<bool>(), usual), docs_or_none()).prop_map(
        move |(sort, count, max_len, align, (unit, is_counter, usual), doc)| {
            let mut param = Param::new(&name, sort);
            param.doc = doc;
            if sort.is_run() {
                param.max_len = max_len;
            } else {
                param.count = count;
            }
            if sort.is_delta() && count == Count::One {
                (param.align, param.usual) = (align, usual);
            }
            if sort.is_number() {
                param.sensitive = Some(Sensitive::Personal).filter(|_| unit.len() % 3 == 1);
                param.unit = unit;
                param.is_counter = is_counter && count == Count::One;
            }
            param
        },
    )
}

/// Makes a span from each used event to the next, with the first key that both can have.
fn spans(events: &[Event]) -> Vec<Span> {
    let used: Vec<usize> = (0..events.len()).filter(|&index| events[index].used).collect();
    let mut spans = BTreeMap::new();
    for pair in used.windows(2) {
        let key = events[pair[0]].params.iter().find(|param| {
            param.count == Count::One
                && param.role.is_none()
                && param.sensitive.is_none()
                && !matches!(param.sort, Sort::F32 | Sort::F64)
                && events[pair[1]].params.iter().any(|other| {
                    other.role.is_none()
                        && other.sensitive.is_none()
                        && (&other.name, other.sort, other.count) == (&param.name, param.sort, param.count)
                })
        });
        let mut span = Span::new(&events[pair[0]].name, pair[0], pair[1]);
        span.key = key.map(|key| key.name.clone());
        let is_text =
            |param: &&Param| param.count == Count::One && matches!(param.sort, Sort::Label | Sort::String);
        span.named_by = events[pair[0]].params.iter().find(is_text).map(|param| param.name.clone());
        span.is_pause = pair[1] % 2 == 0;
        span.doc = "from one to the next".to_string();
        spans.insert(span.name.clone(), span);
    }
    spans.into_values().collect()
}

/// Makes rules of each form from spans.
fn rules(spans: &[Span]) -> Vec<EventRule> {
    let rule = |(open, span): (usize, &Span)| {
        let (form, by) = match open % 3 {
            0 => {
                let within_ns = (open > 0).then_some(1500 * open as u64);
                let form = RuleForm::Comes { after: span.begin, comes: span.end, within_ns };
                (form, span.key.clone())
            }
            1 => (RuleForm::Never { never: span.end, open }, span.key.clone()),
            _ => (RuleForm::AtMost { at_most: open as u32, open }, None),
        };
        let mut rule = EventRule::new(&span.name, form);
        rule.by = by;
        rule.per = if open % 2 == 0 { CounterPer::Thread } else { CounterPer::Process };
        rule.doc = "what spans do".to_string();
        rule
    };
    spans.iter().enumerate().map(rule).collect()
}

/// Makes messages from spans that share no event. The last one has no end.
fn messages(spans: &[Span], events: &[Event]) -> Vec<Message> {
    let (mut taken, mut messages) = (BTreeSet::new(), Vec::new());
    for span in spans {
        if taken.contains(&span.begin) || taken.contains(&span.end) {
            continue;
        }
        taken.extend([span.begin, span.end]);
        let is_number = |name: &String| {
            let param = events[span.begin].params.iter().find(|param| param.name == *name);
            param.is_some_and(|param| !param.sort.is_run())
        };
        let key = span.key.clone().filter(is_number);
        let limit = key.as_ref().map_or(1, |key| key.len() as u32 * 4);
        let (name, doc) = (span.name.clone(), span.doc.clone());
        let mut message = Message::new(name, span.begin);
        (message.end, message.key, message.limit, message.doc) = (Some(span.end), key, limit, doc);
        messages.push(message);
    }
    if let Some(last) = messages.last_mut() {
        (last.end, last.key, last.limit) = (None, None, 1);
    }
    messages
}
