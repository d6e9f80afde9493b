//! Counts and sums of groups of events, in limited memory.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};
use telemetry_decode::{Event, EventBatch, Value};
use telemetry_report::figures::keyed::PerEvent;
use telemetry_report::stacks::StackRole;
use telemetry_schema::{Count, Role, Sort};

use super::grouping::{Column, Field, Grouping, is_number};
use super::sum::Sum;
use crate::symbols::{listed, places};

/// The limits of groups: without percentiles, and with them. A distribution takes up to 50 KiB.
const MAX_GROUPS: usize = 1 << 16;
const MAX_WITH_PERCENTILES: usize = 1 << 10;
/// The limit of bytes in the texts of groups.
const MAX_TEXTS: usize = 16 << 20;

/// Counts and sums of groups.
#[derive(Default)]
pub(crate) struct Groups {
    plans: PerEvent<Option<Plan>>,
    /// The groups by key.
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The keys of all groups, `stride` words each: the session, then form and value of each
    /// column.
    keys: Vec<u64>,
    stride: usize,
    /// Number of events of each group.
    counts: Vec<u64>,
    /// The sums of all groups, `width` each, in the order of the options.
    sums: Vec<Sum>,
    width: usize,
    texts: Texts,
    forms: Vec<Form>,
    pub(crate) dropped: Dropped,
    /// The sums of all groups that were dropped.
    pub(crate) dropped_sums: Vec<Sum>,
    /// Number of events that lack a column.
    pub(crate) without: u64,
    /// The key of the current event.
    key: Vec<u64>,
}

/// One group.
pub(crate) struct Group<'a> {
    pub(crate) session: u64,
    /// Form and value of each column.
    pub(crate) columns: Vec<(Form, u64)>,
    pub(crate) events: u64,
    /// In the order of the options.
    pub(crate) sums: &'a [Sum],
}

/// Groups that were dropped because there were too many.
#[derive(Default, Clone, Copy)]
pub(crate) struct Dropped {
    pub(crate) groups: u64,
    pub(crate) events: u64,
    /// The count of a group that is left may be too low by this.
    pub(crate) error: u64,
}

/// How the values of a column are to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    Text,
    /// A number of this type; for a named type, of the registry with this fingerprint.
    Scalar(u64, Sort),
    /// A number that stands for a string, as the parameter of an event of a registry does.
    Numbered(u64, usize, usize),
    /// The number of a call stack.
    Stack,
    /// A text with a function of a call stack in each line.
    Frames,
    /// A text with a place of code in each line.
    Places,
    Thread,
    Session,
}

impl Form {
    /// Returns true if the value is the number of a text.
    fn is_text(self) -> bool {
        matches!(self, Form::Text | Form::Frames | Form::Places)
    }
}

/// Where the columns of an event type come from.
struct Plan {
    columns: Vec<(u32, Source)>,
    sums: Vec<Option<(usize, Sort)>>,
    needs_session: bool,
}

#[derive(Clone, Copy)]
enum Source {
    /// The same text for all events of the type.
    Text(u64),
    Bits(usize),
    Run(usize),
    Array(usize),
    Frames(StackRole),
    Places(usize),
    Thread,
    Session,
}

/// Texts with numbers.
#[derive(Default)]
struct Texts {
    numbers: HashMap<Box<[u8]>, u64>,
    by_number: Vec<Box<[u8]>>,
    len: usize,
}

impl Texts {
    fn number(&mut self, text: &[u8]) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.by_number.len() as u64;
        self.numbers.insert(text.into(), number);
        self.by_number.push(text.into());
        self.len += text.len();
        number
    }
}

