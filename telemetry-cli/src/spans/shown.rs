//! Spans as text, JSON and CSV.

use serde::Serialize;
use serde_json::Value as Json;
use telemetry_decode::{Events, KnownRegistry, Session};

use crate::input::inputs::Inputs;
use crate::input::verdict::Verdict;
use crate::term::message::warning;
use crate::text::print::thread_name;
use crate::text::table::Table;
use crate::text::{count, csv, grouped, number_text, scalar, signed_grouped};
use telemetry_report::figures::distribution::Summary;
use telemetry_report::spans::{Def, Found, Gaps, Long, SpanTally, Tally, Unmatched, Which};

/// The first line of comma-separated values.
pub(crate) const CSV_HEAD: &str = "span,registry,session,thread,thread_name,key,begin_ns,end_ns,duration_ns,self_ns,end_thread,certain,message\n";

/// Names for the numbers in spans.
pub(crate) struct Names<'a> {
    sessions: &'a [Session],
    registries: &'a [KnownRegistry],
    defs: &'a [Def],
}

/// All that the command shows; docs/json.md describes the JSON form.
#[derive(Serialize)]
pub(crate) struct Spans<'a> {
    version: u32,
    /// True if times exclude those of emissions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    net: bool,
    /// Those with the most time first, since people look for them.
    spans: Vec<SpanStats>,
    longest: Vec<LongSpan>,
    unmatched: Vec<UnmatchedEnd>,
    unmatched_count: u64,
    completeness: &'a Verdict,
    #[serde(skip)]
    top: usize,
    /// A registry declares spans or messages.
    #[serde(skip)]
    pub(crate) declared: bool,
}

#[derive(Serialize)]
struct SpanStats {
    span: String,
    registry: String,
    /// Of the registry, as a stream may have several versions of it.
    fingerprint: String,
    /// The message with these pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    key: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pause: bool,
    duration_ns: Summary,
    total_ns: i64,
    self_ns: Summary,
    total_self_ns: i64,
    uncertain: u64,
    begins_without_end: u64,
    ends_without_begin: u64,
    begins_dropped: u64,
}

#[derive(Serialize)]
struct LongSpan {
    #[serde(flatten)]
    place: Place,
    begin_ns: i64,
    end_ns: i64,
    duration_ns: i64,
    self_ns: i64,
    certain: bool,
}

#[derive(Serialize)]
struct UnmatchedEnd {
    /// `begin` or `end`: the event that exists.
    what: &'static str,
    #[serde(flatten)]
    place: Place,
    at_ns: i64,
    input: String,
    /// Where it begins in that input, in bytes.
    offset: u64,
    certain: bool,
}

/// A span and its thread.
#[derive(Serialize)]
struct Place {
    span: String,
    registry: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    session: String,
    thread: u32,
    thread_name: String,
    key: Json,
    #[serde(skip)]
    key_text: String,
}

