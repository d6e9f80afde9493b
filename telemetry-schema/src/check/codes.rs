//! Rules about the codes of events and counters, which share their numbers.

use std::collections::HashMap;
use std::ops::Range;

use crate::check::context::Check;
use crate::check::fields::Fields;
use crate::text::diagnostic::Diagnostic;

/// The codes so far.
pub(super) struct Codes {
    seen: HashMap<u16, Range<usize>>,
    /// The highest in the file, before or after.
    highest: Option<i128>,
    /// Whether the file writes codes in hexadecimal.
    hexadecimal: bool,
}

const CODES: std::ops::RangeInclusive<i128> = 0..=u16::MAX as i128;

impl Codes {
    /// Creates the list for a file that has these numbers as codes.
    pub(super) fn new(numbers: impl Iterator<Item = i128>, hexadecimal: bool) -> Codes {
        let highest = numbers.filter(|code| CODES.contains(code)).max();
        Codes { seen: HashMap::new(), highest, hexadecimal }
    }

    /// Returns the code of an event or a counter.
    pub(super) fn of_event(&mut self, cx: &mut Check, event: &Fields) -> u16 {
        if !event.has("code") {
            let diagnostic = cx.diags.error(event.span.clone(), format!("{} has no `code`", event.what));
            self.propose(diagnostic);
        }
        let Some(code) = event.int(cx, "code", CODES) else { return 0 };
        // It fits: it was checked.
        let number = *code.get_ref() as u16;
        if let Some(first) = self.seen.get(&number) {
            let message = format!("the code {} of {} is taken", cx.quote(&code.span()), event.what);
            let diagnostic = cx.diags.error(code.span(), message).label(first.clone(), "first used here");
            self.propose(diagnostic);
        } else {
            self.seen.insert(number, code.span());
        }
        number
    }

    /// Codes grow: the code that an event once had never belongs to another, even if the event is
    /// gone.
    fn propose(&self, diagnostic: &mut Diagnostic) {
        let next = self.highest.map_or(0, |highest| highest + 1);
        if CODES.contains(&next) {
            let next = if self.hexadecimal { format!("{next:#06x}") } else { next.to_string() };
            diagnostic.help(format!("the next free code is {next}"));
        }
    }
}
