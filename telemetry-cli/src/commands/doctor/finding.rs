//! Findings, and their remedies.

use serde::Serialize;
use telemetry_format::LossCause;

use crate::text::{count, escaped_text};

/// A finding.
#[derive(Serialize)]
pub(super) struct Finding {
    /// A word for scripts.
    pub(super) cause: &'static str,
    /// False for something that may well be intended.
    pub(super) is_problem: bool,
    pub(super) found: String,
    pub(super) why: String,
    pub(super) help: String,
}

/// All findings; docs/cli.md describes the JSON form.
#[derive(Serialize)]
pub(super) struct Findings {
    version: u32,
    /// The thing that was examined.
    pub(super) subject: String,
    /// A sentence for the case that all is well.
    pub(super) fine: String,
    pub(super) findings: Vec<Finding>,
}

impl Finding {
    /// Makes a finding that is a problem.
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

    /// Makes a finding about lost events of one cause. `most` names the kind that lost most of
    /// them.
    pub(super) fn of_loss(cause: LossCause, events: u64, most: &str) -> Finding {
        let found = format!("{} lost ({}){most}", count(events, "event"), cause.text());
        Finding::problem(cause.code(), found, cause.why(), cause.remedy())
    }

    /// Makes it a finding that may be intended.
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

    /// Puts other findings before these.
    pub(super) fn after(mut self, mut first: Vec<Finding>) -> Findings {
        first.append(&mut self.findings);
        Findings { findings: first, ..self }
    }

    pub(super) fn has_problem(&self) -> bool {
        self.findings.iter().any(|finding| finding.is_problem)
    }

    /// Appends a paragraph for each finding.
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
