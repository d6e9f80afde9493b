//! Gaps in which events may be missing, so that what readers find is uncertain.

use std::collections::HashMap;

use super::completeness::Gap;

/// Intervals in which events may be missing, by clock readings, in order and disjoint.
#[derive(Debug, Default)]
struct Stretches(Vec<(u64, u64)>);

/// The gaps of lanes, for questions about intervals.
#[derive(Debug, Default)]
pub struct Gaps {
    /// By session, registry and kind, on any thread.
    of_kinds: HashMap<(u64, u64, u8), Stretches>,
    /// By thread, too.
    of_threads: HashMap<(u64, u64, u8, u32), Stretches>,
    /// Gaps of a session that are not in a known lane.
    of_sessions: HashMap<u64, Stretches>,
}

impl Gaps {
    /// Prepares gaps for questions.
    pub fn new(gaps: &[Gap]) -> Gaps {
        let mut all = Gaps::default();
        for gap in gaps {
            let Gap { session, thread, registry, kind, from_ticks, until_ticks, .. } = *gap;
            let stretch = (from_ticks, until_ticks);
            if registry == 0 {
                all.of_sessions.entry(session).or_default().0.push(stretch);
            } else {
                all.of_kinds.entry((session, registry, kind)).or_default().0.push(stretch);
                all.of_threads.entry((session, registry, kind, thread)).or_default().0.push(stretch);
            }
        }
        let stretches = all.of_kinds.values_mut().chain(all.of_threads.values_mut());
        stretches.chain(all.of_sessions.values_mut()).for_each(Stretches::join);
        all
    }

    /// Returns true if no event of a kind can be missing between two clock readings, on a thread or
    /// on any. `registry` is a fingerprint.
    pub fn are_none(
        &self,
        (session, registry, kind): (u64, u64, u8),
        thread: Option<u32>,
        from: u64,
        until: u64,
    ) -> bool {
        let meets = |stretches: Option<&Stretches>| stretches.is_some_and(|of| of.meet(from, until));
        let of_kind = match thread {
            None => meets(self.of_kinds.get(&(session, registry, kind))),
            Some(thread) => meets(self.of_threads.get(&(session, registry, kind, thread))),
        };
        !of_kind && !meets(self.of_sessions.get(&session))
    }
}

impl Stretches {
    fn join(&mut self) {
        self.0.sort_unstable();
        self.0.dedup_by(|next, before| {
            let overlaps = next.0 <= before.1;
            if overlaps {
                before.1 = before.1.max(next.1);
            }
            overlaps
        });
    }

    /// Returns true if one has a time in common with this interval.
    fn meet(&self, from: u64, until: u64) -> bool {
        let first = self.0.partition_point(|(_, end)| *end <= from);
        self.0.get(first).is_some_and(|(start, _)| *start < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_meet_what_they_have_a_moment_in_common_with() {
        let mut stretches = Stretches(vec![(50, 60), (10, 20), (15, 30), (60, 70)]);
        stretches.join();
        assert_eq!(stretches.0, [(10, 30), (50, 70)]);
        let table = [
            (0, 10, false),
            (0, 11, true),
            (12, 13, true),
            (29, 40, true),
            (30, 50, false),
            (30, 51, true),
            (65, 90, true),
            (70, 90, false),
        ];
        for (from, until, expected) in table {
            assert_eq!(stretches.meet(from, until), expected, "{from}..{until}");
        }
    }
}
