//! What was found, and what helps.

use serde::Serialize;

use crate::text::escaped_text;

/// One thing that was found.
#[derive(Serialize)]
pub(super) struct Finding {
    /// A word for scripts.
    pub(super) cause: &'static str,
    /// False for what may well be meant.
    pub(super) is_problem: bool,
    pub(super) found: String,
    pub(super) why: String,
    pub(super) help: String,
}

/// All that was found. The JSON form, described in docs/cli.md, is this.
#[derive(Serialize)]
pub(super) struct Findings {
    version: u32,
    /// What was looked at.
    pub(super) subject: String,
    /// What is as it should be, in a sentence, if all is.
    pub(super) fine: String,
    pub(super) findings: Vec<Finding>,
}

impl Finding {
    /// A problem.
    pub(super) fn problem(
        cause: &'static str,
        found: impl Into<String>,
        why: impl Into<String>,
        help: impl Into<String>,
    ) -> Finding {
        let line = |text: String| escaped_text(&text);
        let [found, why, help] = [found.into(), why.into(), help.into()].map(line);
        Finding { cause, is_problem: true, found, why, help }
    }

    /// The same, which may be meant.
    pub(super) fn noted(self) -> Finding {
        Finding { is_problem: false, ..self }
    }
}

impl Findings {
    pub(super) fn new(
        subject: impl Into<String>,
        fine: impl Into<String>,
        findings: Vec<Finding>,
    ) -> Findings {
        let (subject, fine) = (escaped_text(&subject.into()), escaped_text(&fine.into()));
        Findings { version: 1, subject, fine, findings }
    }

    pub(super) fn has_problem(&self) -> bool {
        self.findings.iter().any(|finding| finding.is_problem)
    }

    /// A paragraph for each.
    pub(super) fn append_text(&self, out: &mut Vec<u8>) {
        if !self.has_problem() {
            out.extend_from_slice(format!("{}: {}\n", self.subject, self.fine).as_bytes());
        }
        for (index, Finding { found, why, help, .. }) in self.findings.iter().enumerate() {
            let gap = if index > 0 || !self.has_problem() { "\n" } else { "" };
            let text = format!("{gap}{}: {found}\n  why: {why}\n  help: {help}\n", self.subject);
            out.extend_from_slice(text.as_bytes());
        }
    }
}
