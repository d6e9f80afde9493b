//! Spans, their durations, pauses and flame graphs, and the values of events over time.

use std::collections::BTreeMap;

use super::forms::{
    ColumnForm, CoverForm, CoverRowForm, FlameForm, HeatForm, LaneForm, NodesForm, PausesForm, SpanForm,
    SpanHeatForm, SpansForm, ValueHeatForm,
};
use super::source::Source;
use super::texts::Texts;
use crate::gather::axis::Series;
use crate::gather::durations::DURATION_SHIFT;
use crate::gather::flames::{FLAME_SHIFT, Node};
use crate::gather::heat::{Column, Heat};
use crate::gather::lanes::{Kept, Lane, key_text, share};
use crate::gather::threads::OTHERS;

/// Returns the types of spans.
pub(super) fn types(source: &Source<'_>) -> Vec<SpanForm> {
    let gathered = source.gathered;
    let defs = gathered.pairing.defs.iter().map(|def| {
        let number = |index: usize| {
            let key = (def.fingerprint, index);
            gathered.events.iter().position(|event| *event == key).map_or(-1, |number| number as i64)
        };
        SpanForm {
            name: def.span.name.clone(),
            registry: source.registry_name(def.fingerprint),
            fingerprint: format!("{:016x}", def.fingerprint),
            doc: def.span.doc.clone(),
            message: def.message.clone(),
            key: def.span.key.clone(),
            is_pause: def.span.is_pause,
            begin: number(def.span.begin),
            end: number(def.span.end),
        }
    });
    defs.collect()
}

/// Returns the spans of each thread that has some.
pub(super) fn lanes(source: &Source<'_>, texts: &mut Texts) -> Vec<LaneForm> {
    let lanes = source.gathered.lanes.list.iter().enumerate().filter(|(_, lane)| lane.total > 0);
    let most = share(lanes.clone().map(|(_, lane)| lane.kept.len()), source.room.spans).max(4);
    let shift = source.gathered.axis.width().trailing_zeros();
    let rows: usize = lanes.clone().map(|(_, lane)| lane.depths.len()).sum();
    lanes
        .map(|(thread, lane)| {
            let (mut kept, longest_dropped) = longest(lane, most);
            kept.sort_by_key(|span| (span.begin, span.row));
            LaneForm {
                thread: thread as u32,
                depths: lane.depths.len(),
                total: lane.total,
                complete_from: longest_dropped.map_or(0, |ns| ns + 1),
                spans: spans(source, &kept, thread as u32, texts),
                cover: cover(lane, shift, source.room.counts / rows.max(1) / 2),
            }
        })
        .collect()
}

/// Returns the longest spans of a lane, and the duration of the longest one that is left out.
fn longest(lane: &Lane, most: usize) -> (Vec<&Kept>, Option<u64>) {
    let mut kept: Vec<&Kept> = lane.kept.iter().collect();
    if kept.len() <= most {
        return (kept, lane.longest_dropped);
    }
    kept.sort_by_key(|span| (std::cmp::Reverse(span.duration), span.begin));
    let dropped = kept[most].duration;
    kept.truncate(most);
    (kept, lane.longest_dropped.max(Some(dropped)))
}

fn spans(source: &Source<'_>, kept: &[&Kept], thread: u32, texts: &mut Texts) -> SpansForm {
    let mut forms = SpansForm::default();
    let mut before = 0;
    for span in kept {
        let def = &source.gathered.pairing.defs[span.def as usize];
        let session = source.sessions.iter().find(|session| session.id == span.session);
        let registry = source.registry(def.fingerprint);
        let sort = registry.and_then(|registry| {
            let params = &registry.events[def.span.begin].params;
            let key = params.iter().find(|param| Some(&param.name) == def.span.key.as_ref())?;
            Some((registry, key.sort))
        });
        let key = key_text(&span.key, sort, session).map_or(-1, |text| texts.number(&text));
        forms.begin.push(span.begin - before);
        before = span.begin;
        forms.duration.push(span.duration);
        forms.span.push(span.def);
        forms.depth.push(span.row.min(15));
        forms.key.push(key);
        let end_thread = source.shown_thread(span.end_thread);
        forms.end_thread.push(if end_thread == thread { -1 } else { end_thread.into() });
        forms.is_uncertain.push(span.is_uncertain.into());
    }
    forms
}

