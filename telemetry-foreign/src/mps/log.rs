//! A log of the MPS as a source of events.

use telemetry_decode::foreign::{Extent, Log, LogBytes, Page, Survey};

use super::known::known;
use super::layout::{Head, Role};
use super::{survey, unknown};

/// The decoder of an MPS log.
///
/// Events with codes that are not in the registry belong to a registry of their own
/// ([`UNKNOWN_REGISTRY`](unknown::UNKNOWN_REGISTRY)). A log whose EventInit says that another
/// version of the MPS wrote it is damage as a whole.
#[derive(Debug, Clone, Copy, Default)]
pub struct MpsLog {
    is_lenient: bool,
}

impl MpsLog {
    /// Makes a log of the version that the registry describes.
    pub fn new() -> MpsLog {
        MpsLog::default()
    }

    /// Also reads a log of another version, as far as its events have a known code and at least the
    /// known size. Their meaning may differ.
    #[must_use]
    pub fn lenient(self, is_lenient: bool) -> MpsLog {
        MpsLog { is_lenient }
    }
}

impl Log for MpsLog {
    fn survey(&mut self, bytes: &mut LogBytes<'_>) -> telemetry_decode::Result<Survey> {
        Ok(survey::survey(known(), self.is_lenient, bytes)?)
    }

    fn read(&self, _: &Extent, bytes: &[u8], page: &mut Page) {
        let layout = &known().layout;
        let mut at = 0;
        // The kind whose events are being read, for an event whose kind is unknown.
        let mut kind = None;
        while let Some(rest) = bytes.get(at..)
            && let Some(head) = Head::read(rest)
            && head.is_sane()
            && let Some(event) = rest.get(..head.size)
        {
            match layout.of_code(head.code) {
                // The size was checked before, with the string's length.
                Some((index, form)) if form.has_size(head.size) || head.size > form.size() => {
                    form.read(index, head.ticks, at, event, page);
                    kind = Some(form.kind).filter(|_| form.role != Some(Role::ClockSync));
                }
                _ => {
                    // Searched once: all unknown events up to the next known one are of that kind.
                    let of = kind.or_else(|| kind_behind(&rest[head.size..])).unwrap_or_default();
                    kind = Some(of);
                    unknown::read(head, of, at, event, page);
                }
            }
            at += head.size;
        }
    }
}

/// Returns the kind of the first known event, if it is in the same batch.
fn kind_behind(mut rest: &[u8]) -> Option<u8> {
    while let Some(head) = Head::read(rest)
        && head.is_sane()
    {
        if let Some((_, form)) = known().layout.of_code(head.code) {
            return Some(form.kind).filter(|_| form.role != Some(Role::ClockSync));
        }
        rest = rest.get(head.size..)?;
    }
    None
}
