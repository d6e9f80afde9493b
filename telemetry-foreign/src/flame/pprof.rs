//! pprof's profiles: protobuf, compressed with gzip.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use hashbrown::HashMap;

use super::FlameGraph;
use crate::common::proto::{bytes, message, number, varint};

/// Numbers of fields, from pprof's `profile.proto`.
mod field {
    pub(super) const SAMPLE_TYPE: u32 = 1;
    pub(super) const SAMPLE: u32 = 2;
    pub(super) const LOCATION: u32 = 4;
    pub(super) const FUNCTION: u32 = 5;
    pub(super) const STRING: u32 = 6;
    pub(super) const TIME_NS: u32 = 9;
    pub(super) const DEFAULT_SAMPLE_TYPE: u32 = 14;

    pub(super) mod sample {
        pub(in super::super) const LOCATIONS: u32 = 1;
        pub(in super::super) const VALUES: u32 = 2;
    }
    pub(super) mod location {
        pub(in super::super) const ID: u32 = 1;
        pub(in super::super) const LINE: u32 = 4;
        pub(in super::super) const FUNCTION_OF_LINE: u32 = 1;
    }
    pub(super) mod function {
        pub(in super::super) const ID: u32 = 1;
        pub(in super::super) const NAME: u32 = 2;
    }
    pub(super) mod value_type {
        pub(in super::super) const TYPE: u32 = 1;
        pub(in super::super) const UNIT: u32 = 2;
    }
}

/// Strings by number. The first is empty.
#[derive(Default)]
struct Strings<'s> {
    numbers: HashMap<&'s str, u64>,
    list: Vec<&'s str>,
}

impl<'s> Strings<'s> {
    fn number(&mut self, text: &'s str) -> u64 {
        *self.numbers.entry(text).or_insert_with(|| {
            self.list.push(text);
            self.list.len() as u64 - 1
        })
    }
}

impl FlameGraph {
    /// Writes a profile for pprof: the number of events or spans of each stack, and its weight.
    /// `start_ns` is the start in nanoseconds since 1970, or zero.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write_pprof(&self, start_ns: i64, out: &mut dyn Write) -> io::Result<()> {
        let mut out = GzEncoder::new(out, Compression::default());
        let mut strings = Strings::default();
        strings.number("");
        let weight = match &*self.unit {
            "nanoseconds" => "time",
            "bytes" => "space",
            _ => "weight",
        };
        let is_weighted = self.unit != "count";
        let types = [Some((&*self.counted, "count")), is_weighted.then_some((weight, &*self.unit))];
        let mut to = Vec::new();
        for (name, unit) in types.into_iter().flatten() {
            let (name, unit) = (strings.number(name), strings.number(unit));
            message(&mut to, field::SAMPLE_TYPE, |out| {
                number(out, field::value_type::TYPE, name);
                number(out, field::value_type::UNIT, unit);
            });
        }
        let shown = strings.number(if is_weighted { weight } else { &self.counted });
        number(&mut to, field::DEFAULT_SAMPLE_TYPE, shown);
        number(&mut to, field::TIME_NS, start_ns as u64);
        // A frame has a function and a location, with its number plus one: zero is none.
        for (frame, name) in self.names.iter().enumerate() {
            let (id, name) = (frame as u64 + 1, strings.number(name));
            message(&mut to, field::FUNCTION, |out| {
                number(out, field::function::ID, id);
                number(out, field::function::NAME, name);
            });
            message(&mut to, field::LOCATION, |out| {
                number(out, field::location::ID, id);
                message(out, field::location::LINE, |out| {
                    number(out, field::location::FUNCTION_OF_LINE, id);
                });
            });
        }
        self.each_stack(|frames, node| {
            message(&mut to, field::SAMPLE, |out| {
                message(out, field::sample::LOCATIONS, |out| {
                    // The innermost is first.
                    frames.iter().rev().for_each(|frame| varint(out, u64::from(*frame) + 1));
                });
                message(out, field::sample::VALUES, |out| {
                    varint(out, node.count);
                    if is_weighted {
                        varint(out, node.weight);
                    }
                });
            });
            out.write_all(&to)?;
            to.clear();
            Ok::<_, io::Error>(())
        })?;
        strings.list.iter().for_each(|text| bytes(&mut to, field::STRING, text.as_bytes()));
        out.write_all(&to)?;
        out.try_finish()
    }
}