impl Groups {
    /// Adds events to their groups.
    pub(crate) fn add_batch(&mut self, batch: &EventBatch<'_>, grouping: &Grouping) {
        self.begin(grouping);
        for row in batch.rows() {
            let event = batch.event(&row);
            let Groups { plans, texts, forms, .. } = self;
            let plan = plans.get(&event, |event| Plan::new(event, grouping, texts, forms));
            let Some(plan) = plan else {
                self.without += 1;
                continue;
            };
            let key = &mut self.key;
            key.clear();
            key.push(if plan.needs_session { event.session().id } else { 0 });
            for (form, source) in &plan.columns {
                let value = match *source {
                    Source::Text(number) => number,
                    Source::Bits(param) => row.bits(param),
                    Source::Run(param) => self.texts.number(event.run(param)),
                    Source::Array(param) => self.texts.number(&array(&event, param)),
                    Source::Frames(role) => self.texts.number(frames(&event, &role).as_bytes()),
                    Source::Places(param) => self.texts.number(places_of(&event, param).as_bytes()),
                    Source::Thread => event.thread().into(),
                    Source::Session => event.session().id,
                };
                key.extend([u64::from(*form), value]);
            }
            let group = find(&mut self.index, &self.hasher, &mut self.keys, &mut self.counts, &self.key);
            self.counts[group] += 1;
            if self.width == 0 {
                continue;
            }
            if group * self.width == self.sums.len() {
                self.sums.resize_with(self.sums.len() + self.width, Sum::default);
            }
            for (sum, source) in self.sums[group * self.width..].iter_mut().zip(&plan.sums) {
                if let Some((param, sort)) = *source {
                    sum.add(row.bits(param), sort, !grouping.percentiles.is_empty());
                }
            }
        }
        self.limit(grouping, self.slack());
    }

    fn begin(&mut self, grouping: &Grouping) {
        self.stride = 1 + 2 * grouping.by.len();
        self.width = grouping.sums.len();
    }

    /// Adds later groups.
    pub(crate) fn merge(&mut self, later: Groups, grouping: &Grouping) {
        self.begin(grouping);
        let numbers: Vec<u64> = later.texts.by_number.iter().map(|text| self.texts.number(text)).collect();
        let forms: Vec<u32> = later.forms.iter().map(|form| form_number(&mut self.forms, *form)).collect();
        let mut sums = later.sums.into_iter();
        for (key, events) in later.keys.chunks(self.stride).zip(later.counts) {
            self.key.clear();
            self.key.push(key[0]);
            for column in key[1..].chunks(2) {
                let form = column[0] as usize;
                let is_text = later.forms[form].is_text();
                let value = if is_text { numbers[column[1] as usize] } else { column[1] };
                self.key.extend([forms[form].into(), value]);
            }
            let known = find(&mut self.index, &self.hasher, &mut self.keys, &mut self.counts, &self.key);
            self.counts[known] += events;
            self.sums.resize_with(self.counts.len() * self.width, Sum::default);
            let known = self.sums[known * self.width..].iter_mut().take(self.width);
            known.zip(sums.by_ref()).for_each(|(sum, later)| sum.merge(later));
        }
        self.dropped.groups += later.dropped.groups;
        self.dropped.events += later.dropped.events;
        self.dropped.error += later.dropped.error;
        self.dropped_sums.resize_with(self.width, Sum::default);
        self.dropped_sums.iter_mut().zip(later.dropped_sums).for_each(|(sum, later)| sum.merge(later));
        self.without += later.without;
        self.limit(grouping, self.slack());
    }

    /// Returns how many times the limit may be passed before groups are dropped. Groups without
    /// sums are small, and to keep groups costs as much as to add them.
    fn slack(&self) -> usize {
        if self.width == 0 { 3 } else { 2 }
    }

    /// Drops the rarest groups if there are more than `times` the limit.
    pub(crate) fn limit(&mut self, grouping: &Grouping, times: usize) {
        let most = if grouping.percentiles.is_empty() { MAX_GROUPS } else { MAX_WITH_PERCENTILES };
        if self.counts.len() > most * times {
            self.keep(most);
        }
        let mut left = self.counts.len();
        while self.texts.len > MAX_TEXTS * times.min(2) && left > 1 {
            left /= 2;
            self.keep(left);
        }
    }

