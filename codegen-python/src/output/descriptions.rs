//! The descriptions that the MPS's `mpseventpy` documents: `Kind`, `KIND`, `Event`, `EVENT`.

use std::fmt::Write;

use telemetry_schema::{Count, Encoding, Event, Param, Registry};

use crate::text::python::{class_name, literal};

/// Returns namespace and dictionary of the kinds.
pub(crate) fn kinds(registry: &Registry) -> String {
    let mut out = "\n\nclass Kind:\n    \"\"\"A `KindDesc` for every kind.\"\"\"\n\n".to_string();
    for kind in &registry.kinds {
        let (name, doc) = (literal(&kind.name), literal(&kind.doc));
        let _ = writeln!(out, "    {} = KindDesc({name}, {}, {doc})", class_name(&kind.name), kind.bit);
    }
    out += "\n\n#: Kinds by bit number.\nKIND: dict[int, KindDesc] = {\n";
    for kind in &registry.kinds {
        let _ = writeln!(out, "    {}: Kind.{},", kind.bit, class_name(&kind.name));
    }
    out + "}\n"
}

/// Returns namespace and dictionary of the events.
pub(crate) fn events(registry: &Registry) -> String {
    let mut out = "\n\nclass Event(_Event):\n    \"\"\"An event of the registry; and an `EventDesc` for every event type.\"\"\"\n\n    \
                   __slots__ = ()\n"
        .to_string();
    for event in &registry.events {
        let used = if event.used { "True" } else { "False" };
        let _ = writeln!(out, "    {} = EventDesc(", class_name(&event.name));
        let _ = writeln!(out, "        {},", literal(&event.name));
        let kind = class_name(&registry.kind_of(event).name);
        let _ = writeln!(out, "        {:#06x},\n        {used},\n        Kind.{kind},", event.code);
        if event.params.is_empty() {
            out += "        [],\n";
        } else {
            out += "        [\n";
            for param in &event.params {
                let (sort, name, doc) =
                    (literal(&sort(registry, param)), literal(&param.name), literal(&param.doc));
                let _ = writeln!(out, "            EventParam({sort}, {name}, {doc}),");
            }
            out += "        ],\n";
        }
        let layout = Layout::of(registry, event);
        let _ = writeln!(out, "        {},\n        {},\n    )", layout.size, literal(&layout.format));
    }
    out += "\n\n#: Events by code.\nEVENT: dict[int, EventDesc] = {\n";
    for event in &registry.events {
        let _ = writeln!(out, "    {:#06x}: Event.{},", event.code, class_name(&event.name));
    }
    out + "}\n"
}

/// Returns the letter of the MPS, or the type of the registry file.
fn sort(registry: &Registry, param: &Param) -> String {
    match (param.count, param.sort.letter()) {
        (Count::One, Some(letter)) => letter.to_string(),
        _ => registry.sort_text(param),
    }
}

/// The MPS's layout of an event after its header: a C structure, with strings last.
struct Layout {
    size: u32,
    format: String,
    /// The end of the part that has a format.
    end: u32,
    is_open: bool,
}

impl Layout {
    fn of(registry: &Registry, event: &Event) -> Layout {
        let mut layout = Layout { size: 0, format: "<".to_string(), end: 0, is_open: true };
        for param in &event.params {
            let (code, size) = code(registry.encoding(param.sort));
            let (align, count) = match (param.count, param.sort.is_run()) {
                // The MPS declares room for 4 bytes more than a string has, where 1 was meant.
                (_, true) => (1, param.max_len + 4),
                (Count::One, _) => (size, 1),
                (Count::Fixed(count), _) | (Count::UpTo(count), _) => (size, count),
            };
            layout.is_open &= !param.sort.is_run() && !matches!(param.count, Count::UpTo(_));
            let start = layout.size.next_multiple_of(align);
            layout.pad(start);
            layout.size = start + size * count;
            if layout.is_open {
                if let Count::Fixed(count) = param.count {
                    let _ = write!(layout.format, "{count}");
                }
                layout.format.push(code);
                layout.end = layout.size;
            }
        }
        layout.size = layout.size.next_multiple_of(8);
        layout.pad(layout.size);
        layout
    }

    fn pad(&mut self, to: u32) {
        if self.is_open && self.end < to {
            let _ = write!(self.format, "{}x", to - self.end);
            self.end = to;
        }
    }
}

/// Returns the code of a value for `struct`, and its bytes; of a run, those of one element.
fn code(encoding: Encoding) -> (char, u32) {
    match encoding {
        Encoding::Delta | Encoding::Unsigned64 => ('Q', 8),
        Encoding::Signed64 => ('q', 8),
        Encoding::Unsigned32 => ('L', 4),
        Encoding::Signed32 => ('l', 4),
        Encoding::Unsigned16 => ('H', 2),
        Encoding::Signed16 => ('h', 2),
        Encoding::Byte => ('B', 1),
        Encoding::SignedByte => ('b', 1),
        Encoding::Bool => ('?', 1),
        Encoding::F32 => ('f', 4),
        Encoding::F64 => ('d', 8),
        Encoding::Run => ('s', 1),
    }
}
