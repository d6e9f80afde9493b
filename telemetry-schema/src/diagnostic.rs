//! What is wrong with a relation, and where.

use std::ops::Range;

use crate::limits::MAX_DIAGNOSTICS;
use crate::snippet;

/// One mistake in an `events.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The place, in bytes of the text.
    pub span: Range<usize>,
    /// What was found and what was expected: lower case, no full stop.
    pub message: String,
    /// A second place that the mistake has to do with, such as the first use of a name.
    pub label: Option<Label>,
    /// How to put it right.
    pub help: Option<String>,
}

/// A place with a few words about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The place, in bytes of the text.
    pub span: Range<usize>,
    /// What is there, such as "first used here".
    pub text: String,
}

impl Diagnostic {
    /// Line and column of the mistake, both from 1; columns count characters.
    pub fn position(&self, text: &str) -> (usize, usize) {
        snippet::position(text, self.span.start)
    }

    /// The mistake as rustc would print it, without the word `error` and without a line end:
    ///
    /// ```text
    /// unknown sort `u9` of parameter `generation`
    ///  --> events.toml:6:74
    ///   |
    /// 6 | …, { name = "generation", sort = "u9" }]
    ///   |                                  ^^^^
    ///   = help: did you mean `u8`?
    /// ```
    ///
    /// `path` is printed as it is; `text` must be what was parsed.
    pub fn render(&self, path: &str, text: &str) -> String {
        snippet::render(self, path, text)
    }

    pub(crate) fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn label(&mut self, span: Range<usize>, text: impl Into<String>) -> &mut Self {
        self.label = Some(Label { span, text: text.into() });
        self
    }
}

/// Everything that is wrong with an `events.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The mistakes, ordered by place; at least one, at most [`MAX_DIAGNOSTICS`].
    pub diagnostics: Vec<Diagnostic>,
    /// How many more there are than are listed.
    pub omitted: usize,
    /// The `CamelCase` names of all events that have an emitter and whose name could be read, no two
    /// with the same emitter. With empty emitters for them one mistake stays one error.
    pub emitters: Vec<String>,
}

impl Invalid {
    /// All mistakes as rustc would print them, each after the word `error`, with an empty line
    /// between two. See [`Diagnostic::render`].
    pub fn render(&self, path: &str, text: &str) -> String {
        let mut out = String::new();
        for diagnostic in &self.diagnostics {
            if !out.is_empty() {
                out.push('\n');
            }
            out += &format!("error: {}\n", diagnostic.render(path, text));
        }
        if self.omitted > 0 {
            out += &format!("\nerror: {} more in {path}\n", self.omitted);
        }
        out
    }
}

/// The mistakes found so far. Keeps so many and counts the rest, so that hostile input cannot fill
/// the memory.
#[derive(Default)]
pub(crate) struct Diagnostics {
    list: Vec<Diagnostic>,
    omitted: usize,
    /// Takes what is no longer kept.
    spare: Option<Diagnostic>,
}

impl Diagnostics {
    /// Notes a mistake, to which the caller may add a help and a label.
    pub(crate) fn error(&mut self, span: Range<usize>, message: impl Into<String>) -> &mut Diagnostic {
        let diagnostic = Diagnostic { span, message: message.into(), label: None, help: None };
        if self.list.len() < MAX_DIAGNOSTICS {
            self.list.push(diagnostic);
            let last = self.list.len() - 1;
            &mut self.list[last]
        } else {
            self.omitted += 1;
            self.spare.insert(diagnostic)
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// True once further mistakes are only counted: no work for their help then.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() == MAX_DIAGNOSTICS
    }

    /// The mistakes ordered by place, and how many were not kept.
    pub(crate) fn finish(mut self) -> (Vec<Diagnostic>, usize) {
        self.list.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
        (self.list, self.omitted)
    }
}

/// Something of the input between backticks: on one line, cut if it is long.
pub(crate) fn quote(text: &str) -> String {
    const MAX: usize = 48;
    let mut out = String::from("`");
    for (count, char) in text.chars().enumerate() {
        if count == MAX {
            out.push('…');
            break;
        }
        if snippet::is_unprintable(char) {
            out.extend(char.escape_default());
        } else {
            out.push(char);
        }
    }
    out.push('`');
    out
}

/// Things in a row for a message: `` `a`, `b` or `c` ``. No more of them than one can take in.
pub(crate) fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    const MAX: usize = 20;
    let mut words: Vec<String> = words.into_iter().take(MAX + 1).map(quote).collect();
    if words.len() > MAX {
        words.truncate(MAX);
        return format!("{} or another", words.join(", "));
    }
    match words.pop() {
        None => "nothing".to_string(),
        Some(last) if words.is_empty() => last,
        Some(last) => format!("{} or {last}", words.join(", ")),
    }
}
