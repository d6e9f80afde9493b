//! The result of writing events to a log.

/// The result of writing events to a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "it says what was left out"]
pub struct Written {
    /// Events written.
    pub events: u64,
    /// Events that the format cannot represent: the reason, in words that follow a number of
    /// events, and the number.
    pub left_out: std::collections::BTreeMap<String, u64>,
}

impl Written {
    /// Counts an event that was left out.
    pub fn leave_out(&mut self, why: &str) {
        match self.left_out.get_mut(why) {
            Some(events) => *events += 1,
            None => _ = self.left_out.insert(why.to_string(), 1),
        }
    }
}
