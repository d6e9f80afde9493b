//! The layout of an eventlog beyond the registry, which has the order, the widths and the meaning
//! of fields.

use telemetry_schema::{Count, Event, Registry, Sort};

use Form::{Ended, Fixed, Rest};

/// Begins a log. Four bytes, like all of these: `hdrb`.
pub(super) const HEADER_BEGIN: u32 = 0x6864_7262;
/// Begins the table of types: `hetb`.
pub(super) const TYPES_BEGIN: u32 = 0x6865_7462;
/// Begins a type: `etb`.
pub(super) const TYPE_BEGIN: u32 = 0x6574_6200;
/// Ends a type: `ete`.
pub(super) const TYPE_END: u32 = 0x6574_6500;
/// Ends the table of types: `hete`.
pub(super) const TYPES_END: u32 = 0x6865_7465;
/// Ends the header: `hdre`.
pub(super) const HEADER_END: u32 = 0x6864_7265;
/// Precedes the events: `datb`.
pub(super) const DATA_BEGIN: u32 = 0x6461_7462;
/// Follows the events, in the place of a tag.
pub(super) const DATA_END: u16 = 0xffff;
/// The size of a type whose events have their own length.
pub(super) const VARIABLE: u16 = 0xffff;
/// The capability of events without one.
pub(super) const NO_CAP: u16 = 0xffff;
/// Bytes of an event before its payload: tag and time.
pub(super) const HEAD: usize = 10;
/// Bytes of the length of a payload.
pub(super) const LEN: usize = 2;
/// The longest event.
pub(super) const MAX_EVENT: usize = HEAD + LEN + 0xffff;
/// The tag of the event that begins a block, and the length of that event.
pub(super) const BLOCK_MARKER: u16 = 18;
pub(super) const MARKER: usize = HEAD + 14;
/// The code of the registry's event for a type that a header declares.
pub(super) const EVENT_TYPE: u16 = 0xffff;

/// Returns the thread of a capability.
pub(super) const fn thread_of(cap: u16) -> u32 {
    cap as u32 + 1
}

/// The form of a type's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Every field has its width. Older writers may have another size: only the leading fields, or
    /// the first field as the binary logarithm of its present value.
    Fixed(&'static [u16]),
    /// A string or byte string takes the bytes that the other fields leave.
    Rest,
    /// Strings end with a NUL. Older writers may omit fields from this one on.
    Ended(usize),
}

