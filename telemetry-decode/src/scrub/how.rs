//! What becomes of a sensitive value.

use telemetry_schema::{Count, Param, Registry, Sensitive, Sort, TypeForm};

use super::siphash::siphash;
use crate::values::value::{EnumValue, RawStr, Value};

/// What becomes of the values of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// A hash by a key, of the same type. Equal values stay equal.
    Hash,
    /// The first characters of a text, the highest bits of a number.
    Truncate,
    /// 0, or nothing.
    Drop,
}

impl Method {
    /// Every method.
    pub const ALL: &[Method] = &[Method::Hash, Method::Truncate, Method::Drop];

    /// Returns its word.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Hash => "hash",
            Method::Truncate => "truncate",
            Method::Drop => "drop",
        }
    }
}

/// What becomes of sensitive values: see [`Reader::scrub`](crate::Reader::scrub).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Scrub {
    /// Of values that are personal.
    pub personal: Method,
    /// Of values that are secret.
    pub secret: Method,
    /// The key of hashes.
    pub key: [u8; 16],
    /// The characters, bytes or bits that [`Method::Truncate`] keeps.
    pub keep: u32,
}

impl Default for Scrub {
    /// Drops all values. The key is zero: set one before you hash.
    fn default() -> Scrub {
        Scrub { personal: Method::Drop, secret: Method::Drop, key: [0; 16], keep: 4 }
    }
}

/// A value with memory of its own.
pub(super) enum New {
    One(Value<'static>),
    Text(Vec<u8>),
    Bytes(Vec<u8>),
    List(Vec<Value<'static>>),
}

impl New {
    pub(super) fn value(&self) -> Value<'_> {
        match self {
            New::One(value) => *value,
            New::Text(text) => Value::String(RawStr(text)),
            New::Bytes(bytes) => Value::Bytes(bytes),
            New::List(list) => Value::Array(list[..].into()),
        }
    }
}

impl Scrub {
    /// Returns the text of the fact `scrubbed` of sessions.
    pub(super) fn text(&self) -> String {
        format!("personal {}, secret {}", self.personal.name(), self.secret.name())
    }

    /// Returns what becomes of the values of a mark.
    pub(super) fn method(&self, sensitive: Sensitive) -> Method {
        match sensitive {
            Sensitive::Personal => self.personal,
            Sensitive::Secret => self.secret,
        }
    }

    /// Returns what stands in place of a value.
    pub(super) fn replace(
        &self,
        registry: &Registry,
        param: &Param,
        sensitive: Sensitive,
        value: &Value<'_>,
    ) -> New {
        let method = self.method(sensitive);
        match value {
            Value::String(text) => New::Text(self.text_of(method, text.0, param.max_len)),
            Value::Bytes(bytes) => New::Bytes(self.bytes_of(method, bytes, param.max_len)),
            Value::Array(_) if method == Method::Drop && matches!(param.count, Count::UpTo(_)) => {
                New::List(Vec::new())
            }
            Value::Array(array) => New::List(
                array.iter().map(|value| self.number(registry, param.sort, method, &value)).collect(),
            ),
            value => New::One(self.number(registry, param.sort, method, value)),
        }
    }

    /// Returns what stands in place of a text, of at most `max` bytes.
    pub(super) fn text_of(&self, method: Method, text: &[u8], max: u32) -> Vec<u8> {
        let mut new = match method {
            Method::Hash => format!("{:016x}", siphash(&self.key, text)).into_bytes(),
            Method::Truncate => {
                let mut kept = Vec::new();
                let mut left = self.keep;
                for chunk in text.utf8_chunks() {
                    let take: String = chunk.valid().chars().take(left as usize).collect();
                    left -= take.chars().count() as u32;
                    kept.extend_from_slice(take.as_bytes());
                }
                kept
            }
            Method::Drop => Vec::new(),
        };
        // Characters of several bytes do not become more: what was not too long is not.
        new.truncate(max as usize);
        new
    }

    fn bytes_of(&self, method: Method, bytes: &[u8], max: u32) -> Vec<u8> {
        let mut new = match method {
            Method::Hash => siphash(&self.key, bytes).to_le_bytes().to_vec(),
            Method::Truncate => bytes[..bytes.len().min(self.keep as usize)].to_vec(),
            Method::Drop => Vec::new(),
        };
        new.truncate(max as usize);
        new
    }

