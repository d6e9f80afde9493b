//! The Python module of `mpseventpy`: descriptions of the MPS's events and of their bytes in a log.

use std::fmt::Write;

use telemetry_schema::{Event, Registry, Sort, Version};

use super::known::known;
use super::layout::{Form, HEAD};
use super::names::with_names;

const BEGINNING: &str = r#""""Events of the Memory Pool System's telemetry, and their bytes in a log.

A log is one event after the other: HEADER_SIZE bytes, as HEADER_FORMAT says, and then as many as are left of the
header's size, as the format of the event of its code says, but that a string is read by hand, to its NUL. Use:

    import struct
    import mpsevent

    def events(log):
        while True:
            header = log.read(mpsevent.HEADER_SIZE)
            if len(header) < mpsevent.HEADER_SIZE:
                return
            header = mpsevent.HeaderDesc(*struct.unpack(mpsevent.HEADER_FORMAT, header))
            data = log.read(header.size - mpsevent.HEADER_SIZE)
            yield header, mpsevent.EVENT.get(header.code), data
"""

from collections import namedtuple
"#;

const TUPLES: &str = r#"
#: A kind: what control switches.
KindDesc = namedtuple('KindDesc', 'name code doc')

#: A parameter: its sort is one of P A W U S D B.
EventParam = namedtuple('EventParam', 'sort name doc')

#: An event. `maxsize` and `format` (of the module struct) are of the bytes behind the header.
EventDesc = namedtuple('EventDesc', 'name code used kind params maxsize format')

#: What stands before each event. `size` has the header in it, `clock` is the processor's counter.
HeaderDesc = namedtuple('HeaderDesc', 'code size clock')
"#;

const END: &str = r#"
HEADER_SIZE = 16
HEADER_FORMAT = '<HH4xQ'

#: Of parameters `mode`.
ACCESS_MODE = {
    1: 'READ',
    2: 'WRITE',
    3: 'READ/WRITE',
}

#: Of parameters `rank`.
RANK = {
    0: 'AMBIG',
    1: 'EXACT',
    2: 'FINAL',
    3: 'WEAK',
}

#: Of the parameter `why` of TraceCreate.
TRACE_START_WHY = {
    0: 'gen 0 capacity',
    1: 'dynamic criterion',
    2: 'opportunism',
    3: 'full incremental',
    4: 'full',
    5: 'walk',
    6: 'extension',
}
"#;

/// Returns the module that `mpseventpy` prints.
pub fn module() -> String {
    let registry = with_names(&known().registry);
    let Version { major, median, minor } = registry.version;
    let mut out = BEGINNING.to_string();
    // A string takes the rest.
    let _ = write!(out, "\n__version__ = {major}, {median}, {minor}\n{TUPLES}\n\nclass Kind:\n");
    for kind in &registry.kinds {
        let _ = writeln!(out, "    {0} = KindDesc('{0}', {1}, {2})", kind.name, kind.bit, text(&kind.doc));
    }
    out += "\n\nKIND = {\n";
    for kind in &registry.kinds {
        let _ = writeln!(out, "    {}: Kind.{},", kind.bit, kind.name);
    }
    out += "}\n\n\nclass Event:\n";
    for (index, event) in registry.events.iter().enumerate() {
        if let Some(form) = known().layout.form(index) {
            append_event(&mut out, &registry, event, form);
        }
    }
    out += "\n\nEVENT = {\n";
    for event in &registry.events {
        let _ = writeln!(out, "    {:#06x}: Event.{},", event.code, event.name);
    }
    out += "}\n";
    out + END
}

fn append_event(out: &mut String, registry: &Registry, event: &Event, form: &Form) {
    let used = if event.used { "True" } else { "False" };
    let _ = writeln!(
        out,
        "    #: {3}\n    {0} = EventDesc('{0}', {1:#06x}, {used}, Kind.{2}, [",
        event.name,
        event.code,
        registry.kind_of(event).name,
        event.doc,
    );
    for param in &event.params {
        let letter = param.sort.letter().unwrap_or('?');
        let _ = writeln!(out, "        EventParam('{letter}', '{}', {}),", param.name, text(&param.doc));
    }
    let _ = writeln!(out, "    ], {}, '{}')", form.most() - HEAD, format(event, form));
}

/// Returns the format of the bytes behind the header, for Python's module `struct`.
fn format(event: &Event, form: &Form) -> String {
    let (mut out, mut at) = ("<".to_string(), HEAD);
    for (param, offset) in event.params.iter().zip(form.offsets()) {
        let (letter, size) = match param.sort {
            // A string has no format: the format reads what precedes it.
            Sort::String => return out,
            Sort::F64 => ('d', 8),
            Sort::Bool => ('?', 1),
            Sort::U32 => ('L', 4),
            Sort::Pointer | Sort::Addr | Sort::Word => ('Q', 8),
            // The MPS has none of these.
            Sort::U8 | Sort::U16 | Sort::U64 | Sort::F32 => ('Q', 8),
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => ('Q', 8),
            Sort::Bytes | Sort::Label | Sort::Named(_) => ('Q', 8),
        };
        append_padding(&mut out, offset - at);
        out.push(letter);
        at = offset + size;
    }
    append_padding(&mut out, form.size() - at);
    out
}

fn append_padding(out: &mut String, bytes: usize) {
    if bytes > 0 {
        let _ = write!(out, "{bytes}x");
    }
}

/// Returns a string as a Python literal.
fn text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