/// All types in the registry: the tag, GHC's description, the form of the payload.
pub(super) const TYPES: &[(u16, &str, Form)] = &[
    (0, "Create thread", Fixed(&[])),
    (1, "Run thread", Fixed(&[])),
    (2, "Stop thread", Fixed(&[6])),
    (3, "Thread runnable", Fixed(&[])),
    (4, "Migrate thread", Fixed(&[])),
    (5, "Run spark", Fixed(&[])),
    (6, "Steal spark", Fixed(&[])),
    (7, "Shutdown", Fixed(&[])),
    (8, "Wakeup thread", Fixed(&[])),
    (9, "Starting GC", Fixed(&[])),
    (10, "Finished GC", Fixed(&[])),
    (11, "Request sequential GC", Fixed(&[])),
    (12, "Request parallel GC", Fixed(&[])),
    (15, "Create spark thread", Fixed(&[])),
    (16, "Log message", Rest),
    (17, "Startup", Fixed(&[])),
    (18, "Block marker", Fixed(&[])),
    (19, "User message", Rest),
    (20, "GC idle", Fixed(&[])),
    (21, "GC working", Fixed(&[])),
    (22, "GC done", Fixed(&[])),
    (23, "Version", Rest),
    (24, "Program invocation", Rest),
    (25, "Create capability set", Fixed(&[])),
    (26, "Delete capability set", Fixed(&[])),
    (27, "Add capability to capability set", Fixed(&[])),
    (28, "Remove capability from capability set", Fixed(&[])),
    (29, "RTS name and version", Rest),
    (30, "Program arguments", Rest),
    (31, "Program environment variables", Rest),
    (32, "Process ID", Fixed(&[])),
    (33, "Parent process ID", Fixed(&[])),
    (34, "Spark counters", Fixed(&[])),
    (35, "Spark create", Fixed(&[])),
    (36, "Spark dud", Fixed(&[])),
    (37, "Spark overflow", Fixed(&[])),
    (38, "Spark run", Fixed(&[])),
    (39, "Spark steal", Fixed(&[])),
    (40, "Spark fizzle", Fixed(&[])),
    (41, "Spark GC", Fixed(&[])),
    (42, "Intern string", Rest),
    (43, "Wall clock time", Fixed(&[])),
    (44, "Thread label", Rest),
    (45, "Create capability", Fixed(&[])),
    (46, "Delete capability", Fixed(&[])),
    (47, "Disable capability", Fixed(&[])),
    (48, "Enable capability", Fixed(&[])),
    (49, "Total heap mem ever allocated", Fixed(&[])),
    (50, "Current heap size", Fixed(&[])),
    (51, "Current heap live data", Fixed(&[])),
    (52, "Heap static parameters", Fixed(&[])),
    (53, "GC statistics", Fixed(&[50])),
    (54, "Synchronise stop-the-world GC", Fixed(&[])),
    (55, "Task create", Fixed(&[])),
    (56, "Task migrate", Fixed(&[])),
    (57, "Task delete", Fixed(&[])),
    (58, "User marker", Rest),
    (59, "Empty event for bug #9003", Fixed(&[])),
    (90, "Memory returned", Fixed(&[])),
    (91, "Current size of heap blocks", Fixed(&[])),
    (140, "Perf event name", Rest),
    (141, "Perf event counter", Fixed(&[])),
    (142, "Perf event tracepoint", Fixed(&[])),
    (160, "Start of heap profile", Ended(usize::MAX)),
    (161, "Cost center definition", Ended(usize::MAX)),
    (162, "Start of heap profile sample", Fixed(&[])),
    (163, "Heap profile cost-centre sample", Ended(usize::MAX)),
    (164, "Heap profile string sample", Ended(usize::MAX)),
    (165, "End of heap profile sample", Fixed(&[])),
    (166, "Start of heap profile (biographical) sample", Fixed(&[])),
    (167, "Time profile cost-centre stack", Ended(usize::MAX)),
    (168, "Start of a time profile", Fixed(&[])),
    (169, "Info table provenance", Ended(usize::MAX)),
    (181, "User binary message", Rest),
    (200, "Begin concurrent mark phase", Fixed(&[])),
    (201, "End concurrent mark phase", Fixed(&[])),
    (202, "Begin concurrent GC synchronisation", Fixed(&[])),
    (203, "End concurrent GC synchronisation", Fixed(&[])),
    (204, "Begin concurrent sweep", Fixed(&[])),
    (205, "End concurrent sweep", Fixed(&[])),
    (206, "Update remembered set flushed", Fixed(&[])),
    // GHC 9.10 writes the size of blocks in 16 bits, where it was a logarithm in 8. Newer logs have
    // that size.
    (207, "Nonmoving heap census", Fixed(&[13])),
    (208, "Nonmoving pruned segments", Fixed(&[])),
    (210, "Ticky counter definition", Ended(4)),
    (211, "Ticky counter sample", Fixed(&[])),
    (212, "Ticky begin sample", Fixed(&[])),
];

/// Fields that are narrower in a log than in the registry and have another form with other writers:
/// tag, size of the payload, index of the field, and its form.
const NARROW: &[(u16, u16, usize, Field)] =
    &[(207, 13, 0, Field::Log2), (207, 14, 0, Field::Number { bytes: 2 })];

/// A field of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// A number with its most significant byte first.
    Number {
        /// 1, 2, 4 or 8.
        bytes: u8,
    },
    /// The binary logarithm of a number, in one byte.
    Log2,
    /// The bytes that all later fields leave.
    Rest {
        /// Bytes of later fields.
        but: u8,
        /// It is text, not arbitrary bytes.
        text: bool,
    },
    /// Text and a NUL.
    Ended,
    /// A count in one byte, and that number of 32-bit numbers.
    Counted,
}

