//! Sessions with conditions that a program cannot produce at will.

use std::error::Error;

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Array, EnumValue, Facts, Value};
use telemetry_format::Loss;
use telemetry_schema::{Count, Param, Registry, Sort};

/// 2026-11-21 05:47:31 UTC.
const START: u64 = 1_795_240_051_000_000_000;

/// Makes two sessions of a registry: one with losses of all causes, in small blocks and parts; the
/// other without an end.
pub(crate) fn sessions(registry: &Registry) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut writer = Writer::new(Vec::new()).block_size(300);
    for session in [1, 2] {
        let mut facts = Facts::default();
        facts.set("program", "golden");
        facts.set("clock", if session == 1 { "os" } else { "tsc" });
        facts.set("ticks_per_second", 2_000_000_000);
        writer.session(session, &facts, 1_000, START + session)?;
        let mut thread = Facts::default();
        thread.set("name", "lossy");
        writer.thread(session, 1, &thread)?;
        let lane = Lane { session, thread: 1, registry: writer.registry(session, registry)? };
        for pick in 0..2_u64 {
            for event in &registry.events {
                let params = event.params.iter();
                let values: Vec<_> = params.map(|param| values(registry, param, pick)).collect();
                let values = event.params.iter().zip(&values).map(|(param, values)| match param.count {
                    Count::One => values[0],
                    Count::Fixed(_) | Count::UpTo(_) => Value::Array(Array::from(&values[..])),
                });
                let ticks = 2_000 + pick * 5_000 + u64::from(event.code);
                writer.event(lane, event.code, ticks, &values.collect::<Vec<_>>())?;
            }
            if session == 1 {
                let kind = registry.kinds[pick as usize].bit;
                writer.lose(lane, kind, Loss { pool: 7, reentrant: 1, sink: 2, truncated: 1 })?;
                writer.exclude(lane, kind, 3)?;
                writer.flush()?;
            }
        }
    }
    writer.end(1, 20_000)?;
    Ok(writer.finish()?)
}

/// Returns the values of a parameter.
fn values(registry: &Registry, param: &Param, pick: u64) -> Vec<Value<'static>> {
    let count = match param.count {
        Count::One => 1,
        Count::Fixed(count) => u64::from(count),
        Count::UpTo(_) => pick + 1,
    };
    (0..count).map(|at| value(registry, param.sort, pick + at)).collect()
}

/// Returns one value. For an enum it may have no name.
fn value(registry: &Registry, sort: Sort, pick: u64) -> Value<'static> {
    match sort {
        Sort::Pointer => Value::Pointer(0x7f00_1000 + pick * 64),
        Sort::Addr => Value::Addr(0x10_0000_0000 - pick),
        Sort::Word => Value::Word(u64::MAX >> (16 * pick)),
        Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => Value::Unsigned(200 + pick),
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => Value::Signed(-100 - pick as i64),
        Sort::F32 => Value::F32(0.1),
        Sort::F64 => Value::F64(f64::NEG_INFINITY),
        Sort::Bool => Value::Bool(pick == 0),
        Sort::String => Value::String("written".into()),
        Sort::Bytes => Value::Bytes(b"\0\xff"),
        Sort::Label => Value::Label(pick),
        Sort::Named(index) => {
            Value::Named(EnumValue::new(registry.types[index].values[0].number + 6 * i128::from(pick)))
        }
    }
}
