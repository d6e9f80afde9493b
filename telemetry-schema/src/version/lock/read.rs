//! Reads the text of a lock file, and reports one that was changed.

use std::ops::Range;
use std::str::FromStr;

use crate::model::registry::{Clock, TypeForm, Version};
use crate::model::sort::Sort;
use crate::text::diagnostic::Diagnostic;
use crate::text::diagnostic::quote;
use crate::text::limits::MAX_LOCK_LEN;
use crate::text::snippet::is_unprintable;
use crate::text::words;
use crate::version::lock::write::{FIRST_WORD, LAST_WORD, checksum};
use crate::version::lock::{
    Docs, Lock, LockEvent, LockKind, LockMessage, LockParam, LockSpan, LockType, LockValue, State,
};

/// The beginnings of lines with which git marks a conflict.
const CONFLICT: [&str; 4] = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];

const RESTORE: &str = "restore it from version control: `telemetry release` alone writes it";

impl Lock {
    /// Reads the text of an `events.lock`. Line endings may be those of Windows.
    ///
    /// Never panics, whatever the text.
    ///
    /// If [`Lock::to_text`] cannot have written the text in a format that this crate knows: the
    /// reason and the place.
    pub fn parse(text: &str) -> Result<Lock, Diagnostic> {
        if text.len() as u64 > MAX_LOCK_LEN {
            let message = format!("the lock has {} bytes, expected at most {MAX_LOCK_LEN}", text.len());
            return Err(wrong(0..0, message, RESTORE));
        }
        let lines = whole(text)?;
        let mut reader = Reader { text, lock: None, line: 0..0 };
        for line in lines {
            reader.line = line;
            reader.read().map_err(|expected| reader.not_understood(expected))?;
        }
        let line = reader.line.clone();
        let lock = reader.lock.ok_or_else(|| wrong(line, "the lock names no registry", RESTORE))?;
        // The parsed data is everything that the text has.
        let written = lock.to_text();
        if let Some(line) = first_difference(text, &written) {
            let message = "the lock is not as `telemetry release` writes it";
            return Err(wrong(line, message, RESTORE));
        }
        Ok(lock)
    }
}

/// The lines between the first and the last, which show that the text is complete.
fn whole(text: &str) -> Result<Vec<Range<usize>>, Diagnostic> {
    if text.trim().is_empty() {
        return Err(wrong(0..0, "the lock is empty", RESTORE));
    }
    let mut lines = lines(text);
    if let Some(line) =
        lines.iter().find(|line| CONFLICT.iter().any(|marker| text[(*line).clone()].starts_with(marker)))
    {
        let help = "resolve the conflict in the relation, take the lock of one side as it is, \
                    and let `telemetry check` compare the two";
        return Err(wrong(line.clone(), "the lock has the conflict markers of a merge", help));
    }
    let first = lines.first().cloned().unwrap_or_default();
    let format = text[first.clone()].strip_prefix(FIRST_WORD).map(str::trim);
    match format.map(u32::from_str) {
        Some(Ok(Lock::FORMAT)) => {}
        Some(Ok(newer)) if newer > Lock::FORMAT => {
            let message = format!("the lock has format {newer}, expected {}", Lock::FORMAT);
            return Err(wrong(first, message, "it is of a newer telemetry: update this one"));
        }
        _ => {
            let message =
                format!("expected `{FIRST_WORD} {}`, found {}", Lock::FORMAT, quote(&text[first.clone()]));
            return Err(wrong(first, message, RESTORE));
        }
    }
    let last = lines.pop().unwrap_or_default();
    let Some(found) = text[last.clone()].strip_prefix(LAST_WORD).map(str::trim) else {
        let message = format!("the lock is cut off: expected `{LAST_WORD}` in the last line");
        return Err(wrong(last, message, RESTORE));
    };
    let expected = match text.contains('\r') {
        // All lines end as on Windows, which version control may do.
        true if text.matches('\r').count() == lines.len() + 1 => {
            checksum(&text[..last.start].replace("\r\n", "\n"))
        }
        true => {
            return Err(wrong(0..0, "the lock has line ends of two kinds", RESTORE));
        }
        false => checksum(&text[..last.start]),
    };
    if found != expected {
        let message =
            format!("the lock was edited or damaged: its checksum is {expected}, expected {}", quote(found));
        return Err(wrong(last, message, RESTORE));
    }
    // The first line and the note.
    Ok(lines.split_off(lines.len().min(2)))
}

/// The place of each line, without its end.
pub(crate) fn lines(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let all = text.split_inclusive('\n').map(|line| {
        let start = at;
        at += line.len();
        start..start + line.trim_end_matches('\n').trim_end_matches('\r').len()
    });
    all.collect()
}

/// The first line of a text that differs from the expected one.
fn first_difference(text: &str, written: &str) -> Option<Range<usize>> {
    if text.lines().eq(written.lines()) && text.ends_with('\n') {
        return None;
    }
    let same = text.lines().zip(written.lines()).take_while(|(found, written)| found == written).count();
    let lines = lines(text);
    Some(lines.get(same).or(lines.last()).cloned().unwrap_or_default())
}

