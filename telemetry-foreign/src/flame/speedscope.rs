//! speedscope's JSON, with a profile of the type `sampled`.

use std::io::{self, Write};

use super::FlameGraph;
use crate::common::json::{number, text};

/// Text is written when there is this much of it.
const MAX_BUFFERED: usize = 64 << 10;

impl FlameGraph {
    /// Writes a file for speedscope, with the name of the profile.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write_speedscope(&self, name: &str, out: &mut dyn Write) -> io::Result<()> {
        let mut to = b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",".to_vec();
        to.extend_from_slice(b"\"exporter\":\"telemetry\",\"name\":");
        text(&mut to, name.as_bytes());
        to.extend_from_slice(b",\"shared\":{\"frames\":[");
        let mut list = List { to, out, is_first: true };
        for name in &self.names {
            list.item(|to| {
                to.extend_from_slice(b"{\"name\":");
                text(to, name.as_bytes());
                to.push(b'}');
            })?;
        }
        let to = &mut list.to;
        to.extend_from_slice(b"]},\"profiles\":[{\"type\":\"sampled\",\"name\":");
        text(to, name.as_bytes());
        // The format has no other units.
        let unit = if ["nanoseconds", "bytes"].contains(&&*self.unit) { &*self.unit } else { "none" };
        to.extend_from_slice(b",\"unit\":");
        text(to, unit.as_bytes());
        to.extend_from_slice(b",\"startValue\":0,\"endValue\":");
        number(to, self.total());
        to.extend_from_slice(b",\"samples\":[");
        list.is_first = true;
        self.each_stack(|frames, _| {
            list.item(|to| {
                to.push(b'[');
                for (at, frame) in frames.iter().enumerate() {
                    if at > 0 {
                        to.push(b',');
                    }
                    number(to, (*frame).into());
                }
                to.push(b']');
            })
        })?;
        list.to.extend_from_slice(b"],\"weights\":[");
        list.is_first = true;
        self.each_stack(|_, node| list.item(|to| number(to, node.weight)))?;
        list.to.extend_from_slice(b"]}]}\n");
        list.out.write_all(&list.to)
    }
}

/// A list, with commas between its items.
struct List<'o> {
    to: Vec<u8>,
    out: &'o mut dyn Write,
    is_first: bool,
}

impl List<'_> {
    /// Writes an item.
    fn item(&mut self, put: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.to.extend_from_slice(if self.is_first { b"\n" } else { b",\n" });
        self.is_first = false;
        put(&mut self.to);
        if self.to.len() >= MAX_BUFFERED {
            self.out.write_all(&self.to)?;
            self.to.clear();
        }
        Ok(())
    }
}
