//! Encodes values to payloads.

use telemetry_decode::Value;

use super::layout::{Field, HEAD, LEN, Layout, VARIABLE};

/// Appends an event of a tag whose type is declared with this size. An error says why a log cannot
/// have it; then nothing is appended.
pub(super) fn append<'v>(
    out: &mut Vec<u8>,
    tag: u16,
    time: u64,
    declared: u16,
    layout: &Layout,
    mut values: impl Iterator<Item = Value<'v>>,
) -> Result<(), &'static str> {
    let start = out.len();
    let appended = append_all(out, tag, time, declared, layout, &mut values);
    if appended.is_err() {
        out.truncate(start);
    }
    appended
}

fn append_all<'v>(
    out: &mut Vec<u8>,
    tag: u16,
    time: u64,
    declared: u16,
    layout: &Layout,
    values: &mut dyn Iterator<Item = Value<'v>>,
) -> Result<(), &'static str> {
    out.extend(tag.to_be_bytes());
    out.extend(time.to_be_bytes());
    let head = out.len();
    if declared == VARIABLE {
        out.extend([0; LEN]);
    }
    let payload = out.len();
    for field in &layout.fields {
        append_field(out, *field, values.next())?;
    }
    let len = out.len() - payload;
    if declared == VARIABLE {
        let len = u16::try_from(len).map_err(|_| "longer than 65535 bytes")?;
        out[head..payload].copy_from_slice(&len.to_be_bytes());
    } else if len > declared.into() {
        return Err("longer than the log declares");
    } else {
        // Fields that this version does not know.
        out.resize(payload + usize::from(declared), 0);
    }
    debug_assert!(payload >= HEAD);
    Ok(())
}

fn append_field(out: &mut Vec<u8>, field: Field, value: Option<Value<'_>>) -> Result<(), &'static str> {
    // A stream of an older log may lack it.
    let number = || value.map_or(Some(0), |value| value.as_u64()).ok_or("of other parameters");
    let bytes = || value.map_or(Some(&[][..]), |value| value.as_bytes()).ok_or("of other parameters");
    match field {
        Field::Number { bytes } => {
            let number = number()?;
            let skipped = 8 - usize::from(bytes.min(8));
            let all = number.to_be_bytes();
            if all[..skipped].iter().any(|byte| *byte != 0) {
                return Err("with a number that is too large");
            }
            out.extend(&all[skipped..]);
        }
        Field::Log2 => match number()? {
            number if number.is_power_of_two() => out.push(number.trailing_zeros() as u8),
            _ => return Err("with a number that is not a power of two"),
        },
        Field::Rest { .. } => out.extend(bytes()?),
        Field::Ended => {
            let bytes = bytes()?;
            if bytes.contains(&0) {
                return Err("with a NUL in a string");
            }
            out.extend(bytes);
            out.push(0);
        }
        Field::Counted => match value {
            Some(Value::Array(array)) => {
                out.push(u8::try_from(array.len()).map_err(|_| "with more than 255 numbers in an array")?);
                for number in array.iter() {
                    let number = number.as_u64().and_then(|number| u32::try_from(number).ok());
                    out.extend(number.ok_or("with a number that is too large")?.to_be_bytes());
                }
            }
            None => out.push(0),
            Some(_) => return Err("of other parameters"),
        },
    }
    Ok(())
}
