//! Names: the strings of labels, and the names of pointers and addresses, from the marks `names` of
//! registries.

use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::values::value::Value;

/// The memory limit for a stream's names. Names beyond it are not kept, and their numbers stay
/// numbers.
pub(crate) const MAX_NAMES_LEN: usize = 32 << 20;

/// The approximate overhead of an entry.
const ENTRY_OVERHEAD: usize = 64;

/// The known names of a session.
#[derive(Debug, Clone, Default)]
pub struct Labels {
    strings: HashMap<(Numbers, u64), Arc<str>>,
    /// All texts, each once.
    texts: HashSet<Arc<str>>,
    /// Three maps by value and clock reading: names in either role, of pointers, and of addresses.
    names: [BTreeMap<(u64, u64), (NamedAt, Given)>; 3],
    /// [`Labels::labels`] gives none: some are the values of a sensitive parameter, and it is not
    /// known which.
    is_unlisted: bool,
}

/// The time and place of an event that gives a name. Of two names that a value has at one clock
/// reading, the later one in this order counts. So the order of reading does not matter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedAt {
    /// The clock reading of the event.
    pub ticks: u64,
    /// The thread of the event's lane.
    pub thread: u32,
    /// The fingerprint of its registry.
    pub registry: u64,
    /// The bit of its kind.
    pub kind: u8,
    /// The number of events in the lane before it.
    pub before: u64,
}

/// The name of a pointer or an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressName<'l> {
    /// This text.
    Text(&'l str),
    /// The string of this number, which the stream does not have.
    Number(u64),
}

/// A space of numbers that stand for strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Numbers(u64);

/// A name in an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Given {
    Text(Arc<str>),
    Number(Numbers, u64),
    /// The name of another pointer or address.
    Like(Of, u64),
}

/// The role of a value with a name. The order is that of [`Labels::names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// A pointer or an address, in either role.
    Either,
    Pointer,
    Addr,
}

impl Numbers {
    /// Values of the type `label`, which all registries of a session share.
    pub const LABELS: Numbers = Numbers(0);

    /// A space in which no number has a string.
    const NONE: Numbers = Numbers(1);

    /// Returns the space of the parameters of this name in a registry of this name: FNV-1a of both.
    pub fn of(registry: &str, param: &str) -> Numbers {
        let bytes = registry.bytes().chain([0]).chain(param.bytes());
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        Numbers(bytes.fold(0xcbf2_9ce4_8422_2325, mix).max(2))
    }
}

impl NamedAt {
    /// Returns the time of an event of a log that is always read in one order. Of two names, the
    /// one that is read last counts.
    pub fn in_order(ticks: u64) -> NamedAt {
        NamedAt { ticks, ..NamedAt::default() }
    }
}

impl<'l> AddressName<'l> {
    /// Returns the name, if known.
    pub fn text(self) -> Option<&'l str> {
        match self {
            AddressName::Text(text) => Some(text),
            AddressName::Number(_) => None,
        }
    }

    /// Returns the number of a name whose string the stream does not have.
    pub fn number(self) -> Option<u64> {
        match self {
            AddressName::Text(_) => None,
            AddressName::Number(number) => Some(number),
        }
    }
}

impl Labels {
    /// Returns the string for a label.
    pub fn string(&self, label: u64) -> Option<&str> {
        self.string_of(Numbers::LABELS, label)
    }

    /// Returns the string for a number of a registry's own space.
    pub fn string_of(&self, numbers: Numbers, number: u64) -> Option<&str> {
        self.strings.get(&(numbers, number)).map(|text| &**text)
    }

