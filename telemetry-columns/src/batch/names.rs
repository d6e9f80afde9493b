//! The texts of a column with a dictionary.

use std::collections::HashMap;
use std::sync::Arc;

use crate::batch::data::Runs;
use crate::batch::plan::NONE;

/// A batch with more texts than these ends its dictionary, and so with more bytes.
const MAX_TEXTS: usize = 1 << 14;
const MAX_BYTES: usize = 1 << 20;

/// The number of recent names that are found without a search. A power of two.
const RECENT: usize = 64;

/// The dictionary of a column, which grows with its rows.
#[derive(Debug, Default)]
pub(crate) struct Names {
    texts: Arc<Runs>,
    keys: HashMap<Box<str>, u32>,
    recent: Recent,
}

/// By the low bits of a number: the session or 0, the number, and the key of its name. Empty before
/// the first name, because many columns never have one.
type Recent = Vec<(u64, u64, u32)>;

/// Returns the list of recent names without any.
fn no_recent() -> Recent {
    // No number is looked up where its complement has its place, so these entries match none.
    (0..RECENT as u64).map(|index| (0, !index, 0)).collect()
}

impl Names {
    /// Returns the key of a number's name, or [`NONE`] if `name` returns none. Numbers of enums and
    /// flags have the session 0, since their names are the same in all.
    #[inline]
    pub(crate) fn key<S: AsRef<str>>(
        &mut self,
        session: u64,
        number: u64,
        name: impl FnOnce() -> Option<S>,
    ) -> u64 {
        let place = number as usize % RECENT;
        if let Some((of, known, key)) = self.recent.get(place)
            && (*of, *known) == (session, number)
        {
            return (*key).into();
        }
        // A number without a name is looked up each time, since it may get one.
        let Some(name) = name() else { return NONE };
        let key = self.key_of_text(name.as_ref());
        if self.recent.is_empty() {
            self.recent = no_recent();
        }
        self.recent[place] = (session, number, key);
        key.into()
    }

    /// Forgets which number has which name, because another version may have other names.
    pub(crate) fn forget_numbers(&mut self) {
        self.recent = Vec::new();
    }

    /// Ends the rows of a batch. Returns their texts.
    pub(crate) fn end_batch(&mut self) -> Arc<Runs> {
        let texts = self.texts.clone();
        let keys = std::mem::take(&mut self.keys);
        *self = match texts.len() > MAX_TEXTS || texts.bytes.len() > MAX_BYTES {
            true => Names::default(),
            false => Names { texts: texts.clone(), keys, ..Names::default() },
        };
        texts
    }

    #[cold]
    #[inline(never)]
    fn key_of_text(&mut self, text: &str) -> u32 {
        if let Some(key) = self.keys.get(text) {
            return *key;
        }
        let texts = Arc::make_mut(&mut self.texts);
        let key = texts.len() as u32;
        texts.bytes.extend_from_slice(text.as_bytes());
        texts.end_row();
        self.keys.insert(text.into(), key);
        key
    }
}
