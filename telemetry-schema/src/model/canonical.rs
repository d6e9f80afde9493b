//! The canonical form of a registry, which travels in streams, and its fingerprint.

use std::fmt::Write;

use crate::model::counter::CounterPer;
use crate::model::limit::Limit;
use crate::model::registry::{Clock, Count, Event, Kind, Message, Param, Registry, Type, TypeForm};
use crate::model::rule::{EventRule, RuleForm};
use crate::model::sort::Sort;
use crate::model::tracing::TracingAt;

impl Registry {
    /// Returns the registry as an `events.toml` in canonical form: [`crate::parse`] reads it as
    /// this same registry, and the same registry always gives the same text.
    ///
    /// Kinds are in the order of bits; presets, types, spans, messages and rules of names; events
    /// of codes; values of numbers; keys of [`crate::keys`]. Defaults are left out, and types have
    /// their long names. There is one line for each kind, preset, value and parameter, and no
    /// comment. The text is TOML 1.0.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = String::with_capacity(256 + 256 * self.events.len());
        let version = self.version;
        let _ = write!(
            out,
            "[registry]\nname = {}\nversion = {{ major = {}, median = {}, minor = {} }}\n",
            quoted(&self.name),
            version.major,
            version.median,
            version.minor
        );
        let _ = writeln!(out, "doc = {}", quoted(&self.doc));
        out.push_str("\n[kinds]\n");
        for kind in &self.kinds {
            let _ = write!(out, "{} = {{ bit = {}, doc = {}", kind.name, kind.bit, quoted(&kind.doc));
            if kind.clock != Clock::default() {
                let _ = write!(out, ", clock = {}", quoted(kind.clock.name()));
            }
            if kind.priority != Kind::DEFAULT_PRIORITY {
                let _ = write!(out, ", priority = {}", kind.priority);
            }
            if let Some(word) = kind.network.name() {
                let _ = write!(out, ", network = {}", quoted(word));
            }
            out.push_str(" }\n");
        }
        if !self.presets.is_empty() {
            out.push_str("\n[presets]\n");
        }
        for preset in &self.presets {
            let _ = writeln!(out, "{} = {}", preset.name, quoted(&preset.words));
        }
        for ty in &self.types {
            write_type(&mut out, self, ty);
        }
        for event in &self.events {
            write_event(&mut out, self, event);
        }
        for span in &self.spans {
            let _ = write!(out, "\n[[span]]\nname = {}\n", quoted(&span.name));
            let _ = writeln!(out, "begin = {}", quoted(&self.events[span.begin].name));
            let _ = writeln!(out, "end = {}", quoted(&self.events[span.end].name));
            if let Some(key) = &span.key {
                let _ = writeln!(out, "key = {}", quoted(key));
            }
            if let Some(named_by) = &span.named_by {
                let _ = writeln!(out, "named_by = {}", quoted(named_by));
            }
            if span.is_pause {
                out.push_str("pause = true\n");
            }
            let _ = writeln!(out, "doc = {}", quoted(&span.doc));
        }
        for message in &self.messages {
            write_message(&mut out, self, message);
        }
        for rule in &self.rules {
            write_rule(&mut out, self, rule);
        }
        out
    }

    /// Returns everything that decides how the bytes of a stream are read, as text;
    /// [`Registry::fingerprint`] is its hash. One line per item, ended by a line feed, with fields
    /// separated by one space and decimal numbers:
    ///
    /// ```text
    /// registry NAME MAJOR.MEDIAN.MINOR
    /// kind BIT NAME CLOCK                 for each kind, by bit; CLOCK is precise or inherit
    /// type NAME REPR FORM                 for each type, by name; FORM is enum or flags
    /// value NUMBER NAME                     for each of its values, by number
    /// event CODE NAME BIT                 for each event, by code, also retired; BIT of its kind
    /// param NAME SORT                       for each of its parameters, in order
    /// param NAME SORT MAX                   ... if it is a string, bytes or an array `[sort]`
    /// param NAME SORT align ALIGN           ... if it is a delta with an `align` above 1
    /// ```
    ///
    /// `SORT` is as in the canonical form, `[u32; 4]` with its space. Names are ordered by their
    /// bytes.
    pub fn wire_form(&self) -> String {
        let mut out = String::with_capacity(128 + 96 * self.events.len());
        let _ = writeln!(out, "registry {} {}", self.name, self.version);
        for kind in &self.kinds {
            let _ = writeln!(out, "kind {} {} {}", kind.bit, kind.name, kind.clock.name());
        }
        for ty in &self.types {
            let _ = writeln!(out, "type {} {} {}", ty.name, self.sort_name(ty.repr), ty.form.name());
            for value in &ty.values {
                let _ = writeln!(out, "value {} {}", value.number, value.name);
            }
        }
        for event in &self.events {
            let _ = writeln!(out, "event {} {} {}", event.code, event.name, self.kind_of(event).bit);
            for param in &event.params {
                let _ = write!(out, "param {} {}", param.name, self.sort_text(param));
                if let Some(max) = param.max() {
                    let _ = write!(out, " {max}");
                }
                if param.align > 1 {
                    let _ = write!(out, " align {}", param.align);
                }
                out.push('\n');
            }
        }
        out
    }

    /// Returns a number that practically always differs between registries whose streams are read
    /// differently: FNV-1a of 64 bits over the bytes of [`Registry::wire_form`]. It does not cover
    /// docs, priorities, `network`, presets, units, counters, spans, messages, rules, `always`,
    /// `used`, `usual` and `replay`. Nor does it cover `range`, `census`, `tracing`, `time`,
    /// `limit`, `sample`, `names`, `numbers`, `sensitive` and `since`. The last is about *older*
    /// streams.
    pub fn fingerprint(&self) -> u64 {
        fnv1a(self.wire_form().as_bytes())
    }
}

