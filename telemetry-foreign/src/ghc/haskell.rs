//! Text in Haskell's notation.

/// The names of control characters.
const CONTROLS: [&str; 32] = [
    "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "a", "b", "t", "n", "v", "f", "r", "SO", "SI", "DLE",
    "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US",
];

/// Appends texts, each ended by a NUL, in the form in which `show` prints a list of them.
pub(super) fn append_shown(out: &mut Vec<u8>, items: &[u8]) {
    let text = String::from_utf8_lossy(items);
    // Whatever the number of NULs at the end, no text follows the last one.
    let text = text.trim_end_matches('\0');
    out.push(b'[');
    for (index, item) in text.split('\0').enumerate() {
        if index > 0 {
            out.push(b',');
        }
        append_string(out, item);
    }
    out.push(b']');
}

fn append_string(out: &mut Vec<u8>, text: &str) {
    /// The characters that must not follow the last escape.
    #[derive(PartialEq)]
    enum After {
        Anything,
        Digit,
        H,
    }
    let mut after = After::Anything;
    out.push(b'"');
    for c in text.chars() {
        // An empty escape separates an escape from a character that would be read as part of it.
        if after == After::Digit && c.is_ascii_digit() || after == After::H && c == 'H' {
            out.extend(b"\\&");
        }
        after = After::Anything;
        match c {
            '"' | '\\' => out.extend([b'\\', c as u8]),
            '\x7f' => out.extend(b"\\DEL"),
            ' '..='~' => out.push(c as u8),
            _ => {
                out.push(b'\\');
                match CONTROLS.get(c as usize) {
                    Some(name) => out.extend(name.bytes()),
                    None => {
                        out.extend(u32::from(c).to_string().bytes());
                        after = After::Digit;
                    }
                }
                if c == '\x0e' {
                    after = After::H;
                }
            }
        }
    }
    out.push(b'"');
}

/// Appends bytes as text, with a dot for each that cannot be printed.
pub(super) fn append_printable(out: &mut Vec<u8>, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            let c = if is_printable(c) { c } else { '.' };
            out.extend(c.encode_utf8(&mut [0; 4]).bytes());
        }
        out.extend(chunk.invalid().iter().map(|_| b'.'));
    }
}

/// Returns true for letters, marks, numbers, punctuation, symbols and spaces.
fn is_printable(c: char) -> bool {
    match c {
        ' '..='~' => true,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => true,
        c if c.is_ascii() => false,
        // Characters that the standard library's debug form does not escape; it escapes marks only
        // at the start.
        c => format!("x{c}").escape_debug().count() == 2,
    }
}
