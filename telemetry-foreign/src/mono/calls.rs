//! The events of the registry for enters and leaves.
//!
//! Nearly every leave is of the method that was entered last. The registry has an event for that
//! without the method, as trace formats do. It takes less than half the space, and a span needs no
//! key.

use super::what::What;

/// The open calls of a buffer, innermost last.
#[derive(Default)]
pub(super) struct Calls(Vec<u64>);

impl Calls {
    /// Returns the events of an enter and a leave, with or without the method.
    #[inline]
    pub(super) fn read(&mut self, what: What, method: u64) -> (&'static [What], bool) {
        if what == What::MethodEnter {
            self.0.push(method);
            return (&[What::MethodEnter], true);
        }
        let is_last = self.0.pop_if(|last| *last == method).is_some();
        match what {
            What::MethodExcLeave if is_last => (&[What::MethodUnwind, What::MethodReturn], false),
            What::MethodExcLeave => (&[What::MethodExcLeave], true),
            _ if is_last => (&[What::MethodReturn], false),
            _ => (&[What::MethodLeave], true),
        }
    }

    /// Notes that a call begins.
    pub(super) fn enter(&mut self, method: u64) {
        self.0.push(method);
    }

    /// Ends the thread's innermost call, and returns it.
    pub(super) fn end(&mut self) -> Option<u64> {
        self.0.pop()
    }

    /// Notes a leave that names its method.
    pub(super) fn leave(&mut self, method: u64) {
        self.0.pop_if(|last| *last == method);
    }
}