    /// Returns what stands in place of a number, as a value of its type.
    fn number(&self, registry: &Registry, sort: Sort, method: Method, value: &Value<'_>) -> Value<'static> {
        match *value {
            Value::F32(x) => Value::F32(self.float(method, x.into(), 24, 23) as f32),
            Value::F64(x) => Value::F64(self.float(method, x, 53, 52)),
            Value::Bool(truth) => Value::Bool(self.bits(method, truth.into(), 1) & 1 != 0),
            Value::Pointer(n) => Value::Pointer(self.bits(method, n, 64)),
            Value::Addr(n) => Value::Addr(self.bits(method, n, 64)),
            Value::Word(n) => Value::Word(self.bits(method, n, 64)),
            // The string of a label is replaced, so that the number tells nothing.
            Value::Label(n) => Value::Label(if method == Method::Drop { 0 } else { n }),
            Value::Unsigned(n) => Value::Unsigned(self.bits(method, n, width(sort))),
            Value::Signed(n) => Value::Signed(self.signed(method, n, width(sort))),
            Value::Named(named) => {
                Value::Named(EnumValue::new(self.named(registry, sort, method, named.number())))
            }
            Value::String(_) | Value::Bytes(_) | Value::Array(_) => Value::Bool(false),
        }
    }

    /// Returns a number of this many bits.
    fn bits(&self, method: Method, n: u64, width: u32) -> u64 {
        match method {
            Method::Hash => siphash(&self.key, &n.to_le_bytes()) >> (64 - width),
            Method::Truncate => highest(n, self.keep),
            Method::Drop => 0,
        }
    }

    /// Returns a signed number of this many bits.
    fn signed(&self, method: Method, n: i64, width: u32) -> i64 {
        match method {
            Method::Hash => (siphash(&self.key, &n.to_le_bytes()) as i64) >> (64 - width),
            // It has no more bits than the number.
            Method::Truncate => {
                let kept = i128::from(highest(n.unsigned_abs(), self.keep));
                (if n < 0 { -kept } else { kept }) as i64
            }
            Method::Drop => 0,
        }
    }

    /// Returns a float. `whole` is the highest number of bits of whole numbers that it has exactly,
    /// and `fraction` that of its fraction.
    fn float(&self, method: Method, x: f64, whole: u32, fraction: u32) -> f64 {
        match method {
            Method::Hash => (siphash(&self.key, &x.to_bits().to_le_bytes()) >> (64 - whole)) as f64,
            Method::Truncate => {
                // The highest bit is not stored.
                let dropped = fraction.saturating_sub(self.keep.saturating_sub(1)) + (52 - fraction);
                f64::from_bits(x.to_bits() >> dropped << dropped)
            }
            Method::Drop => 0.0,
        }
    }

    /// Returns a value of an enum, or flags, that the type has.
    fn named(&self, registry: &Registry, sort: Sort, method: Method, number: i128) -> i128 {
        let Some(ty) = registry.ty(sort) else { return 0 };
        let hash = || siphash(&self.key, &(number as u64).to_le_bytes());
        let all = ty.values.iter().fold(0, |mask, value| mask | value.number);
        match (method, ty.form) {
            (Method::Hash, TypeForm::Flags) => i128::from(hash()) & all,
            (Method::Hash, TypeForm::Enum) => match ty.values.len() as u64 {
                0 => 0,
                len => ty.values[(hash() % len) as usize].number,
            },
            // Half a name is none.
            (Method::Truncate | Method::Drop, _) => 0,
        }
    }
}

/// Returns a number with its highest bits, and zeros for the others.
fn highest(n: u64, bits: u32) -> u64 {
    let dropped = (u64::BITS - n.leading_zeros()).saturating_sub(bits);
    n.checked_shr(dropped).unwrap_or(0).checked_shl(dropped).unwrap_or(0)
}

/// Returns the number of bits of an integer type.
fn width(sort: Sort) -> u32 {
    match sort {
        Sort::U8 | Sort::I8 => 8,
        Sort::U16 | Sort::I16 => 16,
        Sort::U32 | Sort::I32 => 32,
        Sort::U64 | Sort::I64 | Sort::Pointer | Sort::Addr | Sort::Word | Sort::Label => 64,
        Sort::F32 | Sort::F64 | Sort::Bool | Sort::String | Sort::Bytes | Sort::Named(_) => 64,
    }
}

#[cfg(test)]
mod tests {
    use super::{Method, Scrub, highest};

    #[test]
    fn numbers_keep_their_highest_bits() {
        for (n, bits, expected) in
            [(0, 4, 0), (15, 4, 15), (0b10111, 4, 0b10110), (u64::MAX, 0, 0), (u64::MAX, 64, u64::MAX)]
        {
            assert_eq!(highest(n, bits), expected, "{n:#b}");
        }
        let scrub = Scrub::default();
        assert_eq!(scrub.float(Method::Truncate, 51.523, 53, 52), 48.0);
        assert_eq!(scrub.float(Method::Truncate, f64::from(0.3_f32), 24, 23), 0.28125);
        assert_eq!(scrub.signed(Method::Truncate, i64::MIN, 64), i64::MIN);
        assert_eq!(scrub.signed(Method::Truncate, -100, 8), -96);
    }

    #[test]
    fn texts_keep_their_first_characters() {
        let scrub = Scrub { keep: 2, ..Scrub::default() };
        let text = |text: &[u8]| String::from_utf8(scrub.text_of(Method::Truncate, text, 64)).unwrap();
        assert_eq!(text("größe".as_bytes()), "gr");
        assert_eq!(text("ößt".as_bytes()), "öß");
        assert_eq!(text(b"a\xffbc"), "ab");
    }
}
