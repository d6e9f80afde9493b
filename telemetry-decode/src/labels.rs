//! Names: the strings of labels, and what pointers and addresses are called, as the marks `names` of relations tell it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::value::Value;

/// Bytes for the names of a stream. What is beyond them is not kept: numbers stay numbers.
pub(crate) const ROOM: usize = 32 << 20;

/// Bytes of an entry beside its text, about.
const ENTRY: usize = 64;

/// The names of a session that are known.
#[derive(Debug, Clone, Default)]
pub struct Labels {
    strings: HashMap<(Numbers, u64), Arc<str>>,
    /// Of what has a name of its own: each once.
    texts: HashSet<Arc<str>>,
    /// Of what is either, of pointers, and of addresses: by value and the clock reading that it was told at.
    names: [BTreeMap<(u64, u64), Given>; 3],
}

/// What a pointer or an address is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Called<'l> {
    /// So.
    Text(&'l str),
    /// As the string of this number, which the stream does not have.
    Number(u64),
}

/// Whose numbers stand for strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Numbers(u64);

/// A name as it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Given {
    Text(Arc<str>),
    Number(Numbers, u64),
    /// As a pointer or an address that has a name of its own.
    Like(Of, u64),
}

/// What has a name. The order is that of [`Labels::names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// A pointer or an address, whichever the value is taken for.
    Either,
    Pointer,
    Addr,
}

impl Numbers {
    /// Values of the sort `label`, which all relations of a session share.
    pub const LABELS: Numbers = Numbers(0);

    /// Values of the parameters of this name in a registry of this name: FNV-1a of both.
    pub fn of(registry: &str, param: &str) -> Numbers {
        let bytes = registry.bytes().chain([0]).chain(param.bytes());
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        Numbers(bytes.fold(0xcbf2_9ce4_8422_2325, mix).max(1))
    }
}

impl<'l> Called<'l> {
    /// The name, if it is known.
    pub fn text(self) -> Option<&'l str> {
        match self {
            Called::Text(text) => Some(text),
            Called::Number(_) => None,
        }
    }
}

impl Labels {
    /// The string that a label stands for.
    pub fn string(&self, label: u64) -> Option<&str> {
        self.string_of(Numbers::LABELS, label)
    }

    /// The string that a number of a relation's own stands for.
    pub fn string_of(&self, numbers: Numbers, number: u64) -> Option<&str> {
        self.strings.get(&(numbers, number)).map(|text| &**text)
    }

    /// What an address is called at a clock reading: the latest that was told until then. A name that is no number
    /// was there before it was told.
    pub fn name_of(&self, address: u64, ticks: u64) -> Option<Called<'_>> {
        self.look_up(Of::Addr, address, ticks)
    }

    /// The same of a pointer, which may have another name than the address of that number.
    pub fn name_of_pointer(&self, pointer: u64, ticks: u64) -> Option<Called<'_>> {
        self.look_up(Of::Pointer, pointer, ticks)
    }

    /// What a value is called at a clock reading, if it is an address or a pointer and has a name.
    #[inline]
    pub fn name_of_value(&self, value: &Value<'_>, ticks: u64) -> Option<Called<'_>> {
        match *value {
            Value::Addr(address) => self.name_of(address, ticks),
            Value::Pointer(pointer) => self.name_of_pointer(pointer, ticks),
            _ => None,
        }
    }

    /// Number of strings that numbers stand for.
    pub fn strings(&self) -> usize {
        self.strings.len()
    }

    /// Number of names that were given to addresses and pointers.
    pub fn names(&self) -> usize {
        self.names.iter().map(BTreeMap::len).sum()
    }

    /// Notes the string of a number; the latest counts. It takes so many bytes of `room`, or, if they are not
    /// there, nothing is noted.
    pub fn define(&mut self, numbers: Numbers, number: u64, text: &[u8], room: &mut usize) {
        let text = String::from_utf8_lossy(text);
        let is_known = self.string_of(numbers, number).is_some_and(|known| *known == *text);
        if !is_known && take(room, ENTRY + text.len()) {
            self.strings.insert((numbers, number), text.into());
        }
    }

    /// Notes that a value has a name from a clock reading on, as [`Labels::define`] does.
    pub(crate) fn give(&mut self, of: Of, value: u64, ticks: u64, name: Given, room: &mut usize) {
        let names = &mut self.names[of as usize];
        if names.get(&(value, ticks)) != Some(&name) && take(room, ENTRY) {
            names.insert((value, ticks), name);
        }
    }

    /// Notes that a value has a name of its own. An empty one is none.
    pub(crate) fn give_text(&mut self, of: Of, value: u64, ticks: u64, text: &[u8], room: &mut usize) {
        let text = String::from_utf8_lossy(text);
        let text = match self.texts.get(&*text) {
            _ if text.is_empty() => return,
            Some(known) => known.clone(),
            None if !take(room, ENTRY + text.len()) => return,
            None => {
                let text: Arc<str> = text.into();
                self.texts.insert(text.clone());
                text
            }
        };
        self.give(of, value, ticks, Given::Text(text), room);
    }

    fn look_up(&self, of: Of, value: u64, ticks: u64) -> Option<Called<'_>> {
        match self.given(of, value, ticks)? {
            Given::Text(text) => Some(Called::Text(text)),
            Given::Number(numbers, number) => {
                Some(self.string_of(*numbers, *number).map_or(Called::Number(*number), Called::Text))
            }
            // What that one is called like is not looked for: it might be this.
            Given::Like(of, value) => match self.given(*of, *value, ticks)? {
                Given::Text(text) => Some(Called::Text(text)),
                Given::Number(numbers, number) => self.string_of(*numbers, *number).map(Called::Text),
                Given::Like(..) => None,
            },
        }
    }

    /// The later told of the names that a value has as what it is, and as either.
    fn given(&self, of: Of, value: u64, ticks: u64) -> Option<&Given> {
        let own = told(&self.names[of as usize], value, ticks);
        let either = told(&self.names[Of::Either as usize], value, ticks);
        match (own, either) {
            (Some((own_at, own)), Some((at, either))) => Some(if own_at < at { either } else { own }),
            (own, either) => own.or(either).map(|(_, given)| given),
        }
    }
}

/// The name that a value has at a clock reading, and when it was told; none if it was told later.
fn told(names: &BTreeMap<(u64, u64), Given>, value: u64, ticks: u64) -> Option<(Option<u64>, &Given)> {
    if names.is_empty() {
        return None;
    }
    if let Some((&(named, at), given)) = names.range(..=(value, ticks)).next_back()
        && named == value
    {
        return Some((Some(at), given));
    }
    let (&(named, _), given) = names.range((value, ticks)..).next()?;
    (named == value && !matches!(given, Given::Number(..))).then_some((None, given))
}

fn take(room: &mut usize, bytes: usize) -> bool {
    let left = room.checked_sub(bytes);
    *room = left.unwrap_or(*room);
    left.is_some()
}
