//! A line of the text: the thread, the time and the event, or a function on a stack.

use super::header::nanoseconds;

/// Returns true for the beginning of a text that `perf script` printed.
pub fn recognize(first: &[u8]) -> bool {
    if first.starts_with(b"# ========\n# captured on") {
        return true;
    }
    let mut lines = first.split(|&byte| byte == b'\n').filter_map(|line| str::from_utf8(line).ok());
    let line = lines.find(|line| !line.starts_with('#') && !line.trim().is_empty());
    line.is_some_and(|line| Head::read(line).is_some())
}

/// The first line of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head<'l> {
    pub(super) thread_name: &'l str,
    pub(super) tid: i32,
    pub(super) cpu: Option<i32>,
    /// Nanoseconds of the clock that perf used.
    pub(super) ns: u64,
    pub(super) period: u64,
    pub(super) event: &'l str,
    /// What stands behind the event.
    pub(super) rest: &'l str,
}

/// A function on a stack.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame<'l> {
    pub(super) address: u64,
    pub(super) symbol: &'l str,
    pub(super) object: &'l str,
}

/// The fields of `sched:sched_switch`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Switch<'l> {
    pub(super) before: Running<'l>,
    pub(super) state: &'l str,
    pub(super) next: Running<'l>,
}

/// A thread with its name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Running<'l> {
    pub(super) name: &'l str,
    pub(super) tid: i32,
}

impl<'l> Head<'l> {
    /// Reads `NAME TID [CPU] SECONDS: PERIOD EVENT: REST`. Names of threads may have spaces, and
    /// perf leaves out the processor and the period if it did not record them.
    pub(super) fn read(line: &'l str) -> Option<Head<'l>> {
        let mut from = 0;
        // The time is the first word that can be one, behind a thread's number.
        while let Some(colon) =
            line[from..].find(": ").or_else(|| line[from..].strip_suffix(':').map(str::len))
        {
            let end = from + colon;
            let start = line[..end].rfind(char::is_whitespace).map_or(0, |at| at + 1);
            let before = nanoseconds(&line[start..end]).and_then(|ns| Some((ns, thread(&line[..start])?)));
            if let Some((ns, (thread_name, tid, cpu))) = before {
                let (period, event, rest) = event(line.get(end + 1..)?)?;
                return Some(Head { thread_name, tid, cpu, ns, period, event, rest });
            }
            from = (end + 2).min(line.len());
        }
        None
    }
}

/// Reads `NAME TID [CPU]` or `NAME PID/TID [CPU]`.
fn thread(text: &str) -> Option<(&str, i32, Option<i32>)> {
    let mut text = text.trim();
    let mut cpu = None;
    if let Some((before, number)) = text.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
        cpu = Some(number.parse().ok()?);
        text = before.trim_end();
    }
    let (name, number) = text.rsplit_once(char::is_whitespace)?;
    let tid = number.rsplit('/').next()?.parse().ok()?;
    Some((name.trim_end(), tid, cpu))
}

/// Reads `PERIOD EVENT: REST`, with or without the period.
fn event(text: &str) -> Option<(u64, &str, &str)> {
    let text = text.trim_start();
    let (period, text) = match text.split_once(char::is_whitespace) {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            (number.parse().ok()?, rest.trim_start())
        }
        _ => (0, text),
    };
    let (event, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    Some((period, event.strip_suffix(':')?, rest.trim()))
}

