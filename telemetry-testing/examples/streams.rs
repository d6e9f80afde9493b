//! Writes streams for other programs to read: `cargo run -p telemetry-testing --example streams --
//! DIR`.
//!
//! `allocations.tel` has four numbers an event. `floats.tel` has floats of all classes, and an
//! event type whose versions have different parameters.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, Value};
use telemetry_testing::made::Random;
use telemetry_testing::work;

const EVENTS: u64 = 300_000;

/// Two versions of a registry. A version is in the place of `@`, and parameters are in that of `#`.
const REGISTRY: &str = r#"
[registry]
name = "floats"
version = "@"
doc = "Floats of all classes"
[kinds]
Float = { bit = 0, doc = "everything" }
[[event]]
name = "Mixed"
code = 1
kind = "Float"
doc = "All classes"
params = [#]
[[event]]
name = "NotANumber"
code = 2
kind = "Float"
doc = "No numbers"
params = [{ name = "x", sort = "f64", doc = "NaN" }, { name = "y", sort = "f32", doc = "NaN" }]
[[event]]
name = "Zero"
code = 3
kind = "Float"
doc = "Zeros of both signs"
params = [
  { name = "x", sort = "f64", doc = "zero" },
  { name = "y", sort = "f32", doc = "zero" },
  { name = "all", sort = "[f64]", max = 3, doc = "zeros, or NaN" },
]
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("expected a directory")?);
    let new = |name| File::create(folder.join(name)).map(|file| Writer::new(BufWriter::new(file)));
    let mut random = Random(1);
    let mut ticks = 0;
    let make = |_| {
        ticks += random.below(200);
        let size = 16 << random.below(8);
        let values = [1 + random.below(4), 0x7f00_0000_0000 + random.below(1 << 40), size, random.below(3)];
        work::Made { ticks, values }
    };
    let mut facts = Facts::default();
    facts.set("ticks_per_second", 1_000_000_000_i64);
    work::write(new("allocations.tel")?, &facts, EVENTS, 100, make)?;
    floats(new("floats.tel")?, &facts)
}

fn floats(mut writer: Writer<BufWriter<File>>, facts: &Facts) -> Result<(), Box<dyn Error>> {
    writer.session(1, facts, 0, 1_700_000_000_000_000_000)?;
    let versions = [
        ("1.0.0", "{ name = \"x\", sort = \"f64\", doc = \"d\" }"),
        ("2.0.0", "{ name = \"y\", sort = \"f32\", doc = \"d\" }"),
    ];
    let mut registries = Vec::new();
    for (version, params) in versions {
        let text = REGISTRY.replace('@', version).replace('#', params);
        let registry = telemetry_schema::parse(&text).map_err(|invalid| invalid.render("floats", &text))?;
        registries.push(writer.registry(1, &registry)?);
    }
    let mut random = Random(2);
    for number in 0..10_000 {
        let lane = Lane { session: 1, thread: 1, registry: registries[(number % 2) as usize] };
        let bits = random.bits();
        let x = match random.below(20) {
            0 => f64::from_bits(0x7ff8_0000_0000_0000 | bits >> 14),
            1 => -0.0,
            2 => f64::INFINITY,
            3 => f64::NEG_INFINITY,
            4 => f64::from_bits(bits >> 13),
            _ => (bits as i64) as f64 / 1e9,
        };
        let value = if number % 2 == 0 { Value::F64(x) } else { Value::F32(x as f32) };
        writer.event(lane, 1, number, &[value])?;
        let sign = if bits.is_multiple_of(2) { 1.0 } else { -1.0 };
        let nan = f64::NAN.copysign(sign);
        writer.event(lane, 2, number, &[Value::F64(nan), Value::F32(nan as f32)])?;
        let zero = 0.0_f64.copysign(sign);
        let all = [Value::F64(zero), Value::F64(nan), Value::F64(-zero)];
        let all = Value::Array(all[..random.below(4) as usize].into());
        writer.event(lane, 3, number, &[Value::F64(zero), Value::F32(zero as f32), all])?;
    }
    writer.end(1, 10_000)?;
    writer.finish()?;
    Ok(())
}
