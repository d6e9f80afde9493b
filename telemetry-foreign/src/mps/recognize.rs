//! Recognizes a log by its first events: it has no magic number.

use super::chain::sound;
use super::known::known;
use super::layout::{Head, Role};

/// Returns true if a file begins like a log of the MPS: with events of known forms. `first` is its
/// first 4096 bytes, or all bytes of a shorter one.
pub fn recognize(first: &[u8]) -> bool {
    let layout = &known().layout;
    let is_init = |head: &Head| {
        let form = layout.of_code(head.code).map(|(_, form)| form.role);
        form == Some(Some(Role::Init))
    };
    match sound(layout, first, 8) {
        0 => false,
        1 => Head::read(first).is_some_and(|head| is_init(&head)),
        _ => true,
    }
}
