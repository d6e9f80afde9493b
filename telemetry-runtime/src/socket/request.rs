//! A request: one line of text.

use crate::own::ControlMask;

/// Most bytes of a request, the line feed included.
pub(crate) const LIMIT: usize = 8192;

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request<'l> {
    Get,
    Change {
        mask: ControlMask,
        on: bool,
        words: &'l str,
    },
    Flush,
    Counters,
    Snapshot,
    /// Which of the words name nothing.
    Unknown(&'l str),
    /// What the words name, or what is output.
    Tail(Option<&'l str>),
    Info,
}

impl<'l> Request<'l> {
    /// Reads a line without its end.
    pub(crate) fn parse(line: &'l [u8]) -> Result<Request<'l>, String> {
        let line = core::str::from_utf8(line).map_err(|error| {
            format!("a request that is not UTF-8 at byte {}, expected text", error.valid_up_to())
        })?;
        if let Some((at, c)) = line.char_indices().find(|(_, c)| c.is_control() && *c != '\t') {
            return Err(format!("a request with {c:?} at byte {at}, expected words"));
        }
        let (verb, rest) = split(line);
        match (verb, rest) {
            ("get", "") => Ok(Request::Get),
            ("flush", "") => Ok(Request::Flush),
            ("counters", "") => Ok(Request::Counters),
            ("snapshot", "") => Ok(Request::Snapshot),
            ("info", "") => Ok(Request::Info),
            ("unknown", "") => Err("`unknown` without words".into()),
            ("unknown", words) => Ok(Request::Unknown(words)),
            ("tail", words) => Ok(Request::Tail((!words.is_empty()).then_some(words))),
            ("set" | "reset", words) => change(ControlMask::Output, verb, words),
            ("record", rest) => match split(rest) {
                (verb @ ("set" | "reset"), words) => change(ControlMask::Record, verb, words),
                (verb, _) => Err(format!("`record {verb}`, expected `record set` or `record reset`")),
            },
            ("get" | "flush" | "counters" | "snapshot" | "info", rest) => {
                Err(format!("`{rest}` behind `{verb}`, expected nothing"))
            }
            _ => Err(format!(
                "unknown request `{verb}`, expected `get`, `set`, `reset`, `record set`, `record reset`, `flush`, \
                 `counters`, `snapshot`, `unknown`, `tail` or `info`"
            )),
        }
    }
}

fn change<'l>(mask: ControlMask, verb: &str, words: &'l str) -> Result<Request<'l>, String> {
    if words.is_empty() {
        return Err(format!("`{verb}` without words; help: `{verb} all` means everything"));
    }
    Ok(Request::Change { mask, on: verb == "set", words })
}

/// The first word, and the others.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once([' ', '\t']).map_or((text, ""), |(word, rest)| (word, rest.trim_start()))
}
