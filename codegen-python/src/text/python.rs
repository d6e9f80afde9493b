//! Python text: literals, comments, names.

use std::fmt::Write;

use telemetry_schema::{RESERVED, is_python_keyword};

/// Names that every event has beside its parameters; the reader has the same list.
const TAKEN: &[&str] = &["ticks", "lane", "thread", "session", "time_ns"];

/// Returns the name of a class or of its members. A registry from a stream may have names that a
/// file may not have.
pub(crate) fn class_name(name: &str) -> String {
    if RESERVED.contains(&name) || is_python_keyword(name) { format!("{name}_") } else { name.to_string() }
}

/// Returns the name of a parameter as an attribute.
pub(crate) fn attribute(name: &str) -> String {
    if TAKEN.contains(&name) || is_python_keyword(name) { format!("{name}_") } else { name.to_string() }
}

/// Returns a string on one line.
pub(crate) fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            _ if char.is_control() => {
                let _ = write!(out, "\\u{:04x}", char as u32);
            }
            _ => out.push(char),
        }
    }
    out.push('"');
    out
}

/// Returns a string of many lines, which must end in a line feed.
pub(crate) fn quoted_block(text: &str) -> String {
    format!("\"\"\"\\\n{}\"\"\"", text.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\""))
}

/// Returns text for a comment: on one line.
pub(crate) fn comment(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// Returns a docstring at some indent, and the line feed after it.
pub(crate) fn docstring(indent: &str, text: &str) -> String {
    let plain = |char: char| char == '\n' || !char.is_control();
    let text: String = text.chars().map(|char| if plain(char) { char } else { ' ' }).collect();
    let text = text.trim_end().replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"");
    // A quote right before those at the end would be one of them.
    let text = text.strip_suffix('"').map_or(text.clone(), |before| format!("{before}\\\""));
    let mut lines = text.split('\n');
    let mut out = format!("{indent}\"\"\"{}", lines.next().unwrap_or_default());
    let is_long = text.contains('\n');
    for line in lines {
        out.push('\n');
        if !line.is_empty() {
            out += indent;
            out += line;
        }
    }
    if is_long {
        out.push('\n');
        out += indent;
    }
    out + "\"\"\"\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_quotes() {
        assert_eq!(literal("say \"no\" \\ \n\t\u{1b}ß"), r#""say \"no\" \\ \n\t\u001bß""#);
        assert_eq!(quoted_block("a \\ \"\"\" b\n"), "\"\"\"\\\na \\\\ \\\"\\\"\\\" b\n\"\"\"");
        assert_eq!(comment("two\nlines\r"), "two lines ");
        assert_eq!(docstring("  ", "one \"\"\"\\"), "  \"\"\"one \\\"\\\"\\\"\\\\\"\"\"\n");
        assert_eq!(docstring("", "the \"one\""), "\"\"\"the \"one\\\"\"\"\"\n");
        assert_eq!(docstring("  ", "one\n\ntwo"), "  \"\"\"one\n\n  two\n  \"\"\"\n");
    }

    #[test]
    fn names_that_python_or_the_module_has_are_changed() {
        for (name, attribute_name) in [("pool", "pool"), ("ticks", "ticks_"), ("class", "class_")] {
            assert_eq!(attribute(name), attribute_name);
        }
        for (name, class) in [("Alloc", "Alloc"), ("Session", "Session_"), ("None", "None_")] {
            assert_eq!(class_name(name), class);
        }
    }
}
