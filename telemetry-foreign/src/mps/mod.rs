//! Logs of the Memory Pool System's telemetry, `mpsio.log`.
//!
//! Such a log is a sequence of C structures without magic number, checksum or framing. Each has a
//! head of 16 bytes (code, size and clock), followed by its parameters. The MPS has a buffer for
//! each kind, which it fills from the end. When one is full, it writes the buffers of all kinds
//! that are output, one after the other. So a log is a sequence of *batches*. A batch has the
//! events of one kind after the other, the newest of each first, and an EventClockSync at the end.
//!
//! registries/mps.toml describes its events, and docs/formats.md everything.

mod chain;
mod extents;
mod layout;
mod log;
mod names;
mod pieces;
mod python;
mod run;
mod survey;
mod unknown;
mod version;
mod write;

use std::sync::OnceLock;

use telemetry_schema::{Registry, parse_embedded};

pub use log::MpsLog;
pub use names::{append_name, has_names, name, with_names};
pub use python::module as python_module;
pub use unknown::{UNKNOWN_REGISTRY, unknown_code};
pub use write::write;

use layout::{Head, Layout};

/// The name of the registry, and the fact `format` of sessions.
pub(crate) const NAME: &str = "mps";

/// The registry file of the MPS's events.
const RELATION: &str = include_str!("../../registries/mps.toml");

/// The MPS's events: their registry, and their layout in a log.
struct Known {
    registry: Registry,
    layout: Layout,
}

/// The registry of the MPS's events.
pub fn registry() -> Registry {
    known().registry.clone()
}

/// True if a file begins like such a log: with events of known forms. `first` is its first 4096
/// bytes, or all bytes of a shorter one.
pub fn recognize(first: &[u8]) -> bool {
    let layout = &known().layout;
    let is_init = |head: &Head| {
        let form = layout.of_code(head.code).map(|(_, form)| form.role);
        form == Some(Some(layout::Role::Init))
    };
    match chain::sound(layout, first, 8) {
        0 => false,
        1 => Head::read(first).is_some_and(|head| is_init(&head)),
        _ => true,
    }
}

fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| {
        // A test parses it.
        let registry = parse_embedded(RELATION)
            .unwrap_or_else(|_| Registry { name: NAME.to_string(), ..Registry::default() });
        let layout = Layout::new(&registry);
        Known { registry, layout }
    })
}

/// The offsets of the parameters of the event with a code, and its possible sizes in a log.
pub fn layout_of(code: u16) -> Option<(Vec<usize>, std::ops::RangeInclusive<usize>)> {
    let (_, form) = known().layout.of_code(code)?;
    Some((form.offsets().collect(), form.size()..=form.most()))
}
