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
        for (frames, node) in self.stacks().iter().filter(|(_, node)| node.weight > 0) {
            let names = frames.iter().map(|frame| &self.names[*frame as usize]);
            let names: Vec<_> = names.map(|name| name.replace(';', ":").replace(['\n', '\r'], " ")).collect();
            writeln!(out, "{} {}", names.join(";"), node.weight)?;
        }
        Ok(())
    }
}