fn wrong(span: Range<usize>, message: impl Into<String>, help: &str) -> Diagnostic {
    Diagnostic { span, message: message.into(), label: None, help: Some(help.to_string()) }
}

/// Reads line by line.
struct Reader<'a> {
    text: &'a str,
    lock: Option<Lock>,
    line: Range<usize>,
}

/// The expected content of a line.
type Expected = &'static str;

impl Reader<'_> {
    fn not_understood(&self, expected: Expected) -> Diagnostic {
        let found = quote(self.text[self.line.clone()].trim());
        let message =
            format!("the lock has a line that is not understood: expected {expected}, found {found}");
        wrong(self.line.clone(), message, RESTORE)
    }

    fn read(&mut self) -> Result<(), Expected> {
        let mut words = Words { rest: self.text[self.line.clone()].trim_start() };
        let first = words.next().ok_or("a word")?;
        if first == "registry" {
            if self.lock.is_some() {
                return Err("one registry");
            }
            self.lock = Some(registry(&mut words)?);
            return words.end();
        }
        let lock = self.lock.as_mut().ok_or("the registry first")?;
        match first {
            "kind" => ascending(&mut lock.kinds, kind(&mut words)?, |kind| kind.bit)?,
            "type" => ascending(&mut lock.types, ty(&mut words)?, |ty| ty.name.clone())?,
            "value" => {
                let ty = lock.types.last_mut().ok_or("a type before its values")?;
                ascending(&mut ty.values, value(&mut words)?, |value| value.number)?;
            }
            "event" => ascending(&mut lock.events, event(&mut words)?, |event| event.code)?,
            "param" => {
                let event = lock.events.last_mut().ok_or("an event before its parameters")?;
                event.params.push(param(&mut words)?);
            }
            "span" => ascending(&mut lock.spans, span(&mut words)?, |span| span.name.clone())?,
            "message" => {
                ascending(&mut lock.messages, message(&mut words)?, |message| message.name.clone())?;
            }
            _ => return Err("`kind`, `type`, `value`, `event`, `param`, `span` or `message`"),
        }
        words.end()
    }
}

/// Adds an item, which must come after the ones before.
fn ascending<T, K: PartialOrd>(list: &mut Vec<T>, next: T, key: impl Fn(&T) -> K) -> Result<(), Expected> {
    if list.last().is_some_and(|last| key(last) >= key(&next)) {
        return Err("lines in their order");
    }
    list.push(next);
    Ok(())
}

fn registry(words: &mut Words) -> Result<Lock, Expected> {
    Ok(Lock {
        registry: words.name("the name of the registry", words::is_snake_case)?,
        version: words.next().and_then(Version::from_text).ok_or("its version")?,
        docs: words.docs()?,
        kinds: Vec::new(),
        types: Vec::new(),
        events: Vec::new(),
        spans: Vec::new(),
        messages: Vec::new(),
    })
}

fn kind(words: &mut Words) -> Result<LockKind, Expected> {
    Ok(LockKind {
        bit: words.number("a bit")?,
        name: words.camel("the name of a kind")?,
        clock: words.next().and_then(Clock::from_text).ok_or("a clock")?,
        docs: words.docs()?,
    })
}

fn ty(words: &mut Words) -> Result<LockType, Expected> {
    Ok(LockType {
        name: words.camel("the name of a type")?,
        repr: words.next().and_then(Sort::from_text).ok_or("a repr")?,
        form: words.next().and_then(TypeForm::from_text).ok_or("`enum` or `flags`")?,
        values: Vec::new(),
        docs: words.docs()?,
    })
}

fn value(words: &mut Words) -> Result<LockValue, Expected> {
    Ok(LockValue {
        number: words.number("a number")?,
        name: words.camel("the name of a value")?,
        docs: words.docs()?,
    })
}

fn event(words: &mut Words) -> Result<LockEvent, Expected> {
    let code = words.next().and_then(|word| word.strip_prefix("0x"));
    Ok(LockEvent {
        code: code.and_then(|code| u16::from_str_radix(code, 16).ok()).ok_or("a code")?,
        name: words.camel("the name of an event")?,
        kind: words.camel("the name of its kind")?,
        always: words.take("always").is_some(),
        replay: match words.take("replay=") {
            None => String::new(),
            Some(replay) => {
                unquoted(replay).filter(|replay| is_printable(replay)).ok_or("a mark in quotes")?
            }
        },
        time: mark(words, "time=")?,
        state: match (words.take("retired"), words.take("gone=")) {
            (None, None) => State::Used,
            (Some(_), _) => State::Retired,
            (None, Some(last)) => State::Gone(Version::from_text(last).ok_or("a version")?),
        },
        params: Vec::new(),
        docs: words.docs()?,
    })
}

/// The value of a mark, which is a name like those of parameters; empty without one.
fn mark(words: &mut Words, key: &str) -> Result<String, Expected> {
    match words.take(key) {
        None => Ok(String::new()),
        Some(name) if words::is_snake_case(name) => Ok(name.to_string()),
        Some(_) => Err("the name of a parameter"),
    }
}