impl Param {
    /// Returns the value of `max`: the most bytes of a string, or the most elements of an array
    /// `[sort]`. `None` if the size is fixed.
    pub fn max(&self) -> Option<u32> {
        match self.count {
            Count::UpTo(max) => Some(max),
            Count::One if self.sort.is_run() => Some(self.max_len),
            Count::One | Count::Fixed(_) => None,
        }
    }

    /// Returns the number of bits by which a value is rotated to the right before the distance from
    /// its slot is taken: those that are zero in multiples of `align`. `None` for 0, as the other
    /// forms of the registry have it.
    pub fn rotation(&self) -> u32 {
        self.align.max(1).trailing_zeros()
    }
}

fn write_type(out: &mut String, registry: &Registry, ty: &Type) {
    let _ = write!(out, "\n[types.{}]\nrepr = {}\n", ty.name, quoted(registry.sort_name(ty.repr)));
    if ty.form == TypeForm::Flags {
        out.push_str("flags = true\n");
    }
    if !ty.doc.is_empty() {
        let _ = writeln!(out, "doc = {}", quoted(&ty.doc));
    }
    let _ = writeln!(out, "[types.{}.values]", ty.name);
    for value in &ty.values {
        if value.doc.is_empty() {
            let _ = writeln!(out, "{} = {}", value.name, value.number);
        } else {
            let _ = writeln!(
                out,
                "{} = {{ value = {}, doc = {} }}",
                value.name,
                value.number,
                quoted(&value.doc)
            );
        }
    }
}

fn write_event(out: &mut String, registry: &Registry, event: &Event) {
    let _ = write!(out, "\n[[event]]\nname = {}\ncode = {:#06x}\n", quoted(&event.name), event.code);
    if !event.always {
        out.push_str("always = false\n");
    }
    if !event.used {
        out.push_str("used = false\n");
    }
    let _ = writeln!(out, "kind = {}", quoted(&registry.kind_of(event).name));
    let _ = writeln!(out, "doc = {}", quoted(&event.doc));
    if let Some(replay) = &event.replay {
        let _ = write!(out, "replay = {{ action = {}", quoted(replay.action.name()));
        for (role, param) in &replay.roles {
            let _ = write!(out, ", {} = {}", role.name(), quoted(&event.params[*param].name));
        }
        out.push_str(" }\n");
    }
    if let Some(range) = &event.range {
        let roles = range.roles.iter().map(|(role, param)| (role.name(), *param));
        write_mark(out, event, "range", (range.action.name(), &range.what), roles);
    }
    if let Some(census) = &event.census {
        let roles = census.roles.iter().map(|(role, param)| (role.name(), *param));
        write_mark(out, event, "census", (census.step.name(), &census.what), roles);
    }
    if let Some(tracing) = &event.tracing {
        let (target, name) = (quoted(&tracing.target), quoted(&tracing.name));
        let _ = write!(out, "tracing = {{ target = {target}, name = {name}");
        if tracing.at != TracingAt::default() {
            let _ = write!(out, ", at = {}", quoted(tracing.at.name()));
        }
        out.push_str(" }\n");
    }
    if let Some(time) = event.time.and_then(|time| event.params.get(time)) {
        let _ = writeln!(out, "time = {}", quoted(&time.name));
    }
    if let Some(counter) = event.counter {
        let (form, per) = (quoted(counter.form.name()), quoted(counter.per.name()));
        let _ = writeln!(out, "counter = {{ form = {form}, per = {per} }}");
    }
    match event.limit {
        None => {}
        Some(Limit::Rate { per_second, burst }) => {
            let _ = writeln!(out, "limit = {{ per_second = {per_second}, burst = {burst} }}");
        }
        Some(Limit::Sample { one_in, by }) => {
            let by = by.and_then(|by| event.params.get(by));
            let by = by.map_or(String::new(), |by| format!(", by = {}", quoted(&by.name)));
            let _ = writeln!(out, "sample = {{ one_in = {one_in}{by} }}");
        }
    }
    if event.params.is_empty() {
        return;
    }
    out.push_str("params = [\n");
    for param in &event.params {
        let _ =
            write!(out, "{{ name = {}, sort = {}", quoted(&param.name), quoted(&registry.sort_text(param)));
        if let Some(max) = param.max().filter(|&max| max != default_max(param.sort)) {
            let _ = write!(out, ", max = {max}");
        }
        if param.align > 1 {
            let _ = write!(out, ", align = {}", param.align);
        }
        if let Some(usual) = param.usual {
            let _ = write!(out, ", usual = {usual}");
        }
        if !param.unit.is_empty() {
            let _ = write!(out, ", unit = {}", quoted(&param.unit));
        }
        if param.is_counter {
            out.push_str(", counter = true");
        }
        if let Some(named) = param.names.and_then(|of| event.params.get(of)) {
            let _ = write!(out, ", names = {}", quoted(&named.name));
        }
        if !param.numbers.is_empty() {
            let _ = write!(out, ", numbers = {}", quoted(&param.numbers));
        }
        if let Some(role) = param.role {
            let _ = write!(out, ", role = {}", quoted(role.name()));
        }
        if let Some(sensitive) = param.sensitive {
            let _ = write!(out, ", sensitive = {}", quoted(sensitive.name()));
        }
        if let Some(since) = param.since {
            let _ = write!(out, ", since = \"{since}\"");
        }
        if !param.doc.is_empty() {
            let _ = write!(out, ", doc = {}", quoted(&param.doc));
        }
        out.push_str(" },\n");
    }
    out.push_str("]\n");
}

