//! Mistakes in a registry file, and their places.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level};

use crate::text::limits::MAX_DIAGNOSTICS;
use crate::text::snippet::{self, Mark, Section};

/// One mistake in an `events.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The place, in bytes of the text.
    pub span: Range<usize>,
    /// The found and the expected, in lower case and without a full stop.
    pub message: String,
    /// A second place that the mistake concerns, such as the first use of a name.
    pub label: Option<Label>,
    /// How to correct it.
    pub help: Option<String>,
}

/// A place with a short text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Label {
    /// The place, in bytes of the text.
    pub span: Range<usize>,
    /// The text at the place, such as "first used here".
    pub text: String,
}

impl Diagnostic {
    /// Creates a mistake at a place of the text, without a label and help.
    #[must_use]
    pub fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Diagnostic { span, message: message.into(), label: None, help: None }
    }

    /// Adds a second place, with a short text.
    #[must_use]
    pub fn with_label(mut self, span: Range<usize>, text: impl Into<String>) -> Self {
        self.label(span, text);
        self
    }

    /// Adds how to correct the mistake.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help(help);
        self
    }

    /// Returns line and column of the mistake, both from 1; columns count characters.
    pub fn position(&self, text: &str) -> (usize, usize) {
        snippet::position(text, self.span.start)
    }

    /// Returns the mistake as rustc prints one, without the word `error` and without a line end:
    ///
    /// ```text
    /// unknown type `u9` of parameter `generation`
    ///  --> events.toml:6:74
    ///   |
    /// 6 | ..., { name = "generation", sort = "u9" }]
    ///   |                                    ^^^^
    ///   |
    ///   = help: did you mean `u8`?
    /// ```
    ///
    /// `path` is printed as it is; `text` must be what was parsed.
    #[must_use]
    pub fn render(&self, path: &str, text: &str) -> String {
        let mut marks = vec![Mark { span: self.span.clone(), kind: AnnotationKind::Primary, label: "" }];
        if let Some(label) = &self.label {
            marks.push(Mark { span: label.span.clone(), kind: AnnotationKind::Context, label: &label.text });
        }
        let help = self.help.as_deref().map(|help| (Level::HELP, help));
        snippet::draw(&self.message, &[Section { path, text, marks }], help.as_slice())
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

/// All mistakes in an `events.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Invalid {
    /// The mistakes, ordered by place: at least one, at most [`MAX_DIAGNOSTICS`].
    pub diagnostics: Vec<Diagnostic>,
    /// The number of mistakes that are not listed.
    pub omitted: usize,
    /// The `CamelCase` names of all used events whose name could be read, and of scopes: `GcScope`
    /// for the span `Gc`. No two have the same macro. The attribute makes empty macros of them, so
    /// that one mistake is one error.
    pub emitters: Vec<String>,
}

impl Invalid {
    /// Creates a list of mistakes, which are in the order of their places.
    #[must_use]
    pub fn new(diagnostics: Vec<Diagnostic>) -> Self {
        Invalid { diagnostics, omitted: 0, emitters: Vec::new() }
    }

    /// Returns all mistakes as rustc prints them, each after the word `error`, with an empty line
    /// between two. See [`Diagnostic::render`].
    #[must_use]
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

/// The messages without their places, one a line. [`Invalid::render`] needs the text and shows the
/// places.
impl std::fmt::Display for Invalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            let separator = if index > 0 { "\n" } else { "" };
            write!(f, "{separator}{}", diagnostic.message)?;
        }
        match self.omitted {
            0 => Ok(()),
            omitted => write!(f, "\n{omitted} more mistakes"),
        }
    }
}

impl std::error::Error for Invalid {}

/// The mistakes found so far. The list is bounded and the rest is counted, so that hostile input
/// cannot fill the memory.
#[derive(Default)]
pub(crate) struct Diagnostics {
    list: Vec<Diagnostic>,
    omitted: usize,
    /// The latest mistake that is not listed.
    spare: Option<Diagnostic>,
}

impl Diagnostics {
    /// Records a mistake. The caller may add a help and a label.
    pub(crate) fn error(&mut self, span: Range<usize>, message: impl Into<String>) -> &mut Diagnostic {
        let diagnostic = Diagnostic::new(span, message);
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

    /// Returns the number of mistakes.
    pub(crate) fn len(&self) -> usize {
        self.list.len() + self.omitted
    }

    /// Returns true if further mistakes are only counted, and need no help.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() == MAX_DIAGNOSTICS
    }

    /// Returns the mistakes ordered by place, and the number of those that are not listed.
    pub(crate) fn finish(mut self) -> (Vec<Diagnostic>, usize) {
        self.list.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
        (self.list, self.omitted)
    }
}

/// Returns text of the input between backticks: on one line, and truncated if it is long.
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

/// Returns a list for a message: `` `a`, `b` or `c` ``, of at most 20 words.
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