impl<'a> Names<'a> {
    pub(crate) fn new(events: &'a Events<'_>, defs: &'a [Def]) -> Names<'a> {
        Names { sessions: events.sessions(), registries: events.registries(), defs }
    }

    fn session(&self, id: u64) -> Option<&Session> {
        self.sessions.iter().find(|session| session.id == id)
    }

    /// Returns the value of a key, for JSON and for people.
    fn key(&self, which: &Which) -> (Json, String) {
        let def = &self.defs[which.def];
        let known = self.registries.iter().find(|known| known.fingerprint == def.fingerprint);
        let param = known.and_then(|known| {
            let mut params = known.registry.events[def.span.begin].params.iter();
            let param = params.find(|param| Some(&param.name) == def.span.key.as_ref())?;
            Some((known, param.sort))
        });
        scalar::key(&which.key, param, self.session(which.session))
    }

    fn place(&self, which: &Which, thread: u32) -> Place {
        let def = &self.defs[which.def];
        let (key, key_text) = self.key(which);
        Place {
            span: def.span.name.clone(),
            registry: def.registry.clone(),
            message: def.message.clone(),
            session: format!("{:016x}", which.session),
            thread,
            thread_name: self.thread(which.session, thread),
            key,
            key_text,
        }
    }

    /// Returns the name of a thread.
    pub(crate) fn thread(&self, session: u64, thread: u32) -> String {
        let session = self.session(session);
        session.map_or_else(|| format!("#{thread}"), |session| thread_name(session, thread))
    }

    /// Appends a line for a complete span.
    pub(crate) fn append_csv(&self, out: &mut Vec<u8>, found: &Found, gaps: &Gaps) {
        let Found::Whole { which, begin, end, self_ns, .. } = found else { return };
        let def = &self.defs[which.def];
        csv::field(out, def.span.name.as_bytes());
        let fields = format!(",{},{:#018x},{},", def.registry, which.session, begin.thread);
        out.extend_from_slice(fields.as_bytes());
        let name = self.session(which.session).and_then(|session| session.thread_name(begin.thread));
        csv::field(out, name.unwrap_or_default().as_bytes());
        out.push(b',');
        match self.key(which).0 {
            Json::Null => {}
            Json::String(text) => csv::field(out, text.as_bytes()),
            // A number, or a string that is not UTF-8.
            other => csv::field(out, other.to_string().as_bytes()),
        }
        let duration = end.since(begin);
        let is_certain = gaps.are_not_in(def, which, begin, end);
        // Names in registries need no quotes.
        let message = def.message.as_deref().unwrap_or_default();
        let fields =
            format!(",{},{},{duration},{self_ns},{},{is_certain},{message}\n", begin.ns, end.ns, end.thread);
        out.extend_from_slice(fields.as_bytes());
    }
}

impl<'a> Spans<'a> {
    pub(crate) fn new(
        tally: &Tally,
        names: &Names<'_>,
        inputs: &Inputs,
        completeness: &'a Verdict,
        net: bool,
    ) -> Spans<'a> {
        let of_span = |(def, span): (&Def, &SpanTally)| SpanStats {
            span: def.span.name.clone(),
            registry: def.registry.clone(),
            fingerprint: format!("{:016x}", def.fingerprint),
            message: def.message.clone(),
            key: def.span.key.clone(),
            pause: def.span.is_pause,
            duration_ns: span.durations.summary(),
            total_ns: span.total_ns,
            self_ns: span.selfs.summary(),
            total_self_ns: span.total_self_ns,
            uncertain: span.uncertain,
            begins_without_end: span.no_end,
            ends_without_begin: span.no_begin,
            begins_dropped: span.begins_dropped,
        };
        // Spans with values behind their names stand for the plain one.
        let is_shown = |(def, span): &(&Def, &SpanTally)| {
            def.is_wanted
                && (def.is_plain() || span.durations.summary().count + span.no_end + span.no_begin > 0)
        };
        let mut spans: Vec<SpanStats> =
            names.defs.iter().zip(&tally.spans).filter(is_shown).map(of_span).collect();
        spans.sort_by_key(|span| std::cmp::Reverse(span.total_ns));
        let long = |long: &&Long| LongSpan {
            place: names.place(&long.which, long.begin.thread),
            begin_ns: long.begin.ns,
            end_ns: long.end.ns,
            duration_ns: long.duration_ns(),
            self_ns: long.self_ns,
            certain: long.is_certain,
        };
        let unmatched = |unmatched: &Unmatched| {
            let (input, offset) = inputs.place(unmatched.at.offset);
            UnmatchedEnd {
                what: if unmatched.is_begin { "begin" } else { "end" },
                place: names.place(&unmatched.which, unmatched.at.thread),
                at_ns: unmatched.at.ns,
                input,
                offset,
                certain: unmatched.is_certain,
            }
        };
        Spans {
            version: 1,
            net,
            longest: tally.longest().iter().map(long).collect(),
            unmatched: tally.unmatched.iter().map(unmatched).collect(),
            unmatched_count: spans.iter().map(|span| span.begins_without_end + span.ends_without_begin).sum(),
            spans,
            completeness,
            top: tally.top,
            declared: names
                .registries
                .iter()
                .any(|known| !known.registry.spans.is_empty() || !known.registry.messages.is_empty()),
        }
    }

    pub(crate) fn append_text(&self, out: &mut Vec<u8>) {
        self.append_spans(out);
        self.append_longest(out);
        self.append_unmatched(out, self.top);
    }

