//! Reads a line of `cnv` text from left to right: the mirror of [`super::cnv`].

use telemetry_decode::{Named, Text, Value};
use telemetry_schema::Sort;

use super::quoted;

/// A line, and how far it was read.
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

    /// The clock reading.
    pub(crate) fn clock(&mut self) -> Result<u64, Wrong> {
        self.hex("a clock reading")
    }

    /// The code, aligned with spaces.
    pub(crate) fn code(&mut self) -> Result<u16, Wrong> {
        self.space("code")?;
        while let Some(rest) = self.rest.strip_prefix(b" ") {
            self.rest = rest;
        }
        let before = self.rest;
        let code = self.hex("an event's code")?;
        u16::try_from(code).map_err(|_| self.wrong(before, "an event's code of 16 bits"))
    }

    /// The space before a value.
    pub(crate) fn space(&mut self, of: &str) -> Result<(), Wrong> {
        self.take(b' ').ok_or_else(|| self.wrong(self.rest, &format!("a space and the value of `{of}`")))
    }

    /// Moves to the element of an array, or behind the array if there is no further one.
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

    /// One value of a sort. `repr` is what carries an enum or flags; `scratch` takes strings and bytes.
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
            Sort::Named(_) => Value::Named(Named::new(self.number(repr)?)),
            Sort::F32 | Sort::F64 => Value::F64(self.float()?),
            Sort::Bool => Value::Bool(self.bool()?),
            Sort::String => {
                self.string(scratch, "a string in double quotes")?;
                Value::String(Text(scratch))
            }
            Sort::Bytes => {
                self.bytes(scratch)?;
                Value::Bytes(scratch)
            }
        })
    }

    /// Nothing is left.
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
        if into.len() % 2 != 0 || !into.iter().all(u8::is_ascii_hexdigit) {
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
    use super::*;

    #[test]
    fn floats_read_back_as_c_writes_them() {
        for x in [0.0, -0.0, 1.5, -2.5e-10, 1e300, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(read(x).to_bits(), x.to_bits(), "{x}");
        }
        assert!(read(f64::NAN).is_nan() && read(f64::NAN).is_sign_positive());
        assert!(read(-f64::NAN).is_nan() && read(-f64::NAN).is_sign_negative());
    }

    fn read(x: f64) -> f64 {
        let mut text = Vec::new();
        super::super::float::general_10(&mut text, x);
        let value = CnvLine::new(&text).value(Sort::F64, Sort::F64, &mut Vec::new()).unwrap().as_f64();
        value.unwrap()
    }
}
