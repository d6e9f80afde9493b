//! Reads arbitrary text as that of `telemetry cnv`, line by line, and prints it as `telemetry txt`
//! does. A line that is read can be written again, and then says the same. Others print nothing.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use telemetry_foreign::mps;
use telemetry_schema::Count;
use text::cnv_line::{CnvLine, Wrong};
use text::cnv_registries::TextRegistries;
use text::txt_of_cnv::TxtOfCnv;

#[path = "."]
#[expect(dead_code, reason = "this needs a part of it")]
mod text {
    #[path = "../../telemetry-cli/src/text/cnv.rs"]
    mod cnv;
    #[path = "../../telemetry-cli/src/text/cnv_line.rs"]
    pub(crate) mod cnv_line;
    #[path = "../../telemetry-cli/src/text/cnv_registries.rs"]
    pub(crate) mod cnv_registries;
    #[path = "../../telemetry-cli/src/text/float.rs"]
    mod float;
    #[path = "../../telemetry-cli/src/text/names.rs"]
    mod names;
    #[path = "../../telemetry-cli/src/text/number.rs"]
    mod number;
    #[path = "../../telemetry-cli/src/text/param.rs"]
    mod param;
    #[path = "../../telemetry-cli/src/text/quoted.rs"]
    mod quoted;
    #[path = "../../telemetry-cli/src/text/txt.rs"]
    mod txt;
    #[path = "../../telemetry-cli/src/text/txt_of_cnv.rs"]
    pub(crate) mod txt_of_cnv;

    pub(crate) use number::decimal;

    /// Appends a value as a line has it.
    pub(crate) fn append(out: &mut Vec<u8>, value: &telemetry_decode::Value<'_>) {
        cnv::value(out, value);
    }
}

/// Has a parameter of each sort. Its events of other codes than the MPS's need no name.
const REGISTRY: &str = include_str!("../../telemetry-testing/registry.toml");

thread_local! {
    /// The MPS's events give names to addresses.
    static KNOWN: TextRegistries =
        TextRegistries::new(vec![mps::registry(), telemetry_schema::parse(REGISTRY).unwrap()]);
}

fuzz_target!(|text: &[u8]| KNOWN.with(|known| read(text, known)));

fn read(text: &[u8], known: &TextRegistries) {
    let (mut of_text, mut of_again) = (TxtOfCnv::new(known), TxtOfCnv::new(known));
    for line in text.split(|byte| *byte == b'\n') {
        let mut out = b"before".to_vec();
        let printed = of_text.line(&mut out, line);
        let again = match again(line, known) {
            Ok(again) => again,
            Err(wrong) => {
                assert!(printed.is_err() && !wrong.is_empty());
                assert_eq!(out, b"before");
                continue;
            }
        };
        assert_eq!(printed, Ok(()));
        assert!(out.starts_with(b"before") && out.ends_with(b"\n"));
        let mut out_again = b"before".to_vec();
        assert_eq!(of_again.line(&mut out_again, &again), Ok(()));
        assert_eq!(out, out_again, "{}", String::from_utf8_lossy(&again));
    }
}

/// Writes a line again, from what it says.
fn again(text: &[u8], known: &TextRegistries) -> Result<Vec<u8>, Wrong> {
    let (mut line, mut scratch) = (CnvLine::new(text), Vec::new());
    let mut out: Vec<u8> = Vec::new();
    let ticks = line.clock()?;
    let (name, code) = line.code(known)?;
    let written = match name {
        Some(name) => write!(out, "{ticks:016X} {name}:{code:X}"),
        None => write!(out, "{ticks:016X} {code:4X}"),
    };
    written.unwrap();
    let Some((registry, event)) = known.find(name, code) else { return Ok(out) };
    let registry = &known.all()[registry];
    let event = &registry.events[event];
    for param in &event.params {
        line.space(&param.name)?;
        out.push(b' ');
        let repr = registry.repr(param.sort);
        if param.count == Count::One {
            text::append(&mut out, &line.value(param.sort, repr, &mut scratch)?);
            continue;
        }
        out.push(b'[');
        let mut index = 0;
        while line.has_element(index)? {
            if index > 0 {
                out.push(b',');
            }
            text::append(&mut out, &line.value(param.sort, repr, &mut scratch)?);
            index += 1;
        }
        out.push(b']');
    }
    line.end(&event.name)?;
    Ok(out)
}