    /// Keeps this many groups, those with the most events, and their texts. There are more groups.
    fn keep(&mut self, most: usize) {
        let mut counts = self.counts.clone();
        let error = *counts.select_nth_unstable_by(most, |x, y| y.cmp(x)).1;
        // Of the groups with just as many events as the largest that goes, the first ones stay.
        let mut places = most - self.counts.iter().filter(|events| **events > error).count();
        self.dropped.error += error;
        let texts = std::mem::take(&mut self.texts);
        self.index.clear();
        // Plans have numbers of texts.
        self.plans = PerEvent::default();
        let mut kept = 0;
        for group in 0..self.counts.len() {
            let events = self.counts[group];
            let sums = group * self.width..(group + 1) * self.width;
            if events < error || (events == error && places == 0) {
                self.dropped.groups += 1;
                self.dropped.events += events;
                self.dropped_sums.resize_with(self.width, Sum::default);
                let dropped = self.sums[sums].iter_mut().map(std::mem::take);
                self.dropped_sums.iter_mut().zip(dropped).for_each(|(sum, dropped)| sum.merge(dropped));
                continue;
            }
            places -= usize::from(events == error);
            // In place, because memory that is freed and allocated again costs more than this.
            for word in 0..self.stride {
                self.keys[kept * self.stride + word] = self.keys[group * self.stride + word];
            }
            let key = &mut self.keys[kept * self.stride..(kept + 1) * self.stride];
            for column in key[1..].chunks_mut(2) {
                if self.forms[column[0] as usize].is_text() {
                    column[1] = self.texts.number(&texts.by_number[column[1] as usize]);
                }
            }
            let hash = hash(&self.hasher, key);
            let hash_of = |group: &u32| hash_at(&self.hasher, &self.keys, *group, self.stride);
            self.index.insert_unique(hash, kept as u32, hash_of);
            self.counts[kept] = events;
            for (from, to) in sums.zip(kept * self.width..) {
                self.sums.swap(from, to);
            }
            kept += 1;
        }
        self.counts.truncate(kept);
        self.keys.truncate(kept * self.stride);
        self.sums.truncate(kept * self.width);
    }

    /// Returns the groups.
    pub(crate) fn each(&self) -> impl Iterator<Item = Group<'_>> {
        self.keys.chunks(self.stride.max(1)).zip(&self.counts).enumerate().map(|(group, (key, events))| {
            let columns = key[1..].chunks(2).map(|column| (self.forms[column[0] as usize], column[1]));
            let sums = &self.sums[group * self.width..(group + 1) * self.width];
            Group { session: key[0], columns: columns.collect(), events: *events, sums }
        })
    }

    /// Returns true if call stacks have to be named.
    pub(crate) fn has_stacks(&self) -> bool {
        self.forms.iter().any(|form| matches!(form, Form::Stack | Form::Places))
    }

    /// Returns a text by its number.
    pub(crate) fn text(&self, number: u64) -> &[u8] {
        &self.texts.by_number[number as usize]
    }
}

/// Returns the group of a key, which is made if there is none.
#[inline]
fn find(
    index: &mut HashTable<u32>,
    hasher: &DefaultHashBuilder,
    keys: &mut Vec<u64>,
    counts: &mut Vec<u64>,
    key: &[u64],
) -> usize {
    let hash = hash(hasher, key);
    let has_key = |group: &u32| keys[*group as usize * key.len()..].iter().zip(key).all(|(x, y)| x == y);
    if let Some(group) = index.find(hash, has_key) {
        return *group as usize;
    }
    let new = counts.len();
    // A few words: a loop costs less than a call of `memcpy`.
    keys.extend(key.iter().copied());
    counts.push(0);
    index.insert_unique(hash, new as u32, |group| hash_at(hasher, keys, *group, key.len()));
    new
}

/// Hashes word by word, which costs less than a hash of bytes.
#[inline]
fn hash(hasher: &DefaultHashBuilder, key: &[u64]) -> u64 {
    let mut hash = hasher.build_hasher();
    key.iter().for_each(|word| hash.write_u64(*word));
    hash.finish()
}