/// The layout of a type's payload in a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Layout {
    /// In the order of the event's parameters.
    pub(super) fields: Vec<Field>,
    /// The first of the fields that may be missing.
    pub(super) optional: usize,
    /// [`VARIABLE`], or the bytes of the payload that the fields take: the log may have more.
    pub(super) size: u16,
}

impl Layout {
    /// Returns the layout of an event of the registry in a log that declares this size for it. The
    /// layout may have fewer fields than the event has parameters. `None` if such events cannot be
    /// understood: then only their description is known.
    pub(super) fn new(registry: &Registry, event: &Event, declared: u16) -> Option<Layout> {
        let &(tag, _, form) = TYPES.iter().find(|(tag, _, _)| *tag == event.code)?;
        let widths = |params: usize| -> u16 {
            event.params[..params].iter().map(|param| width(registry, param.sort).unwrap_or(0)).sum()
        };
        let ended = matches!(form, Ended(_));
        let mut fields: Vec<Field> = event
            .params
            .iter()
            .enumerate()
            .map(|(index, param)| match (param.count, width(registry, param.sort)) {
                (Count::One, Some(bytes)) => Field::Number { bytes: bytes as u8 },
                (Count::One, None) if ended => Field::Ended,
                (Count::One, None) => Field::Rest {
                    but: (widths(event.params.len()) - widths(index)) as u8,
                    text: param.sort == Sort::String,
                },
                _ => Field::Counted,
            })
            .collect();
        let narrow = |fields: &mut Vec<Field>, size: u16| {
            for (_, _, index, field) in NARROW.iter().filter(|narrow| (narrow.0, narrow.1) == (tag, size)) {
                if let Some(place) = fields.get_mut(*index) {
                    *place = *field;
                }
            }
        };
        let Fixed(older) = form else {
            let optional = if let Ended(optional) = form { optional } else { usize::MAX };
            return (declared == VARIABLE).then_some(Layout { fields, optional, size: VARIABLE });
        };
        if declared == VARIABLE {
            return None;
        }
        // The largest known size up to the declared one.
        let newest = NARROW.iter().filter(|narrow| narrow.0 == tag).map(|narrow| narrow.1).max();
        let newest = newest.unwrap_or_else(|| widths(event.params.len()));
        let size = older.iter().copied().chain([newest]).filter(|size| *size <= declared).max()?;
        narrow(&mut fields, size);
        let mut taken = 0;
        fields.retain(|field| {
            taken += u16::from(field.width());
            taken <= size
        });
        Some(Layout { fields, optional: usize::MAX, size })
    }

    /// Returns true if every payload of this layout with the declared length is valid.
    pub(super) fn is_plain(&self) -> bool {
        self.fields.iter().all(|field| matches!(field, Field::Number { .. }))
    }
}

impl Field {
    /// Returns the bytes of a field with a fixed width.
    fn width(self) -> u8 {
        match self {
            Field::Number { bytes } => bytes,
            Field::Log2 => 1,
            Field::Rest { .. } | Field::Ended | Field::Counted => 0,
        }
    }
}

/// Returns the bytes of a number in a log; `None` for strings.
fn width(registry: &Registry, sort: Sort) -> Option<u16> {
    match registry.repr(sort) {
        Sort::U8 => Some(1),
        Sort::U16 => Some(2),
        Sort::U32 => Some(4),
        Sort::String | Sort::Bytes => None,
        Sort::Pointer | Sort::Addr | Sort::Word | Sort::U64 | Sort::I64 | Sort::F64 => Some(8),
        // GHC's registry has none of these.
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::F32 | Sort::Bool | Sort::Label | Sort::Named(_) => Some(8),
    }
}

/// Returns GHC's description of a type, and the size that it declares.
pub(super) fn usual(registry: &Registry, event: &Event) -> Option<(&'static str, u16)> {
    let (tag, description, form) = TYPES.iter().find(|(tag, _, _)| *tag == event.code)?;
    let widths = event.params.iter().filter_map(|param| width(registry, param.sort)).sum();
    let newest = NARROW.iter().filter(|narrow| narrow.0 == *tag).map(|narrow| narrow.1).max();
    let size = match form {
        Fixed(_) => newest.unwrap_or(widths),
        Rest | Ended(_) => VARIABLE,
    };
    Some((description, size))
}