fn param(words: &mut Words) -> Result<LockParam, Expected> {
    let parsed = |text: Option<&str>| text.map(|text| text.parse().map_err(|_| "a number")).transpose();
    Ok(LockParam {
        name: words.name("the name of a parameter", words::is_snake_case)?,
        sort: words.name("a sort", is_printable)?,
        max: parsed(words.take("max="))?,
        align: parsed(words.take("align="))?.unwrap_or(1),
        unit: match words.take("unit=") {
            None => String::new(),
            Some(unit) => unquoted(unit).filter(|unit| is_printable(unit)).ok_or("a unit in quotes")?,
        },
        names: mark(words, "names=")?,
        numbers: mark(words, "numbers=")?,
        since: match words.take("since=") {
            None => None,
            Some(since) => Some(Version::from_text(since).ok_or("a version")?),
        },
        docs: words.docs()?,
    })
}

fn span(words: &mut Words) -> Result<LockSpan, Expected> {
    Ok(LockSpan {
        name: words.camel("the name of a span")?,
        begin: words.camel("the event that begins it")?,
        end: words.camel("the event that ends it")?,
        key: words.key()?,
        docs: words.docs()?,
    })
}

fn message(words: &mut Words) -> Result<LockMessage, Expected> {
    let name = words.camel("the name of a message")?;
    let begin = words.camel("its event, or the one that begins it")?;
    let end = match words.take("end=") {
        None => None,
        Some(end) if words::is_camel_case(end) => Some(end.to_string()),
        Some(_) => return Err("the event that ends it"),
    };
    let key = words.key()?;
    let limit = match words.take("limit=") {
        None => 1,
        Some(limit) => limit.parse().map_err(|_| "a number")?,
    };
    Ok(LockMessage { name, begin, end, key, limit, docs: words.docs()? })
}

fn is_printable(text: &str) -> bool {
    !text.chars().any(is_unprintable)
}

/// `unit` before it was quoted. Units have no control characters.
fn unquoted(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let (mut out, mut chars) = (String::with_capacity(inner.len()), inner.chars());
    while let Some(char) = chars.next() {
        out.push(if char == '\\' { chars.next()? } else { char });
    }
    Some(out)
}

/// The words of a line. Arrays and quoted text are one word, with spaces.
struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    /// The next word, unless the line is at its end.
    fn next(&mut self) -> Option<&'a str> {
        let text = self.rest.strip_prefix(' ').unwrap_or(self.rest);
        let space = text.find(' ');
        // The usual word, faster in an unoptimized macro.
        let word = &text[..space.unwrap_or(text.len())];
        let is_plain = !word.contains('"') && !word.contains('[');
        let end = if is_plain { space } else { end_of_word(text) };
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    /// The rest of the next word, if it has this beginning.
    fn take(&mut self, start: &str) -> Option<&'a str> {
        let text = self.rest.strip_prefix(' ').unwrap_or(self.rest);
        if !text.starts_with(start) {
            return None;
        }
        self.next()?.strip_prefix(start)
    }

    fn name(&mut self, what: Expected, is_name: impl Fn(&str) -> bool) -> Result<String, Expected> {
        self.next().filter(|word| is_name(word)).map(str::to_string).ok_or(what)
    }

    fn camel(&mut self, what: Expected) -> Result<String, Expected> {
        self.name(what, words::is_camel_case)
    }

    fn number<T: FromStr>(&mut self, what: Expected) -> Result<T, Expected> {
        self.next().and_then(|word| word.parse().ok()).ok_or(what)
    }

    fn key(&mut self) -> Result<Option<String>, Expected> {
        match self.take("key=") {
            None => Ok(None),
            Some(key) if words::is_snake_case(key) => Ok(Some(key.to_string())),
            Some(_) => Err("the name of a parameter"),
        }
    }

    fn docs(&mut self) -> Result<Docs, Expected> {
        match self.take("docs=") {
            None => Ok(Docs(0)),
            Some(hash) => u32::from_str_radix(hash, 16).map(Docs).map_err(|_| "a hash of docs"),
        }
    }

    fn end(&mut self) -> Result<(), Expected> {
        self.next().map_or(Ok(()), |_| Err("the end of the line"))
    }
}

/// The end of a word at the beginning of a text, with arrays or quotes in it.
fn end_of_word(text: &str) -> Option<usize> {
    let (mut in_quotes, mut in_brackets, mut escaped) = (false, false, false);
    text.bytes().position(|byte| {
        let was_escaped = std::mem::replace(&mut escaped, false);
        match byte {
            b'\\' if in_quotes && !was_escaped => escaped = true,
            b'"' if !was_escaped => in_quotes = !in_quotes,
            b'[' if !in_quotes => in_brackets = true,
            b']' if !in_quotes => in_brackets = false,
            b' ' => return !in_quotes && !in_brackets,
            _ => {}
        }
        false
    })
}