/// Writes a mark: its action with what that is about, and the roles of parameters.
fn write_mark(
    out: &mut String,
    event: &Event,
    key: &str,
    (action, what): (&str, &str),
    roles: impl Iterator<Item = (&'static str, usize)>,
) {
    let _ = write!(out, "{key} = {{ {action} = {}", quoted(what));
    for (role, param) in roles {
        let _ = write!(out, ", {role} = {}", quoted(&event.params[param].name));
    }
    out.push_str(" }\n");
}

fn write_message(out: &mut String, registry: &Registry, message: &Message) {
    let _ = write!(out, "\n[[message]]\nname = {}\n", quoted(&message.name));
    let _ = writeln!(out, "begin = {}", quoted(&registry.events[message.begin].name));
    if let Some(end) = message.end {
        let _ = writeln!(out, "end = {}", quoted(&registry.events[end].name));
    }
    if let Some(key) = &message.key {
        let _ = writeln!(out, "key = {}", quoted(key));
        if message.limit != crate::text::limits::DEFAULT_RUNNING {
            let _ = writeln!(out, "limit = {}", message.limit);
        }
    }
    let _ = writeln!(out, "doc = {}", quoted(&message.doc));
}

fn write_rule(out: &mut String, registry: &Registry, rule: &EventRule) {
    let _ = write!(out, "\n[[rule]]\nname = {}\n", quoted(&rule.name));
    let event = |index: usize| quoted(&registry.events[index].name);
    let span = |index: usize| quoted(&registry.spans[index].name);
    match rule.form {
        RuleForm::Comes { after, comes, .. } => {
            let _ = write!(out, "after = {}\ncomes = {}\n", event(after), event(comes));
            if let Some(within) = rule.form.within_text() {
                let _ = writeln!(out, "within = {}", quoted(&within));
            }
        }
        RuleForm::Never { never, open } => {
            let _ = write!(out, "never = {}\nopen = {}\n", event(never), span(open));
        }
        RuleForm::AtMost { at_most, open } => {
            let _ = write!(out, "at_most = {at_most}\nopen = {}\n", span(open));
        }
    }
    if let Some(by) = &rule.by {
        let _ = writeln!(out, "by = {}", quoted(by));
    }
    if rule.per != CounterPer::default() {
        let _ = writeln!(out, "per = {}", quoted(rule.per.name()));
    }
    let _ = writeln!(out, "doc = {}", quoted(&rule.doc));
}

/// Returns the default of `max` for types and arrays that have one.
pub(crate) const fn default_max(sort: Sort) -> u32 {
    if sort.is_run() { crate::text::limits::DEFAULT_RUN_LEN } else { crate::text::limits::DEFAULT_ELEMENTS }
}

/// Returns a basic string of TOML, on one line.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if char.is_control() => {
                let _ = write!(out, "\\u{:04X}", char as u32);
            }
            _ => out.push(char),
        }
    }
    out.push('"');
    out
}

pub(crate) const fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut index = 0;
    while index < bytes.len() {
        hash = (hash ^ bytes[index] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        index += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::fnv1a;

    #[test]
    fn the_hash_is_fnv_1a() {
        // The published test vectors.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