    /// Returns the name of an address at a clock reading: the latest name until then. A name that
    /// is not a number also applies before its event.
    pub fn name_of(&self, address: u64, ticks: u64) -> Option<AddressName<'_>> {
        self.look_up(Of::Addr, address, ticks)
    }

    /// Returns the name of a pointer. It may differ from that of the address with the same number.
    pub fn name_of_pointer(&self, pointer: u64, ticks: u64) -> Option<AddressName<'_>> {
        self.look_up(Of::Pointer, pointer, ticks)
    }

    /// Returns the name of a value at a clock reading, if it is an address or a pointer with a
    /// name.
    #[inline]
    pub fn name_of_value(&self, value: &Value<'_>, ticks: u64) -> Option<AddressName<'_>> {
        // Most sessions have no names.
        if self.names.iter().all(BTreeMap::is_empty) {
            return None;
        }
        match *value {
            Value::Addr(address) => self.name_of(address, ticks),
            Value::Pointer(pointer) => self.name_of_pointer(pointer, ticks),
            _ => None,
        }
    }

    /// Returns all labels with their strings, in any order. None if the reader hides sensitive
    /// values, and a sensitive parameter stands for labels.
    pub fn labels(&self) -> impl Iterator<Item = (u64, &str)> {
        let labels = self
            .strings
            .iter()
            .filter(|_| !self.is_unlisted)
            .filter(|((numbers, _), _)| *numbers == Numbers::LABELS);
        labels.map(|((_, number), text)| (*number, &**text))
    }

    /// Returns all names of pointers and addresses, by value and clock reading in each role: the
    /// role, the value, the reading, and the name if it is known.
    #[doc(hidden)]
    pub fn address_names(&self) -> impl Iterator<Item = (&'static str, u64, u64, Option<&str>)> {
        let roles = [("either", Of::Either), ("pointer", Of::Pointer), ("addr", Of::Addr)];
        roles.into_iter().flat_map(move |(role, of)| {
            self.names[of as usize].iter().map(move |((value, ticks), (_, given))| {
                let name = match given {
                    Given::Text(text) => Some(&**text),
                    Given::Number(numbers, number) => self.string_of(*numbers, *number),
                    Given::Like(..) => self.look_up(of, *value, *ticks).and_then(AddressName::text),
                };
                (role, *value, *ticks, name)
            })
        })
    }

    /// Sets whether [`Labels::labels`] gives none.
    pub(crate) fn set_unlisted(&mut self, is_unlisted: bool) {
        self.is_unlisted = is_unlisted;
    }

    /// Returns the number of strings for numbers.
    pub fn strings(&self) -> usize {
        self.strings.len()
    }

    /// Returns the number of names of addresses and pointers.
    pub fn names(&self) -> usize {
        self.names.iter().map(BTreeMap::len).sum()
    }

    /// Stores the string of a number; the latest string counts. It takes its bytes from `room`, and
    /// is not stored if there are not enough.
    pub fn define(&mut self, numbers: Numbers, number: u64, text: &[u8], room: &mut usize) {
        let text = String::from_utf8_lossy(text);
        let is_known = self.string_of(numbers, number).is_some_and(|known| *known == *text);
        if !is_known && take(room, ENTRY_OVERHEAD + text.len()) {
            self.strings.insert((numbers, number), text.into());
        }
    }

    /// Stores the name of a value from a clock reading on, under the same limit as
    /// [`Labels::define`].
    pub(crate) fn give(&mut self, of: Of, value: u64, at: NamedAt, name: Given, room: &mut usize) {
        match self.names[of as usize].entry((value, at.ticks)) {
            Entry::Occupied(mut known) if known.get().0 <= at => {
                known.insert((at, name));
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(free) => {
                if take(room, ENTRY_OVERHEAD) {
                    free.insert((at, name));
                }
            }
        }
    }

    /// Stores a text as the name of a value. An empty text removes the name.
    pub(crate) fn give_text(&mut self, of: Of, value: u64, at: NamedAt, text: &[u8], room: &mut usize) {
        let text = String::from_utf8_lossy(text);
        let text = match self.texts.get(&*text) {
            _ if text.is_empty() => return,
            Some(known) => known.clone(),
            None if !take(room, ENTRY_OVERHEAD + text.len()) => return,
            None => {
                let text: Arc<str> = text.into();
                self.texts.insert(text.clone());
                text
            }
        };
        self.give(of, value, at, Given::Text(text), room);
    }

    /// Returns the strings and names of an event's values, each with the number space of its
    /// parameter. Returns `None` if they have none.
    pub(crate) fn of_values<'v>(
        &self,
        values: impl Iterator<Item = (Option<Numbers>, Value<'v>)>,
        ticks: u64,
    ) -> Option<Labels> {
        let mut of_values = Labels::default();
        for (numbers, value) in values {
            match value {
                Value::Array(array) => {
                    array.iter().for_each(|value| self.copy(numbers, &value, ticks, &mut of_values));
                }
                value => self.copy(numbers, &value, ticks, &mut of_values),
            }
        }
        (of_values.strings() + of_values.names() > 0).then_some(of_values)
    }

    /// Copies the string or the name of a value.
    fn copy(&self, numbers: Option<Numbers>, value: &Value<'_>, ticks: u64, to: &mut Labels) {
        let (of, address) = match *value {
            Value::Label(number) => return self.copy_string(Numbers::LABELS, number, to),
            Value::Word(number) | Value::Unsigned(number) => {
                return numbers.into_iter().for_each(|numbers| self.copy_string(numbers, number, to));
            }
            Value::Pointer(pointer) => (Of::Pointer, pointer),
            Value::Addr(address) => (Of::Addr, address),
            _ => return,
        };
        let name = match self.look_up(of, address, ticks) {
            None => return,
            Some(AddressName::Text(text)) => Given::Text(text.into()),
            // A space in which no string is known.
            Some(AddressName::Number(number)) => Given::Number(Numbers::NONE, number),
        };
        to.names[of as usize].insert((address, ticks), (NamedAt::in_order(ticks), name));
    }

    fn copy_string(&self, numbers: Numbers, number: u64, to: &mut Labels) {
        if let Some(text) = self.strings.get(&(numbers, number)) {
            to.strings.insert((numbers, number), text.clone());
        }
    }

    fn look_up(&self, of: Of, value: u64, ticks: u64) -> Option<AddressName<'_>> {
        match self.given(of, value, ticks)? {
            Given::Text(text) => Some(AddressName::Text(text)),
            Given::Number(numbers, number) => Some(
                self.string_of(*numbers, *number).map_or(AddressName::Number(*number), AddressName::Text),
            ),
            // The name of the other value is not looked up in turn: it might be this one.
            Given::Like(of, value) => match self.given(*of, *value, ticks)? {
                Given::Text(text) => Some(AddressName::Text(text)),
                Given::Number(numbers, number) => self.string_of(*numbers, *number).map(AddressName::Text),
                Given::Like(..) => None,
            },
        }
    }

    /// Returns the later of the names that a value has in its own role and in either role.
    fn given(&self, of: Of, value: u64, ticks: u64) -> Option<&Given> {
        let own = name_at(&self.names[of as usize], value, ticks);
        let either = name_at(&self.names[Of::Either as usize], value, ticks);
        match (own, either) {
            (Some((own_at, own)), Some((at, either))) => Some(if own_at < at { either } else { own }),
            (own, either) => own.or(either).map(|(_, given)| given),
        }
    }
}

/// Returns the name of a value at a clock reading, with the time of its event. The time is `None`
/// if the event is later.
fn name_at(
    names: &BTreeMap<(u64, u64), (NamedAt, Given)>,
    value: u64,
    ticks: u64,
) -> Option<(Option<u64>, &Given)> {
    if names.is_empty() {
        return None;
    }
    if let Some((&(named, at), (_, given))) = names.range(..=(value, ticks)).next_back()
        && named == value
    {
        return Some((Some(at), given));
    }
    let (&(named, _), (_, given)) = names.range((value, ticks)..).next()?;
    (named == value && !matches!(given, Given::Number(..))).then_some((None, given))
}

fn take(room: &mut usize, bytes: usize) -> bool {
    let left = room.checked_sub(bytes);
    *room = left.unwrap_or(*room);
    left.is_some()
}
