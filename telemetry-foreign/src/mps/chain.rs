//! Finds the places where events certainly begin: the bytes after them must look like events, too.

use super::layout::{Head, Layout};

/// Clock readings that are farther apart, by hours, do not belong to neighboring events.
const NEAR: u64 = 1 << 45;

/// Events that must follow each other if nothing else shows that one begins.
pub(super) const NEED: usize = 3;

/// Returns the number of events of known form that follow each other from the first byte on, up to
/// `most`.
pub(super) fn sound(layout: &Layout, bytes: &[u8], most: usize) -> usize {
    let (mut at, mut found, mut last) = (0, 0, None);
    while found < most
        && let Some(head) = bytes.get(at..).and_then(Head::read)
        && let Some((_, form)) = layout.of_code(head.code)
        && form.has_size(head.size)
        && last.is_none_or(|last: u64| last.abs_diff(head.ticks) < NEAR)
    {
        // The last one may be cut off.
        if let Some(event) = bytes.get(at..at + head.size)
            && !form.is_size_of(event)
        {
            break;
        }
        (at, found, last) = (at + head.size, found + 1, Some(head.ticks));
    }
    found
}

/// Returns true if an event certainly begins with the first of these bytes: `need` events follow
/// each other, or the log ends after fewer. `is_end` says that the log has no further bytes.
pub(super) fn is_border(layout: &Layout, bytes: &[u8], is_end: bool, need: usize) -> bool {
    if is_end && bytes.is_empty() {
        return true;
    }
    let (mut at, mut last) = (0, None);
    for _ in 0..need {
        let Some(head) = bytes.get(at..).and_then(Head::read) else { return false };
        let Some((_, form)) = layout.of_code(head.code) else { return false };
        let Some(event) = bytes.get(at..at + head.size) else { return false };
        if !form.is_size_of(event) || last.is_some_and(|last: u64| last.abs_diff(head.ticks) >= NEAR) {
            return false;
        }
        (at, last) = (at + head.size, Some(head.ticks));
        if is_end && at == bytes.len() {
            return true;
        }
    }
    true
}

/// Returns the offset of the next place after the first byte where an event certainly begins,
/// before `until`.
pub(super) fn next_border(layout: &Layout, bytes: &[u8], is_end: bool, until: usize) -> Option<usize> {
    (1..until.min(bytes.len())).find(|at| is_border(layout, &bytes[*at..], is_end, NEED))
}
