//! Logs of the Mono log profiler, `.mlpd`: data version 1 (2010) and data version 17 (Mono 6.8).
//!
//! A file is a header and buffers. A buffer is one thread's, and decodable alone: the running clock, the bases that
//! numbers are counted from, and the chain of methods begin again in each. `v1.rs` and `v17.rs` are the tables of what
//! events look like in it; what they mean is in the relation `registries/mono.toml`.

mod calls;
mod debug;
mod decode;
mod encode;
mod facts;
mod header;
mod known;
mod layout;
mod leb;
mod log;
mod names;
mod order;
mod page;
mod read_ahead;
mod report;
mod stack;
mod text;
mod v1;
mod v17;
mod walk;
mod what;
mod words;
mod write;

use std::sync::OnceLock;

use telemetry_schema::{Registry, Sort};

pub use debug::debug;
pub use log::MonoLog;
pub use report::{ReportOptions, report};
pub use write::write;

/// The name of the registry.
pub(crate) const NAME: &str = "mono";

/// The relation as it stands in this crate.
const REGISTRY: &str = include_str!("../../registries/mono.toml");

/// True if a file that begins with these bytes is a log of the Mono log profiler, of whatever data version.
pub fn recognize(first: &[u8]) -> bool {
    header::is_file(first)
}

/// Mono's events, of both data versions: the relation that logs of version 17 have.
///
/// # Panics
/// Never: the text is part of this crate, and tests parse it.
pub fn registry() -> Registry {
    parsed().clone()
}

/// The relation, which is parsed once.
fn parsed() -> &'static Registry {
    static PARSED: OnceLock<Registry> = OnceLock::new();
    PARSED.get_or_init(|| match telemetry_schema::parse(REGISTRY) {
        Ok(registry) => registry,
        Err(invalid) => unreachable!("{}", invalid.render("registries/mono.toml", REGISTRY)),
    })
}

/// Codes below this one are events of data version 1.
const CODES_OF_ONE: u16 = 0x20;

/// The events that data version 1 has: the relation before those of version 17 were added to it. A log of version 1
/// need not carry more.
pub fn registry_of_one() -> Registry {
    static ONE: OnceLock<Registry> = OnceLock::new();
    ONE.get_or_init(part_of_one).clone()
}

fn part_of_one() -> Registry {
    let mut registry = registry();
    registry.version = telemetry_schema::Version { minor: 0, ..registry.version };
    registry.events.retain(|event| event.code < CODES_OF_ONE);
    registry.kinds.truncate(registry.events.iter().map(|event| event.kind + 1).max().unwrap_or(0));
    let mut types = Vec::new();
    for param in registry.events.iter_mut().flat_map(|event| &mut event.params) {
        if let Sort::Named(index) = &mut param.sort {
            let place = types.iter().position(|known| known == index);
            *index = place.unwrap_or_else(|| {
                types.push(*index);
                types.len() - 1
            });
        }
    }
    // Types are ordered by name, and so are those that are left.
    let mut order: Vec<usize> = (0..types.len()).collect();
    order.sort_by_key(|place| types[*place]);
    for param in registry.events.iter_mut().flat_map(|event| &mut event.params) {
        if let Sort::Named(index) = &mut param.sort {
            *index = order.iter().position(|place| place == index).unwrap_or_default();
        }
    }
    registry.types = order.iter().filter_map(|place| registry.types.get(types[*place]).cloned()).collect();
    let events = registry.events.len();
    registry.spans.retain(|span| span.begin < events && span.end < events);
    registry
}
