//! Strings.

use std::fmt::Write;

/// Appends text in double quotes, with a backslash before `"` and `\`, as the MPS's programs do. A
/// line feed becomes `\n`, so that an event stays on its line. All other bytes stay unchanged.
#[inline]
pub(crate) fn quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let mut rest = text;
    while let Some(index) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | b'\n')) {
        out.extend_from_slice(&rest[..index]);
        let escape = if rest[index] == b'\n' { b'n' } else { rest[index] };
        out.extend_from_slice(&[b'\\', escape]);
        rest = &rest[index + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Appends text like [`quoted`], but leaves line feeds unchanged. This is byte for byte the output
/// of `mpseventcnv`, where a string may take several lines.
pub(crate) fn quoted_raw(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

/// Reads what [`quoted`] wrote at the start of `text`. Returns the rest of the text.
pub(crate) fn unquote<'a>(text: &'a [u8], into: &mut Vec<u8>) -> Option<&'a [u8]> {
    into.clear();
    let mut rest = text.strip_prefix(b"\"")?;
    loop {
        let index = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        into.extend_from_slice(&rest[..index]);
        let special = rest[index];
        rest = &rest[index + 1..];
        if special == b'"' {
            return Some(rest);
        }
        let (escaped, behind) = rest.split_first()?;
        into.push(if *escaped == b'n' { b'\n' } else { *escaped });
        rest = behind;
    }
}

/// Appends text for a terminal, without quotes. Control characters, `"` and `\` are escaped as in
/// Rust, and bytes that are not UTF-8 become `\xNN`.
pub(crate) fn escaped(out: &mut Vec<u8>, text: &[u8]) {
    if text.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
        out.extend_from_slice(text);
        return;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for chunk in text.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                // The standard library escapes it, but it is harmless.
                '\'' => escaped.push('\''),
                char => escaped.extend(char.escape_debug()),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(escaped, "\\x{byte:02x}");
        }
    }
    out.extend_from_slice(escaped.as_bytes());
}

/// Formats a string like [`escaped`].
pub(crate) fn escaped_text(text: &str) -> String {
    escaped_bytes(text.as_bytes())
}

/// Formats bytes like [`escaped`].
pub(crate) fn escaped_bytes(text: &[u8]) -> String {
    let mut out = Vec::new();
    escaped(&mut out, text);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_strings_read_back() {
        let table: [(&[u8], &[u8]); 6] = [
            (b"", br#""""#),
            (b"plain name", br#""plain name""#),
            (br#""hello \world""#, br#""\"hello \\world\"""#),
            (b"two\nlines", br#""two\nlines""#),
            (br"\n", br#""\\n""#),
            (b"\x00\xff\r\t", b"\"\x00\xff\r\t\""),
        ];
        for (text, expected) in table {
            let mut out = Vec::new();
            quoted(&mut out, text);
            assert_eq!(out, expected);
            out.extend_from_slice(b" 12");
            let mut back = Vec::new();
            assert_eq!(unquote(&out, &mut back), Some(&b" 12"[..]));
            assert_eq!(back, text);
            for cut in 0..out.len() - 3 {
                assert_eq!(unquote(&out[..cut], &mut back), None);
            }
        }
    }

    #[test]
    fn escaped_text_does_no_harm_to_a_terminal() {
        let table: [(&[u8], &str); 7] = [
            (b"plain 'name'", "plain 'name'"),
            (b"say \"no\" \\", r#"say \"no\" \\"#),
            (b"\x1b[31m\n\t\0", r"\u{1b}[31m\n\t\0"),
            ("größe 漢字 'q'".as_bytes(), "größe 漢字 'q'"),
            ("\u{202e}\u{200b}".as_bytes(), r"\u{202e}\u{200b}"),
            (b"a\xff\xc3", r"a\xff\xc3"),
            (b"", ""),
        ];
        for (text, expected) in table {
            let mut out = Vec::new();
            escaped(&mut out, text);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
