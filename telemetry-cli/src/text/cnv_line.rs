//! Reads a line of `cnv` text from left to right, as [`super::cnv`] wrote it.

use telemetry_decode::{EnumValue, RawStr, Value};
use telemetry_schema::Sort;

use super::cnv_registries::TextRegistries;
use super::quoted;

/// A line, and the position up to which it was read.
#[derive(Clone)]
pub(crate) struct CnvLine<'a> {
    text: &'a [u8],
    rest: &'a [u8],
}

/// Why a line could not be read: what was found, what was expected, and the column.
pub(crate) type Wrong = String;

impl<'a> CnvLine<'a> {
    /// Starts at the first byte of a line without its line end.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        CnvLine { text, rest: text }
    }

    /// Reads the clock reading.
    pub(crate) fn clock(&mut self) -> Result<u64, Wrong> {
        self.hex("a clock reading")
    }

    /// Reads the name of the registry, if the line has one, and the code, which is aligned with
    /// spaces.
    pub(crate) fn code(&mut self, known: &TextRegistries) -> Result<(Option<&'a str>, u16), Wrong> {
        self.space("code")?;
        while let Some(rest) = self.rest.strip_prefix(b" ") {
            self.rest = rest;
        }
        let name = self.registry(known)?;
        let before = self.rest;
        let code = self.hex("an event's code")?;
        let code = u16::try_from(code).map_err(|_| self.wrong(before, "an event's code of 16 bits"))?;
        Ok((name, code))
    }

    fn registry(&mut self, known: &TextRegistries) -> Result<Option<&'a str>, Wrong> {
        let end = self.rest.iter().position(|byte| matches!(byte, b':' | b' '));
        let Some((name, rest)) = end.and_then(|end| self.rest.split_at_checked(end)) else { return Ok(None) };
        let Some(rest) = rest.strip_prefix(b":") else { return Ok(None) };
        let name = std::str::from_utf8(name).ok().filter(|name| known.has(name)).ok_or_else(|| {
            let names: Vec<_> = known.given().iter().map(|given| format!("`{}`", given.name)).collect();
            let expected = format!("a code, or an event of registry {}", names.join(" or "));
            self.wrong(self.rest, &expected) + "; help: give each registry with --registry FILE"
        })?;
        self.rest = rest;
        Ok(Some(name))
    }

    /// Reads the space before a value.
    pub(crate) fn space(&mut self, of: &str) -> Result<(), Wrong> {
        self.take(b' ').ok_or_else(|| self.wrong(self.rest, &format!("a space and the value of `{of}`")))
    }

    /// Moves to the next element of an array, or past the array at its end.
    pub(crate) fn has_element(&mut self, index: usize) -> Result<bool, Wrong> {
        if index == 0 {
            self.take(b'[').ok_or_else(|| self.wrong(self.rest, "an array in `[` and `]`"))?;
            return Ok(self.take(b']').is_none());
        }
        if self.take(b']').is_some() {
            return Ok(false);
        }
        self.take(b',').map(|()| true).ok_or_else(|| self.wrong(self.rest, "`,` or `]`"))
    }

    /// Reads one value of a sort. `repr` is the sort that carries an enum or flags. `scratch` takes
    /// strings and bytes.
    pub(crate) fn value<'s>(
        &mut self,
        sort: Sort,
        repr: Sort,
        scratch: &'s mut Vec<u8>,
    ) -> Result<Value<'s>, Wrong> {
        Ok(match sort {
            Sort::Pointer => Value::Pointer(self.hex("a pointer")?),
            Sort::Addr => Value::Addr(self.hex("an address")?),
            Sort::Word => Value::Word(self.hex("a word")?),
            Sort::Label => Value::Label(self.hex("a label")?),
            Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => Value::Unsigned(self.number(sort)? as u64),
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => Value::Signed(self.number(sort)? as i64),
            Sort::Named(_) => Value::Named(EnumValue::new(self.number(repr)?)),
            Sort::F32 | Sort::F64 => Value::F64(self.float()?),
            Sort::Bool => Value::Bool(self.bool()?),
            Sort::String => {
                self.string(scratch, "a string in double quotes")?;
                Value::String(RawStr(scratch))
            }
            Sort::Bytes => {
                self.bytes(scratch)?;
                Value::Bytes(scratch)
            }
        })
    }

    /// Checks that nothing is left of the line.
    pub(crate) fn end(&self, event: &str) -> Result<(), Wrong> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(self.wrong(self.rest, &format!("the line's end, since `{event}` has no further parameter")))
    }

    fn hex(&mut self, what: &str) -> Result<u64, Wrong> {
        let before = self.rest;
        let wrong = |line: &Self| line.wrong(before, &format!("{what} in hexadecimal, of 64 bits"));
        let mut number = 0_u64;
        while let Some((digit, rest)) = self.rest.split_first()
            && let Some(digit) = (*digit as char).to_digit(16)
        {
            if number >> 60 != 0 {
                return Err(wrong(self));
            }
            number = number << 4 | u64::from(digit);
            self.rest = rest;
        }
        if self.rest.len() == before.len() { Err(wrong(self)) } else { Ok(number) }
    }

    fn number(&mut self, repr: Sort) -> Result<i128, Wrong> {
        let before = self.rest;
        let sign = if self.take(b'-').is_some() { -1 } else { 1 };
        let number = i128::from(self.hex("a number")?) * sign;
        if repr.int_range().is_some_and(|range| range.contains(&number)) {
            return Ok(number);
        }
        Err(self.wrong(before, &format!("a number that fits {}", repr.name().unwrap_or_default())))
    }

    fn float(&mut self) -> Result<f64, Wrong> {
        let end = self.rest.iter().position(|byte| matches!(byte, b' ' | b',' | b']'));
        let (text, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        let number = number.ok_or_else(|| self.wrong(self.rest, "a floating-point number"))?;
        self.rest = rest;
        Ok(number)
    }

    fn bool(&mut self) -> Result<bool, Wrong> {
        let value = if self.take(b'0').is_some() { Some(false) } else { self.take(b'1').map(|()| true) };
        value.ok_or_else(|| self.wrong(self.rest, "0 or 1"))
    }

    fn string(&mut self, into: &mut Vec<u8>, what: &str) -> Result<(), Wrong> {
        self.rest = quoted::unquote(self.rest, into).ok_or_else(|| self.wrong(self.rest, what))?;
        Ok(())
    }

    fn bytes(&mut self, into: &mut Vec<u8>) -> Result<(), Wrong> {
        let before = self.rest;
        let what = "bytes in double quotes, two hexadecimal digits each";
        self.string(into, what)?;
        if !into.len().is_multiple_of(2) || !into.iter().all(u8::is_ascii_hexdigit) {
            return Err(self.wrong(before, what));
        }
        let nibble = |byte: u8| (byte as char).to_digit(16).unwrap_or_default() as u8;
        for index in 0..into.len() / 2 {
            into[index] = nibble(into[2 * index]) << 4 | nibble(into[2 * index + 1]);
        }
        into.truncate(into.len() / 2);
        Ok(())
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.rest = self.rest.strip_prefix(&[byte])?;
        Some(())
    }

    fn wrong(&self, at: &[u8], expected: &str) -> Wrong {
        let column = self.text.len() - at.len() + 1;
        let end = at.iter().position(|byte| *byte == b' ').filter(|end| *end > 0).unwrap_or(at.len());
        let mut found = Vec::new();
        quoted::escaped(&mut found, &at[..end.min(40)]);
        let found = match end {
            0 => "the line's end".to_string(),
            _ => format!("`{}`", String::from_utf8_lossy(&found)),
        };
        format!("column {column}: {found}, expected {expected}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use telemetry_schema::Registry;

    use super::*;
    use crate::text::{cnv, float, txt_of_cnv::TxtOfCnv};

    /// Converts bits or bytes to a value of a sort.
    fn value_of(sort: Sort, bits: u64, bytes: &[u8]) -> Value<'_> {
        let fits = |n: i128| sort.int_range().is_some_and(|range| range.contains(&n));
        match sort {
            Sort::Pointer => Value::Pointer(bits),
            Sort::Addr => Value::Addr(bits),
            Sort::Word => Value::Word(bits),
            Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => {
                Value::Unsigned((0..64).map(|shift| bits >> shift).find(|n| fits((*n).into())).unwrap_or(0))
            }
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => {
                let shifted = (0..64).map(|shift| bits as i64 >> shift);
                Value::Signed(shifted.into_iter().find(|n| fits((*n).into())).unwrap_or(0))
            }
            Sort::F32 => Value::F32(f32::from_bits(bits as u32)),
            Sort::F64 => Value::F64(f64::from_bits(bits)),
            Sort::Bool => Value::Bool(bits & 1 != 0),
            Sort::String => Value::String(RawStr(bytes)),
            Sort::Bytes => Value::Bytes(bytes),
            Sort::Label => Value::Label(bits),
            Sort::Named(_) => Value::Named(EnumValue::new((bits as i64).into())),
        }
    }

    /// Rounds a float to the number that its text of ten digits gives.
    fn rounded(value: Value<'_>) -> Value<'_> {
        let x = match value {
            Value::F32(x) => x.into(),
            Value::F64(x) => x,
            other => return other,
        };
        // Text has only the sign of a NaN.
        let x = if x.is_nan() { f64::NAN.copysign(x) } else { float::rounded_10(x) };
        Value::F64(x)
    }

    fn registry() -> Registry {
        telemetry_schema::parse(include_str!("../../tests/data/gc.toml")).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn values_read_back(bits: u64, shift in 0..64, bytes: Vec<u8>) {
            let sorts = Sort::ALL.iter().copied().chain([Sort::Named(0)]);
            for sort in sorts {
                let value = value_of(sort, bits >> shift, &bytes);
                let mut text = Vec::new();
                cnv::value(&mut text, &value);
                prop_assert!(!text.contains(&b'\n'));
                text.extend_from_slice(b" 1");
                let repr = if sort == Sort::Named(0) { Sort::I64 } else { sort };
                let (mut line, mut scratch) = (CnvLine::new(&text), Vec::new());
                let back = line.value(sort, repr, &mut scratch).map(rounded);
                prop_assert_eq!(back, Ok(rounded(value)));
                prop_assert_eq!(line.rest, b" 1");
            }
        }

        #[test]
        fn no_text_does_harm(code in prop::sample::select(vec!["10", "20", "102", "FFFF", "gc:10", "telemetry:1", "gc"]), rest: Vec<u8>) {
            let text = [b"A ", code.as_bytes(), b" ", &rest[..]].concat();
            let mut out = b"before".to_vec();
            let registries = TextRegistries::new(vec![registry()]);
            let wrong = TxtOfCnv::new(&registries).line(&mut out, &text);
            let as_expected = if wrong.is_err() { out == b"before" } else { out.ends_with(b" \n") };
            prop_assert!(as_expected, "{:?}", wrong);
        }
    }
}
