//! What collectors may ask of programs.

use std::str::FromStr;

use crate::wire::{Ask, Request};

/// A program, and what a collector may ask of it.
///
/// ```
/// use telemetry_fleet::daemon::Allow;
///
/// assert!("gcbench=Gc,Trace,flush,snapshot".parse::<Allow>().is_ok());
/// assert!("4711=flush".parse::<Allow>().is_err(), "a name, not a number of a process");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allow {
    program: String,
    /// `flush`, `snapshot`, and words of control.
    requests: Vec<String>,
}

impl FromStr for Allow {
    type Err = String;

    fn from_str(text: &str) -> Result<Allow, String> {
        let parse = || {
            let (program, requests) = text.split_once('=')?;
            let requests: Vec<_> = requests.split(',').map(str::to_owned).collect();
            // A number would be that of any process, and a hyphen would begin an option.
            let is_name = program.contains(char::is_alphabetic) && !program.starts_with('-');
            let is_word = |word: &String| {
                !word.is_empty() && !word.starts_with('-') && !word.contains(char::is_whitespace)
            };
            (is_name && requests.iter().all(is_word)).then(|| Allow { program: program.to_owned(), requests })
        };
        parse().ok_or_else(|| {
            "expected PROGRAM=REQUEST,REQUEST… with `flush`, `snapshot`, and words of control".to_owned()
        })
    }
}

/// Says why a request is not allowed.
pub(crate) fn check(allowed: &[Allow], request: &Request) -> Result<(), String> {
    let Request { ask, program, words, .. } = request;
    let mut of_program = allowed.iter().filter(|allow| allow.program == *program).peekable();
    if of_program.peek().is_none() {
        return Err(format!("the program `{program}` takes no requests of collectors"));
    }
    let requests: Vec<_> = of_program.flat_map(|allow| &allow.requests).collect();
    let check = |word: &str| {
        let is_allowed = requests.iter().any(|request| *request == word);
        is_allowed.then_some(()).ok_or_else(|| format!("`{program}` does not take `{word}` of collectors"))
    };
    match ask {
        Ask::Flush | Ask::Snapshot => check(ask.word()),
        Ask::Set | Ask::Reset if words.trim().is_empty() => Err(format!("`{}` without words", ask.word())),
        Ask::Set | Ask::Reset => words.split_whitespace().try_for_each(|word| match word.strip_prefix('-') {
            Some(excluded) => check(excluded),
            None => check(word),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_is_allowed() {
        let allowed = ["gc=Gc,snapshot", "db=flush,all", "gc=a:Trace"].map(|text| text.parse().unwrap());
        let is_allowed = |ask, program: &str, words: &str| {
            let (program, words) = (program.to_owned(), words.to_owned());
            check(&allowed, &Request { number: 0, ask, program, words }).is_ok()
        };
        for (ask, program, words, wanted) in [
            (Ask::Set, "gc", "Gc", true),
            (Ask::Set, "gc", " -Gc\ta:Trace ", true),
            (Ask::Reset, "gc", "Gc", true),
            (Ask::Snapshot, "gc", "", true),
            (Ask::Flush, "db", "", true),
            (Ask::Set, "db", "all", true),
            (Ask::Flush, "gc", "", false),
            (Ask::Set, "gc", "", false),
            (Ask::Set, "gc", "Gc Trace", false),
            (Ask::Set, "gc", "--Gc", false),
            (Ask::Set, "gc", "--snapshot", false),
            (Ask::Set, "gc", "all", false),
            (Ask::Snapshot, "other", "", false),
            (Ask::Snapshot, "", "", false),
        ] {
            assert_eq!(is_allowed(ask, program, words), wanted, "{ask:?} {program} {words:?}");
        }
        for wrong in ["gc", "gc=", "=flush", "-gc=flush", "17=flush", "gc=-Gc", "gc=a b", "gc=a,,b"] {
            assert!(wrong.parse::<Allow>().is_err(), "{wrong}");
        }
    }
}
