//! Counts and sums of groups of events, in limited memory.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use telemetry_decode::{Event, EventBatch};
use telemetry_report::figures::distribution::Distribution;
use telemetry_report::figures::keyed::PerEvent;
use telemetry_schema::{Count, Sort};

use super::grouping::{Column, Field, Grouping, is_number};

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
    pub(crate) groups: Vec<Group>,
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
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) events: u64,
    /// In the order of the sums.
    pub(crate) sums: Vec<Sum>,
}

/// Numbers of one parameter.
#[derive(Default)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) whole: i128,
    pub(crate) float: f64,
    /// Some numbers were floats.
    pub(crate) has_floats: bool,
    pub(crate) distribution: Option<Box<Distribution>>,
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
    Thread,
    Session,
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
        self.stride = 1 + 2 * grouping.by.len();
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
                    Source::Thread => event.thread().into(),
                    Source::Session => event.session().id,
                };
                key.extend([u64::from(*form), value]);
            }
            let group = find(&mut self.index, &self.hasher, &mut self.keys, &mut self.groups, &self.key);
            group.events += 1;
            group.sums.resize_with(plan.sums.len(), Sum::default);
            for (sum, source) in group.sums.iter_mut().zip(&plan.sums) {
                if let Some((param, sort)) = *source {
                    sum.add(row.bits(param), sort, !grouping.percentiles.is_empty());
                }
            }
        }
        self.limit(grouping, 2);
    }

    /// Adds later groups.
    pub(crate) fn merge(&mut self, later: Groups, grouping: &Grouping) {
        self.stride = 1 + 2 * grouping.by.len();
        let numbers: Vec<u64> = later.texts.by_number.iter().map(|text| self.texts.number(text)).collect();
        let forms: Vec<u32> = later.forms.iter().map(|form| form_number(&mut self.forms, *form)).collect();
        for (key, group) in later.keys.chunks(self.stride).zip(later.groups) {
            self.key.clear();
            self.key.push(key[0]);
            for column in key[1..].chunks(2) {
                let form = column[0] as usize;
                let is_text = later.forms[form] == Form::Text;
                let value = if is_text { numbers[column[1] as usize] } else { column[1] };
                self.key.extend([forms[form].into(), value]);
            }
            let known = find(&mut self.index, &self.hasher, &mut self.keys, &mut self.groups, &self.key);
            known.events += group.events;
            known.sums.resize_with(group.sums.len(), Sum::default);
            known.sums.iter_mut().zip(group.sums).for_each(|(sum, later)| sum.merge(later));
        }
        self.dropped.groups += later.dropped.groups;
        self.dropped.events += later.dropped.events;
        self.dropped.error += later.dropped.error;
        self.drop_sums(later.dropped_sums);
        self.without += later.without;
        self.limit(grouping, 2);
    }

    /// Drops the rarest groups if there are more than `times` the limit.
    pub(crate) fn limit(&mut self, grouping: &Grouping, times: usize) {
        let most = if grouping.percentiles.is_empty() { MAX_GROUPS } else { MAX_WITH_PERCENTILES };
        if self.groups.len() > most * times {
            self.keep(most);
        }
        let mut left = self.groups.len();
        while self.texts.len > MAX_TEXTS * times && left > 1 {
            left /= 2;
            self.keep(left);
        }
    }

    /// Keeps this many groups, those with the most events, and their texts.
    fn keep(&mut self, most: usize) {
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        order.sort_by_key(|group| Reverse(self.groups[*group].events));
        let error = order.get(most).map_or(0, |group| self.groups[*group].events);
        self.dropped.error += error;
        let old = std::mem::take(&mut self.groups);
        let (keys, texts) = (std::mem::take(&mut self.keys), std::mem::take(&mut self.texts));
        self.index.clear();
        // Plans have numbers of texts.
        self.plans = PerEvent::default();
        let mut kept = vec![false; old.len()];
        order.iter().take(most).for_each(|group| kept[*group] = true);
        for (number, (group, key)) in old.into_iter().zip(keys.chunks(self.stride)).enumerate() {
            if !kept[number] {
                self.dropped.groups += 1;
                self.dropped.events += group.events;
                self.drop_sums(group.sums);
                continue;
            }
            self.key.clear();
            self.key.extend_from_slice(key);
            for column in self.key[1..].chunks_mut(2) {
                if self.forms[column[0] as usize] == Form::Text {
                    column[1] = self.texts.number(&texts.by_number[column[1] as usize]);
                }
            }
            *find(&mut self.index, &self.hasher, &mut self.keys, &mut self.groups, &self.key) = group;
        }
    }

    fn drop_sums(&mut self, sums: Vec<Sum>) {
        self.dropped_sums.resize_with(sums.len().max(self.dropped_sums.len()), Sum::default);
        self.dropped_sums.iter_mut().zip(sums).for_each(|(sum, dropped)| sum.merge(dropped));
    }

    /// Returns the groups, each with its session and with form and value of its columns.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&Group, u64, Vec<(Form, u64)>)> {
        self.groups.iter().zip(self.keys.chunks(self.stride.max(1))).map(|(group, key)| {
            let columns = key[1..].chunks(2).map(|column| (self.forms[column[0] as usize], column[1]));
            (group, key[0], columns.collect())
        })
    }

    /// Returns a text by its number.
    pub(crate) fn text(&self, number: u64) -> &[u8] {
        &self.texts.by_number[number as usize]
    }
}

