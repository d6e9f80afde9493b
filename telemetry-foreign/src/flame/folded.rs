//! Folded text: a line for each stack, its frames with semicolons between them, and its weight.

use std::io::{self, Write};

use super::FlameGraph;

impl FlameGraph {
    /// Writes folded text, as flame graph programs read it. Semicolons in names become colons, and
    /// ends of lines become spaces. Stacks without weight are left out.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write_folded(&self, out: &mut dyn Write) -> io::Result<()> {
        let names = self.names.iter().map(|name| name.replace(';', ":").replace(['\n', '\r'], " "));
        let names: Vec<String> = names.collect();
        self.each_stack(|frames, node| {
            if node.weight == 0 {
                return Ok(());
            }
            for (at, frame) in frames.iter().enumerate() {
                out.write_all(if at > 0 { b";" } else { b"" })?;
                out.write_all(names[*frame as usize].as_bytes())?;
            }
            writeln!(out, " {}", node.weight)
        })
    }
}
