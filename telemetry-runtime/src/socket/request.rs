//! A request: one line of text.

use std::time::Duration;

use crate::control::switches::Mask;
use crate::own::switches::MAX_TIME;

/// Maximum length of a request, including the line feed.
pub(crate) const LIMIT: usize = 8192;

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request<'l> {
    Get,
    Change {
        mask: Mask,
        on: bool,
        words: &'l str,
    },
    /// Switches words on for a time.
    For {
        time: Duration,
        words: &'l str,
    },
    Flush,
    Counters,
    Snapshot,
    /// Returns which of the words match nothing.
    Unknown(&'l str),
    /// Follows what the words name, or what is output.
    Tail(Option<&'l str>),
    Info,
    /// Marks this moment with a text.
    Mark(&'l str),
    /// Asks the program itself, by the name of a request, and a text for it.
    Ask(&'l str, &'l str),
}

impl<'l> Request<'l> {
    /// Parses a line without its end.
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
            ("mark", "") => Err("`mark` without a text".into()),
            ("mark", text) => Ok(Request::Mark(text)),
            ("ask", "") => Err("`ask` without the name of a request".into()),
            ("ask", rest) => {
                let (name, text) = split(rest);
                Ok(Request::Ask(name, text))
            }
            ("tail", words) => Ok(Request::Tail((!words.is_empty()).then_some(words))),
            ("set" | "reset", words) => change(Mask::Output, verb, words),
            ("for", rest) => timed(rest),
            ("record", rest) => match split(rest) {
                (verb @ ("set" | "reset"), words) => change(Mask::Record, verb, words),
                (verb, _) => Err(format!("`record {verb}`, expected `record set` or `record reset`")),
            },
            ("get" | "flush" | "counters" | "snapshot" | "info", rest) => {
                Err(format!("`{rest}` behind `{verb}`, expected nothing"))
            }
            _ => Err(format!(
                "unknown request `{verb}`, expected `get`, `set`, `reset`, `record set`, `record reset`, `for`, `flush`, \
                 `counters`, `snapshot`, `unknown`, `tail`, `info`, `mark` or `ask`"
            )),
        }
    }
}

fn timed(rest: &str) -> Result<Request<'_>, String> {
    let (number, words) = split(rest);
    let most = MAX_TIME.as_millis() as u64;
    let millis = number.parse().ok().filter(|millis| (1..=most).contains(millis));
    let millis =
        millis.ok_or_else(|| format!("`for {number}`, expected a number of milliseconds, 1 to {most}"))?;
    match words {
        "" => Err("`for` without words; help: `for 1000 all` means everything for a second".into()),
        words => Ok(Request::For { time: Duration::from_millis(millis), words }),
    }
}

fn change<'l>(mask: Mask, verb: &str, words: &'l str) -> Result<Request<'l>, String> {
    if words.is_empty() {
        return Err(format!("`{verb}` without words; help: `{verb} all` means everything"));
    }
    Ok(Request::Change { mask, on: verb == "set", words })
}

/// Splits the first word from the others.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once([' ', '\t']).map_or((text, ""), |(word, rest)| (word, rest.trim_start()))
}