fn cover(lane: &Lane, shift: u32, most: usize) -> CoverForm {
    let mut rows: Vec<_> = lane.depths.iter().map(|cover| (cover.time(shift), cover.spans.clone())).collect();
    let mut width = 1 << shift;
    while rows.iter().any(|(ns, _)| ns.values.len() > most.max(1)) {
        rows.iter_mut().for_each(|(ns, spans)| {
            ns.fold();
            spans.fold();
        });
        width *= 2;
    }
    let rows = rows.into_iter().enumerate().map(|(depth, (ns, spans))| {
        let first = ns.first.min(spans.first);
        let until = (ns.first + ns.values.len()).max(spans.first + spans.values.len());
        let dense = |series: &Series<u64>| {
            let at = |at: usize| series.values.get(at.checked_sub(series.first)?).copied();
            (first..until).map(|index| at(index).unwrap_or(0)).collect()
        };
        CoverRowForm { depth, first, ns: dense(&ns), spans: dense(&spans) }
    });
    CoverForm { width, rows: rows.collect() }
}

/// Returns the durations of each type of span over time.
pub(super) fn durations(source: &Source<'_>) -> Vec<SpanHeatForm> {
    let heats: BTreeMap<_, _> = source.gathered.durations.0.iter().collect();
    let width = source.gathered.axis.width() << DURATION_SHIFT;
    let folds = folds(source, heats.values().flat_map(|heats| heats.iter()));
    let forms = heats.into_iter().map(|((span, thread), [duration, own])| SpanHeatForm {
        span: *span,
        thread: (*thread != OTHERS).then_some(*thread),
        duration: heat(duration, width, folds),
        own: heat(own, width, folds),
    });
    forms.collect()
}

/// Returns the values of each parameter over time.
pub(super) fn values(source: &Source<'_>) -> Vec<ValueHeatForm> {
    let slots = &source.gathered.slots;
    let width = source.gathered.axis.width() << slots.heat_shift();
    let folds = folds(source, slots.list.iter().flat_map(|slot| slot.heats.iter().flatten()));
    let forms = slots.list.iter().flat_map(|slot| {
        let heats = slot.heats.iter().enumerate();
        heats.filter_map(move |(param, of)| {
            let thread = (slot.thread != OTHERS).then_some(slot.thread);
            Some(ValueHeatForm { event: slot.event, param, thread, heat: heat(of.as_ref()?, width, folds) })
        })
    });
    forms.filter(|form| !form.heat.columns.is_empty()).collect()
}

/// Returns how often heat maps must fold to fit.
fn folds<'h>(source: &Source<'_>, heats: impl Iterator<Item = &'h Heat>) -> u32 {
    // A heat map of a quarter of the intervals has about half of the cells.
    let cells: usize = heats.map(Heat::cells).sum();
    let excess = cells / source.room.cells.max(1);
    (excess.max(1).ilog2() * 2).min(7)
}

fn heat(heat: &Heat, width: u64, folds: u32) -> HeatForm {
    let mut heat = heat.clone();
    (0..folds).for_each(|_| heat.fold());
    heat.close();
    let columns = heat.columns.into_iter().map(|Column { at, cells, sum }| {
        let (buckets, counts) = cells.into_iter().unzip();
        ColumnForm { at, buckets, counts, sum: if sum.is_finite() { sum } else { f64::MAX.copysign(sum) } }
    });
    HeatForm { width: width << folds, columns: columns.collect() }
}

/// Returns the pauses, if a type of span is one.
pub(super) fn pauses(source: &Source<'_>, texts: &mut Texts) -> Option<PausesForm> {
    let gathered = source.gathered;
    if !gathered.pairing.defs.iter().any(|def| def.span.is_pause) {
        return None;
    }
    let causes: Vec<i64> = gathered.causes.iter().map(|cause| texts.number(cause)).collect();
    let mut list = gathered.pauses.list.clone();
    list.sort_by_key(|pause| pause.begin);
    let mut forms = PausesForm { is_joined: gathered.pauses.is_joined, ..PausesForm::default() };
    let mut before = 0;
    for pause in list {
        forms.begin.push(pause.begin as i64 - before);
        before = pause.begin as i64;
        forms.duration.push(pause.end - pause.begin);
        forms.span.push(pause.def);
        forms.thread.push(source.shown_thread(pause.thread));
        forms
            .cause
            .push(usize::try_from(pause.cause).ok().and_then(|at| causes.get(at).copied()).unwrap_or(-1));
    }
    Some(forms)
}

