//! What `Encoding` says of lengths and values, against what `put` writes.

use telemetry_format::{Cursor, Encoding, Malformed, put};

/// The bits of a value, and its bytes.
type Written = (u64, Vec<u8>);

fn written<T>(bits: u64, value: T, write: impl FnOnce(&mut Vec<u8>, T)) -> Written {
    let mut bytes = Vec::new();
    write(&mut bytes, value);
    (bits, bytes)
}

fn unsigned(value: u64) -> Written {
    written(value, value, |out, value| _ = put::unsigned(out, value))
}

fn signed(value: i64) -> Written {
    written(value as u64, value, |out, value| _ = put::signed(out, value))
}

fn byte(bits: u64, value: u8) -> Written {
    written(bits, value, |out, value| _ = put::byte(out, value))
}

/// Checks that an encoding reads the shortest and the longest of its values, and states their
/// lengths. A value of another encoding's range is refused.
fn check(encoding: Encoding, values: [Written; 2], refused: Option<Written>) {
    for (bits, bytes) in &values {
        let (mut cursor, mut base) = (Cursor::new(bytes), 0);
        assert_eq!(encoding.bits(&mut cursor, &mut base), Ok(*bits), "{encoding:?}");
        assert!(cursor.is_empty(), "{encoding:?}");
    }
    let [shortest, longest] = values.map(|(_, bytes)| bytes.len());
    assert_eq!(encoding.min_len(), shortest, "{encoding:?}");
    assert_eq!(encoding.max_len(300), longest, "{encoding:?}");
    if let Some((bits, bytes)) = refused {
        let read = encoding.bits(&mut Cursor::new(&bytes), &mut 0);
        assert_eq!(read, Err(Malformed::Value(bits)), "{encoding:?}");
    }
}

#[test]
fn each_encoding_has_its_lengths_and_values() {
    use Encoding::*;
    let f32 = |value: f32| written(value.to_bits().into(), value, |out, value| _ = put::f32(out, value));
    let f64 = |value: f64| written(value.to_bits(), value, |out, value| _ = put::f64(out, value));
    let run = |len| written(len as u64, vec![7; len], |out, value| _ = put::bytes(out, &value));
    check(Byte, [byte(0, 0), byte(255, 255)], None);
    check(SignedByte, [byte(127, 127), byte(-128_i64 as u64, 128)], None);
    check(Bool, [byte(0, 0), byte(1, 1)], Some(byte(2, 2)));
    check(Unsigned16, [unsigned(0), unsigned(0xffff)], Some(unsigned(0x1_0000)));
    check(Unsigned32, [unsigned(0), unsigned(0xffff_ffff)], Some(unsigned(0x1_0000_0000)));
    check(Unsigned64, [unsigned(0), unsigned(u64::MAX)], None);
    check(Signed16, [signed(-1), signed(-0x8000)], Some(unsigned(0x1_0000)));
    check(Signed32, [signed(-1), signed(-0x8000_0000)], Some(unsigned(0x1_0000_0000)));
    check(Signed64, [signed(-1), signed(i64::MIN)], None);
    check(F32, [f32(0.0), f32(-1.5)], None);
    check(F64, [f64(0.0), f64(-1.5)], None);
    check(Run, [run(0), run(300)], None);
}

#[test]
fn a_delta_is_added_to_its_base() {
    for (base, value) in [(0, 0), (5, 3), (3, 5), (0, 1 << 63), (u64::MAX, 0)] {
        let mut bytes = Vec::new();
        put::delta(&mut bytes, base, value);
        assert!((Encoding::Delta.min_len()..=Encoding::Delta.max_len(0)).contains(&bytes.len()));
        let mut read = base;
        assert_eq!(Encoding::Delta.bits(&mut Cursor::new(&bytes), &mut read), Ok(value));
        assert_eq!(read, value, "the value is the next base");
    }
    assert_eq!((Encoding::Delta.min_len(), Encoding::Delta.max_len(0)), (1, put::MAX_VARINT));
}
