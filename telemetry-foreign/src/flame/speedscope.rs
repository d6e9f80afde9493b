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
        self.list(&mut to, out, self.names.iter(), |to, name| {
            to.extend_from_slice(b"{\"name\":");
            text(to, name.as_bytes());
            to.push(b'}');
        })?;
        to.extend_from_slice(b"]},\"profiles\":[{\"type\":\"sampled\",\"name\":");
        text(&mut to, name.as_bytes());
        // The format has no other units.
        let unit = if ["nanoseconds", "bytes"].contains(&&*self.unit) { &*self.unit } else { "none" };
        to.extend_from_slice(b",\"unit\":");
        text(&mut to, unit.as_bytes());
        to.extend_from_slice(b",\"startValue\":0,\"endValue\":");
        number(&mut to, self.total());
        to.extend_from_slice(b",\"samples\":[");
        let stacks = self.stacks();
        self.list(&mut to, out, stacks.iter(), |to, (frames, _)| {
            to.push(b'[');
            for (at, frame) in frames.iter().enumerate() {
                if at > 0 {
                    to.push(b',');
                }
                number(to, (*frame).into());
            }
            to.push(b']');
        })?;
        to.extend_from_slice(b"],\"weights\":[");
        self.list(&mut to, out, stacks.iter(), |to, (_, node)| number(to, node.weight))?;
        to.extend_from_slice(b"]}]}\n");
        out.write_all(&to)
    }

    /// Writes the items of a list, with commas between them.
    fn list<T>(
        &self,
        to: &mut Vec<u8>,
        out: &mut dyn Write,
        items: impl Iterator<Item = T>,
        put: impl Fn(&mut Vec<u8>, T),
    ) -> io::Result<()> {
        for (at, item) in items.enumerate() {
            to.extend_from_slice(if at > 0 { b",\n" } else { b"\n" });
            put(to, item);
            if to.len() >= MAX_BUFFERED {
                out.write_all(to)?;
                to.clear();
            }
        }
        Ok(())
    }
}