/// Returns the flame graph of each thread.
pub(super) fn flames(source: &Source<'_>, texts: &mut Texts) -> Vec<FlameForm> {
    let mut by_thread: BTreeMap<u32, BTreeMap<u32, &Node>> = BTreeMap::new();
    for ((thread, path), node) in &source.gathered.flames.nodes {
        by_thread.entry(*thread).or_default().insert(*path, node);
    }
    let width = source.gathered.axis.width() << FLAME_SHIFT;
    let mut room = source.room.nodes;
    let forms = by_thread.into_iter().map(|(thread, nodes)| FlameForm {
        name: "spans".to_string(),
        unit: "ns".to_string(),
        thread,
        width,
        nodes: nodes_of(source, &nodes, &mut room, texts),
    });
    let mut forms: Vec<_> = forms.collect();
    forms.extend(stacks(source, width, texts));
    forms
}

/// Returns a graph for each type of event with stacks, on each thread.
fn stacks(source: &Source<'_>, width: u64, texts: &mut Texts) -> Vec<FlameForm> {
    let gathered = source.gathered;
    let graphs: BTreeMap<_, _> = gathered.stacks.graphs.iter().collect();
    let mut room = source.room.nodes;
    let graphs = graphs.into_iter().filter(|(_, graph)| !graph.nodes.is_empty());
    let forms = graphs.map(|((event, thread), graph)| {
        let mut nodes = NodesForm::default();
        // Outer frames come first, so a part of them is a graph too.
        let shown = graph.nodes.len().min(room);
        room -= shown;
        for frame in &graph.nodes[..shown] {
            nodes.parent.push(if frame.outer == u32::MAX { -1 } else { frame.outer.into() });
            nodes
                .name
                .push(texts.number(gathered.stacks.names.get(frame.name as usize).map_or("", |name| name)));
            nodes.own.push(frame.weight);
            nodes.count.push(frame.count);
            nodes.slices.push(slices(&frame.slices));
        }
        let (fingerprint, index) = gathered.events[*event as usize];
        let name = source.registry(fingerprint).map(|registry| registry.events[index].name.clone());
        FlameForm {
            name: name.unwrap_or_default(),
            unit: if graph.is_in_bytes { "bytes" } else { "samples" }.to_string(),
            thread: source.shown_thread(*thread),
            width,
            nodes,
        }
    });
    forms.collect()
}

fn nodes_of(
    source: &Source<'_>,
    nodes: &BTreeMap<u32, &Node>,
    room: &mut usize,
    texts: &mut Texts,
) -> NodesForm {
    let paths = &source.gathered.pairing.paths;
    let mut forms = NodesForm::default();
    let mut numbers: BTreeMap<u32, i64> = BTreeMap::new();
    for path in nodes.keys() {
        // Outer paths have lower numbers than inner ones, and come even if no span ended on them.
        let mut way: Vec<u32> = Vec::new();
        let mut at = *path;
        while let Some(found) = paths.get(at).filter(|_| !numbers.contains_key(&at)) {
            way.push(at);
            at = found.outer;
        }
        for path in way.into_iter().rev() {
            let Some(found) = paths.get(path).filter(|_| *room > 0) else { break };
            *room -= 1;
            let parent = numbers.get(&found.outer).copied().unwrap_or(-1);
            numbers.insert(path, forms.parent.len() as i64);
            let node = nodes.get(&path);
            forms.parent.push(parent);
            forms.name.push(texts.number(&source.gathered.pairing.defs[found.def as usize].span.name));
            forms.own.push(node.map_or(0, |node| node.self_ns));
            forms.count.push(node.map_or(0, |node| node.count));
            forms.slices.push(node.map_or_else(Vec::new, |node| slices(&node.slices)));
        }
    }
    forms
}

/// Returns the intervals that are not empty, each with its number.
fn slices(series: &Series<f64>) -> Vec<u64> {
    let slices =
        series.values.iter().enumerate().map(|(index, ns)| (series.first + index, ns.round() as u64));
    slices.filter(|(_, ns)| *ns > 0).flat_map(|(at, ns)| [at as u64, ns]).collect()
}
