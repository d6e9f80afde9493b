//! Names of the symbols by which emitters in other languages find the library of a registry. The
//! macro defines them, and the generators of headers use them.

use std::fmt::Write;

use crate::model::canonical::fnv1a;
use crate::model::registry::{Event, Message, Registry};
use crate::text::words::snake_case;

impl Registry {
    /// Returns the symbol of the switches of all emitters: a bit for each event that is used, in
    /// the order of their codes.
    ///
    /// It contains the version and a hash of everything that callers rely on. So a header of
    /// another version does not link, and the linker's message names the header's version.
    pub fn mask_symbol(&self) -> String {
        let Registry { name, version, .. } = self;
        format!(
            "telemetry_header_of_{name}_{}_{}_{}_{:016x}",
            version.major,
            version.median,
            version.minor,
            self.callers_hash()
        )
    }

    /// Returns the symbol of the function that records an event.
    pub fn emitter_symbol(&self, event: &Event) -> String {
        format!("telemetry_emit_{}__{}", self.name, snake_case(&event.name))
    }

    /// Returns the symbol of a message, whose first byte is 1 while the message is enabled. It
    /// begins as that of the mask: a loader reports one missing symbol, which may be either.
    pub fn message_symbol(&self, message: &Message) -> String {
        format!("{}__{}", self.mask_symbol(), message.name)
    }

    /// Returns a hash of the wire form, and of what else decides the bits of the emitters and their
    /// tests.
    fn callers_hash(&self) -> u64 {
        let mut text = self.wire_form();
        for event in &self.events {
            let _ = writeln!(text, "{} {} {}", event.name, event.used, event.always);
        }
        for message in &self.messages {
            let _ = writeln!(text, "{} {} {:?}", message.name, message.begin, message.end);
        }
        fnv1a(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    /// Checks that a change of a registry changes the symbol of its mask, or not.
    fn check(from: &str, to: &str, changes: bool) {
        let text = r#"
            [registry]
            name = "cache"
            version = "1.0.0"
            doc = "A cache"
            [kinds]
            Evict = { bit = 0, doc = "per eviction" }
            [[event]]
            name = "Missed"
            code = 1
            kind = "Evict"
            doc = "A miss"
            [[event]]
            name = "HitTwice"
            code = 2
            used = true
            always = true
            kind = "Evict"
            doc = "A hit"
            [[message]]
            name = "Hit"
            begin = "HitTwice"
            doc = "A hit"
        "#;
        let [before, after] = [text.to_string(), text.replace(from, to)].map(|text| {
            crate::parse(&text).unwrap_or_else(|invalid| panic!("{}", invalid.render("events.toml", &text)))
        });
        assert_eq!(before.mask_symbol() != after.mask_symbol(), changes, "{from} -> {to}");
        assert_eq!(before.emitter_symbol(&before.events[1]), "telemetry_emit_cache__hit_twice");
    }

    #[test]
    fn the_symbol_says_what_callers_rely_on() {
        check("1.0.0", "1.0.1", true);
        check("code = 1", "code = 3", true);
        check("always = true", "always = false", true);
        check("begin = \"HitTwice\"", "begin = \"Missed\"", true);
        check("A miss", "A key was not found", false);
    }
}
