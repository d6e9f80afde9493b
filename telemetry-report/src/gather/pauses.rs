//! Spans that stop the program.

/// The maximum of pauses. When there are more, neighbors are joined.
const MAX_PAUSES: usize = 40_000;

/// All pauses.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    pub(crate) list: Vec<Pause>,
    pub(crate) is_joined: bool,
}

/// A pause. Ordered by session, then by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pause {
    pub(crate) session: u64,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) def: u32,
    pub(crate) thread: u32,
    /// Number of a text, or -1.
    pub(crate) cause: i32,
}

impl Pauses {
    /// Adds a pause.
    pub(crate) fn add(&mut self, pause: Pause) {
        self.list.push(pause);
        if self.list.len() >= 2 * MAX_PAUSES {
            self.join();
        }
    }

    /// Returns the pauses by session and begin, not more than fit on the page.
    pub(crate) fn finish(mut self) -> Pauses {
        if self.list.len() > MAX_PAUSES {
            self.join();
        }
        self.list.sort_unstable();
        self
    }

    /// Joins the pauses with the shortest times between them. The result covers all that they
    /// cover, so a utilization that is computed from it is a lower bound.
    fn join(&mut self) {
        self.is_joined = true;
        self.list.sort_unstable();
        let mut between: Vec<u64> = self.list.windows(2).map(|two| gap(&two[0], &two[1])).collect();
        let (_, limit, _) = between.select_nth_unstable(self.list.len() - MAX_PAUSES / 2);
        let limit = *limit;
        let list = std::mem::take(&mut self.list);
        for pause in list {
            match self.list.last_mut() {
                Some(last) if gap(last, &pause) <= limit => last.end = last.end.max(pause.end),
                _ => self.list.push(pause),
            }
        }
    }
}

/// Returns the time between two pauses; most for those of two sessions.
fn gap(first: &Pause, second: &Pause) -> u64 {
    match first.session == second.session {
        true => second.begin.saturating_sub(first.end),
        false => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_pauses_cover_all() {
        let mut pauses = Pauses::default();
        let at = |number: u64| number * 1000 + number % 97;
        for number in 0..5 * MAX_PAUSES as u64 {
            let (begin, end) = (at(number), at(number) + 10);
            pauses.add(Pause { session: number % 2, begin, end, def: 0, thread: 0, cause: -1 });
        }
        let pauses = pauses.finish();
        assert!(pauses.is_joined && pauses.list.len() <= MAX_PAUSES, "{}", pauses.list.len());
        assert!(pauses.list.is_sorted());
        for number in (0..5 * MAX_PAUSES as u64).step_by(11) {
            let covers = |pause: &Pause| {
                pause.session == number % 2 && pause.begin <= at(number) && at(number) + 10 <= pause.end
            };
            assert!(pauses.list.iter().any(covers), "pause {number}");
        }
    }
}
