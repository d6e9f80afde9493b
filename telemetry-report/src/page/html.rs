//! The frame of the page.

use std::fmt::Write;

/// The parts of a page.
pub(super) struct Parts<'a> {
    pub(super) title: &'a str,
    /// The verdict as lines, for readers without JavaScript.
    pub(super) verdict: &'a [String],
    /// Nothing is missing.
    pub(super) is_complete: bool,
    /// The deflated document in Base64.
    pub(super) data: &'a str,
}

const SCRIPT: &str = include_str!("../../assets/report.js");
const STYLE: &str = include_str!("../../assets/report.css");
/// Their SHA-256 in Base64, which the policy names.
const SCRIPT_HASH: &str = include_str!("../../assets/report.js.sha256");
const STYLE_HASH: &str = include_str!("../../assets/report.css.sha256");

/// Returns the page. No text of the recording becomes markup.
pub(super) fn page(parts: &Parts<'_>) -> String {
    let Parts { title, verdict, is_complete, data } = parts;
    let title = escaped(title);
    let class = if *is_complete { "complete" } else { "incomplete" };
    let mut lines = String::new();
    for line in *verdict {
        // Writing to a string never fails.
        _ = writeln!(lines, "<p>{}</p>", escaped(line));
    }
    let (script_hash, style_hash) = (SCRIPT_HASH.trim(), STYLE_HASH.trim());
    format!(
        "<!DOCTYPE html>\n\
         <html lang=\"en\">\n\
         <head>\n\
         <meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; img-src data:; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n\
         <style>{STYLE}</style>\n\
         </head>\n\
         <body>\n\
         <header id=\"verdict\" class=\"{class}\">\n\
         <h1>{title}</h1>\n\
         {lines}\
         </header>\n\
         <noscript><p>The pictures and tables of this report need JavaScript.</p></noscript>\n\
         <main id=\"app\"></main>\n\
         <script id=\"data\" type=\"text/plain\">{data}</script>\n\
         <script>{SCRIPT}</script>\n\
         </body>\n\
         </html>\n"
    )
}

/// Escapes a text for HTML. Control characters, and marks that change the direction of text, are
/// shown as their numbers.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() || is_mark(c) => escaped.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use sha2::{Digest, Sha256};

    use super::*;

    fn check(title: &str, expected: &str) {
        let parts = Parts { title, verdict: &[title.to_string()], is_complete: true, data: "" };
        let page = page(&parts);
        let head = page.split_once("<title>").unwrap().1;
        assert_eq!(head.split_once("</title>").unwrap().0, expected);
        assert!(page.contains(&format!("<p>{expected}</p>")), "{expected}");
    }

    #[test]
    fn no_text_becomes_markup() {
        check("plain é ✓", "plain é ✓");
        check("</title><script>alert(1)</script>", "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
        check("a\"b'c&d", "a&quot;b&#39;c&amp;d");
        check("\u{1b}[31m\n\u{202e}x", "\\u{1b}[31m\\u{a}\\u{202e}x");
    }

    #[test]
    fn the_policy_names_script_and_style() {
        for (text, hash) in [(SCRIPT, SCRIPT_HASH), (STYLE, STYLE_HASH)] {
            assert_eq!(BASE64_STANDARD.encode(Sha256::digest(text)), hash.trim());
            assert!(!text.contains("</script") && !text.contains("</style"));
        }
    }
}
