//! Which events of the relation enters and leaves are.
//!
//! Nearly every leave is of the method that was entered last. The relation says so without saying which it was, as
//! formats of traces do: less than half as long, and a span needs no key.

use super::what::What;

/// The calls of a buffer that have not ended, innermost last.
#[derive(Default)]
pub(super) struct Calls(Vec<u64>);

impl Calls {
    /// The events that an enter or a leave is, and whether they have the method.
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

    /// A call begins.
    pub(super) fn enter(&mut self, method: u64) {
        self.0.push(method);
    }

    /// The call that the thread is in ends: which one it was.
    pub(super) fn end(&mut self) -> Option<u64> {
        self.0.pop()
    }

    /// A leave that names its method.
    pub(super) fn leave(&mut self, method: u64) {
        self.0.pop_if(|last| *last == method);
    }
}