    fn append_spans(&self, out: &mut Vec<u8>) {
        let heads =
            ["span", "registry", "count", "total ns", "self ns", "min ns", "p50 ns", "p90 ns", "p99 ns"];
        let behind = ["p99.9 ns", "max ns", "uncertain", "no end", "no begin"];
        let mut table = Table::new(2, &[&heads[..], &behind].concat());
        for span in &self.spans {
            let Summary { count, min, p50, p90, p99, p999, max, .. } = &span.duration_ns;
            let sums = [span.total_ns, span.total_self_ns].map(signed_grouped);
            let numbers = [min, p50, p90, p99, p999, max].map(number_text);
            let wrong = [span.uncertain, span.begins_without_end, span.ends_without_begin].map(grouped);
            let words = [marked(&span.span, &span.message), span.registry.clone(), grouped(*count)];
            table.row(words.into_iter().chain(sums).chain(numbers).chain(wrong));
        }
        if !self.spans.is_empty() {
            table.append(out, 0);
        }
    }

    fn append_longest(&self, out: &mut Vec<u8>) {
        let mut table =
            Table::new(3, &["longest", "key", "thread", "begin ns", "duration ns", "self ns", ""])
                .with_words_last();
        for long in &self.longest {
            let name = marked(&long.place.span, &long.place.message);
            let words = [name, long.place.key_text.clone(), self.thread(&long.place)];
            let numbers = [long.begin_ns, long.duration_ns, long.self_ns].map(signed_grouped);
            table.row(words.into_iter().chain(numbers).chain([uncertain(long.certain)]));
        }
        table.append_if_any(out);
    }

    /// Appends the unmatched begins and ends, but not more than `most`.
    pub(crate) fn append_unmatched(&self, out: &mut Vec<u8>, most: usize) {
        let mut table =
            Table::new(4, &["unmatched", "span", "key", "thread", "at ns", "event", ""]).with_words_last();
        for one in self.unmatched.iter().take(most) {
            let what = if one.what == "begin" { "begin without end" } else { "end without begin" };
            let words = [
                what.to_string(),
                marked(&one.place.span, &one.place.message),
                one.place.key_text.clone(),
                self.thread(&one.place),
            ];
            let event = format!("{}: byte {}", one.input, one.offset);
            table.row(words.into_iter().chain([signed_grouped(one.at_ns), event, uncertain(one.certain)]));
        }
        table.append_if_any(out);
    }

    /// Returns the thread, with its session if there are several.
    fn thread(&self, place: &Place) -> String {
        let is_one = self.longest.iter().map(|long| &long.place).all(|other| other.session == place.session)
            && self.unmatched.iter().all(|other| other.place.session == place.session);
        if is_one { place.thread_name.clone() } else { format!("{} {}", place.session, place.thread_name) }
    }

    /// Warns about spans that are not declared or not certain, and reports the unmatched events.
    pub(crate) fn report(&self, mut unmatched: impl FnMut(String)) {
        if !self.declared && self.completeness.has_blocks() {
            warning("no registry in the input declares a [[span]] or a [[message]]");
        }
        let sum = |of: fn(&SpanStats) -> u64| self.spans.iter().map(of).sum::<u64>();
        let uncertain = sum(|span| span.uncertain);
        if uncertain > 0 {
            warning(format!("{} uncertain: events are missing in between", count(uncertain, "span")));
        }
        let numbers = [
            (sum(|span| span.begins_without_end), "begin", "without end"),
            (sum(|span| span.ends_without_begin), "end", "without begin"),
            (
                sum(|span| span.begins_dropped),
                "begin",
                "dropped, because more than --max-open were open at once",
            ),
        ];
        for (number, noun, what) in numbers.into_iter().filter(|(number, ..)| *number > 0) {
            unmatched(format!("{} {what}", count(number, noun)));
        }
    }
}

/// Returns the name of a span, with that of its message.
fn marked(span: &str, message: &Option<String>) -> String {
    match message {
        None => span.to_string(),
        Some(message) if message == span => format!("{span} (message)"),
        Some(message) => format!("{span} (message {message})"),
    }
}

fn uncertain(is_certain: bool) -> String {
    if is_certain { String::new() } else { "uncertain".to_string() }
}