fn hash_at(hasher: &DefaultHashBuilder, keys: &[u64], group: u32, stride: usize) -> u64 {
    let start = group as usize * stride;
    hash(hasher, &keys[start..start + stride])
}

fn form_number(forms: &mut Vec<Form>, form: Form) -> u32 {
    let known = forms.iter().position(|known| *known == form);
    known.unwrap_or_else(|| {
        forms.push(form);
        forms.len() - 1
    }) as u32
}

fn array(event: &Event<'_>, param: usize) -> Vec<u8> {
    event.value(param).map_or_else(Vec::new, |value| value.to_string().into_bytes())
}

/// Returns the functions of a stack that is a list, each in a line.
fn frames(event: &Event<'_>, role: &StackRole) -> String {
    let frames = listed(role, event);
    frames.iter().map(|frame| frame.replace('\n', " ")).collect::<Vec<_>>().join("\n")
}

/// Returns places of code, each in a line.
fn places_of(event: &Event<'_>, param: usize) -> String {
    let Some(Value::Array(places)) = event.value(param) else { return String::new() };
    places.iter().map(|place| place.to_string()).collect::<Vec<_>>().join("\n")
}

impl Plan {
    /// Returns none for an event that lacks a column.
    fn new(event: &Event<'_>, grouping: &Grouping, texts: &mut Texts, forms: &mut Vec<Form>) -> Option<Plan> {
        let (schema, registry) = (event.schema(), event.registry());
        let find = |name: &String| schema.params.iter().position(|param| param.name == *name);
        let listed = StackRole::of(event);
        let mut columns = Vec::new();
        for (_, column) in &grouping.by {
            let (form, source) = match column {
                Column::Field(Field::Event) => {
                    (Form::Text, Source::Text(texts.number(schema.name.as_bytes())))
                }
                Column::Field(Field::Kind) => {
                    (Form::Text, Source::Text(texts.number(event.kind().name.as_bytes())))
                }
                Column::Field(Field::Registry) => {
                    (Form::Text, Source::Text(texts.number(registry.name.as_bytes())))
                }
                Column::Field(Field::Thread) => (Form::Thread, Source::Thread),
                Column::Field(Field::Session) => (Form::Session, Source::Session),
                Column::Param(name) => {
                    let index = find(name)?;
                    let param = &schema.params[index];
                    let fingerprint = event.known_registry().fingerprint;
                    match param.sort {
                        _ if param.role == Some(Role::Stack) => (Form::Stack, Source::Bits(index)),
                        _ if listed.is_some_and(|role| role.stack == index) => {
                            (Form::Frames, Source::Frames(listed?))
                        }
                        _ if places(schema) == Some(index) => (Form::Places, Source::Places(index)),
                        _ if param.count != Count::One => (Form::Text, Source::Array(index)),
                        sort if sort.is_run() => (Form::Text, Source::Run(index)),
                        _ if event.numbers(index).is_some() => {
                            (Form::Numbered(fingerprint, event.index(), index), Source::Bits(index))
                        }
                        Sort::Named(_) => (Form::Scalar(fingerprint, param.sort), Source::Bits(index)),
                        sort => (Form::Scalar(0, sort), Source::Bits(index)),
                    }
                }
            };
            columns.push((form_number(forms, form), source));
        }
        let needs_session = columns.iter().any(|(form, _)| match forms[*form as usize] {
            Form::Thread | Form::Numbered(..) | Form::Stack | Form::Places | Form::Scalar(_, Sort::Label) => {
                true
            }
            Form::Text | Form::Frames | Form::Scalar(..) | Form::Session => false,
        });
        let sum = |name: &String| {
            let index = find(name)?;
            let param = &schema.params[index];
            (param.count == Count::One && is_number(param.sort)).then_some((index, param.sort))
        };
        Some(Plan { columns, sums: grouping.sums.iter().map(sum).collect(), needs_session })
    }
}