/// Returns the group of a key, which is made if there is none.
fn find<'g>(
    index: &mut HashTable<u32>,
    hasher: &DefaultHashBuilder,
    keys: &mut Vec<u64>,
    groups: &'g mut Vec<Group>,
    key: &[u64],
) -> &'g mut Group {
    let key_of = |keys: &[u64], group: u32| {
        let start = group as usize * key.len();
        start..(start + key.len()).min(keys.len())
    };
    let hash = hasher.hash_one(key);
    let found = index.find(hash, |group| keys[key_of(keys, *group)] == *key).copied();
    let group = found.unwrap_or_else(|| {
        let new = groups.len() as u32;
        keys.extend_from_slice(key);
        groups.push(Group::default());
        index.insert_unique(hash, new, |group| hasher.hash_one(&keys[key_of(keys, *group)]));
        new
    });
    &mut groups[group as usize]
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

impl Plan {
    /// Returns none for an event that lacks a column.
    fn new(event: &Event<'_>, grouping: &Grouping, texts: &mut Texts, forms: &mut Vec<Form>) -> Option<Plan> {
        let (schema, registry) = (event.schema(), event.registry());
        let find = |name: &String| schema.params.iter().position(|param| param.name == *name);
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
            Form::Thread | Form::Numbered(..) | Form::Scalar(_, Sort::Label) => true,
            Form::Text | Form::Scalar(..) | Form::Session => false,
        });
        let sum = |name: &String| {
            let index = find(name)?;
            let param = &schema.params[index];
            (param.count == Count::One && is_number(param.sort)).then_some((index, param.sort))
        };
        Some(Plan { columns, sums: grouping.sums.iter().map(sum).collect(), needs_session })
    }
}

impl Sum {
    fn add(&mut self, bits: u64, sort: Sort, has_percentiles: bool) {
        let float = match sort {
            Sort::F32 => Some(f64::from(f32::from_bits(bits as u32))),
            Sort::F64 => Some(f64::from_bits(bits)),
            Sort::Pointer | Sort::Addr | Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => None,
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 | Sort::Bool => None,
            Sort::String | Sort::Bytes | Sort::Label | Sort::Named(_) => None,
        };
        let is_signed = sort.int_range().is_some_and(|range| *range.start() < 0);
        let distribution = has_percentiles.then(|| self.distribution.get_or_insert_default());
        self.count += 1;
        match float {
            Some(number) => {
                self.has_floats = true;
                self.float += number;
                distribution.into_iter().for_each(|all| all.add_float(number));
            }
            None if is_signed => {
                self.whole += i128::from(bits as i64);
                distribution.into_iter().for_each(|all| all.add_signed(bits as i64));
            }
            None => {
                self.whole += i128::from(bits);
                distribution.into_iter().for_each(|all| all.add_unsigned(bits));
            }
        }
    }

    fn merge(&mut self, later: Sum) {
        self.count += later.count;
        self.whole += later.whole;
        self.float += later.float;
        self.has_floats |= later.has_floats;
        match (&mut self.distribution, later.distribution) {
            (Some(own), Some(later)) => own.merge(&later),
            (own @ None, later) => *own = later,
            (Some(_), None) => {}
        }
    }

    /// Adds the numbers of the same group under another key.
    pub(crate) fn join(&mut self, other: &Sum) {
        self.count += other.count;
        self.whole += other.whole;
        self.float += other.float;
        self.has_floats |= other.has_floats;
        if let Some(other) = &other.distribution {
            self.distribution.get_or_insert_default().merge(other);
        }
    }
}