impl<'l> Frame<'l> {
    /// Reads `ADDRESS SYMBOL+OFFSET (OBJECT)`.
    pub(super) fn read(text: &'l str) -> Option<Frame<'l>> {
        let (address, rest) = text.trim().split_once(' ')?;
        let address = u64::from_str_radix(address, 16).ok()?;
        let rest = rest.strip_suffix(')')?;
        // Both may have parentheses. The offset stands between them, unless there is no symbol.
        let (symbol, object) = match rest.rsplit_once("+0x") {
            Some((symbol, rest)) => (symbol, rest.split_once(" (")?.1),
            None => rest.split_once(" (")?,
        };
        Some(Frame { address, symbol: symbol.trim(), object })
    }
}

impl<'l> Switch<'l> {
    /// Reads the fields as the kernel names them, or as perf shortens them:
    /// `NAME:TID [PRIORITY] STATE ==> NAME:TID [PRIORITY]`.
    pub(super) fn read(text: &'l str) -> Option<Switch<'l>> {
        let (before, next) = text.split_once(" ==> ")?;
        if let Some(before) = before.strip_prefix("prev_comm=") {
            let (name, rest) = before.rsplit_once(" prev_pid=")?;
            let (tid, rest) = rest.split_once(' ')?;
            let state = rest.split_once("prev_state=")?.1;
            let next = next.strip_prefix("next_comm=")?;
            let (next_name, rest) = next.rsplit_once(" next_pid=")?;
            let next_tid = rest.split(' ').next()?;
            return Some(Switch {
                before: Running { name, tid: tid.parse().ok()? },
                state,
                next: Running { name: next_name, tid: next_tid.parse().ok()? },
            });
        }
        let running = |text: &'l str| {
            let (thread, rest) = text.rsplit_once(" [")?;
            let (name, tid) = thread.rsplit_once(':')?;
            Some((Running { name, tid: tid.parse().ok()? }, rest.split_once(']')?.1.trim()))
        };
        let ((before, state), (next, _)) = (running(before)?, running(next)?);
        Some(Switch { before, state, next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_of_events() {
        let head = |thread_name, tid, cpu, ns, period, event, rest| {
            Some(Head { thread_name, tid, cpu, ns, period, event, rest })
        };
        let table = [
            (
                "  git  1872 [001] 28751.736163223:          1        page-faults:  ffffffff81775b9a f+0x2 ([k])",
                head(
                    "git",
                    1872,
                    Some(1),
                    28_751_736_163_223,
                    1,
                    "page-faults",
                    "ffffffff81775b9a f+0x2 ([k])",
                ),
            ),
            (
                "python3  2672 28757.076120:          1 page-faults: ",
                head("python3", 2672, None, 28_757_076_120_000, 1, "page-faults", ""),
            ),
            ("a 1/2 [000] 0.5: e:u:", head("a", 2, Some(0), 500_000_000, 0, "e:u", "")),
            (
                "opt cgu: 02  -1 [000] 1.000001: s:t: x=1: 2",
                head("opt cgu: 02", -1, Some(0), 1_000_001_000, 0, "s:t", "x=1: 2"),
            ),
            ("a 1 [0] 1.0000000001: e:", None),
            ("a [0] 1.0: e:", None),
            ("a 1 [0] 1.0 e:", None),
            ("a 1 [0] 1.0: e", None),
            ("\tffffffff81775b9a elf_load+0x28a ([kernel.kallsyms])", None),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(Head::read(line), expected, "{line:?}");
        }
    }

    #[test]
    fn functions_on_stacks() {
        let table = [
            ("\t7f malloc+0x40 (/usr/lib/libc.so.6)", Some((0x7f, "malloc", "/usr/lib/libc.so.6"))),
            ("    7f90c08f2ad7 [unknown] ([unknown])", Some((0x7f90_c08f_2ad7, "[unknown]", "[unknown]"))),
            ("1 f(int) const+0x5 (/a (deleted))", Some((1, "f(int) const", "/a (deleted)"))),
            ("x f (/a)", None),
            ("12", None),
        ];
        for (text, expected) in table {
            let found = Frame::read(text).map(|frame| (frame.address, frame.symbol, frame.object));
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn switches() {
        let table = [
            (
                "prev_comm=a b prev_pid=1 prev_prio=120 prev_state=R+ ==> next_comm=c d next_pid=2 next_prio=0",
                Some(("a b", 1, "R+", "c d", 2)),
            ),
            ("perf:1771 [120] D ==> migration/0:18 [0]", Some(("perf", 1771, "D", "migration/0", 18))),
            ("prev_comm=a prev_pid=x prev_prio=1 prev_state=S ==> next_comm=b next_pid=2 next_prio=0", None),
            ("a ==> b", None),
        ];
        for (text, expected) in table {
            let found = Switch::read(text);
            let found = found
                .map(|Switch { before, state, next }| (before.name, before.tid, state, next.name, next.tid));
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
