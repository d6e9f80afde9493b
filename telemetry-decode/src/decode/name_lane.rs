//! Reads the names that events give, and what limits left out, also of filtered events.

use telemetry_format::Header;
use telemetry_schema::{NameBy, Naming};

use super::walk::{Walk, walk};
use crate::registry::known_registry::KnownRegistry;
use crate::registry::namings::NameValue;
use crate::sessions::labels::NamedAt;
use crate::sessions::session::Session;
use crate::values::raw::Raw;

/// The state of a lane with names. It is separate from the lane of returned events, because names
/// are also needed from filtered events.
#[derive(Default)]
pub(crate) struct NameLane {
    seq: u32,
    /// Offset of the next part in the block.
    offset: u32,
    walk: Walk,
}

impl NameLane {
    /// Takes the names of a part.
    pub(crate) fn read(
        &mut self,
        registry: &KnownRegistry,
        header: &Header,
        payload: &[u8],
        session: &mut Session,
        room: &mut usize,
    ) {
        if header.offset == 0 {
            self.walk = Walk::from(header);
        } else if (self.seq, self.offset) != (header.seq, header.offset) {
            return;
        }
        (self.seq, self.offset) = (header.seq, header.offset.saturating_add(header.payload_len));
        let Header { thread, registry: fingerprint, kind, before, .. } = *header;
        let mut at = NamedAt { ticks: 0, thread, registry: fingerprint, kind, before };
        walk(registry, kind, payload, header.events, &mut self.walk, |index, ticks, raw, _| {
            at.ticks = ticks;
            if let Some(places) = registry.left_out.filter(|places| places.event == index as usize)
                && let [Some(of_registry), Some(of_event), Some(so_far)] =
                    [places.of_registry, places.of_event, places.so_far].map(|place| raw.get(place))
            {
                session.left_out.note(of_registry.run(payload), of_event.run(payload), so_far.bits);
            }
            for mark in registry.namings.of_event(index as usize) {
                let Naming { of, by, name, .. } = mark.naming;
                let (Some(of), Some(by)) = (raw.get(of), raw.get(by)) else { continue };
                let said = match name {
                    NameBy::Text => NameValue::Text(Raw::run(by, payload)),
                    _ => NameValue::Bits(by.bits),
                };
                mark.note(at, of.bits, said, &mut session.labels, room);
            }
            at.before = at.before.saturating_add(1);
        });
    }
}
