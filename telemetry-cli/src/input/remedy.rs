//! The remedies for losses, as `info` and `stats` list them.

use telemetry_format::LossCause;

use crate::input::verdict::Verdict;
use crate::text::grouped;
use crate::text::table::Table;

/// The remedy for events that were written, but are not in the input.
pub(crate) const MISSING: &str =
    "telemetry validate names the byte ranges; name all segments of a rotated stream";

/// The remedy for truncated values.
const TRUNCATED: &str = "a larger `max` of the parameter in events.toml";

/// Appends a line for each kind of loss, if there is any: the number and the remedy.
pub(crate) fn append(out: &mut Vec<u8>, verdict: &Verdict) {
    let mut table = Table::new(1, &["loss", "number", "remedy"]).with_words_last();
    let loss = verdict.loss();
    let of_cause = |cause: LossCause| (loss.of(cause), cause.text(), cause.remedy());
    let others =
        [(loss.truncated, "truncated values", TRUNCATED), (verdict.missing(), "missing events", MISSING)];
    for (number, what, remedy) in LossCause::ALL.map(of_cause).into_iter().chain(others) {
        if number > 0 {
            table.row([what.to_string(), grouped(number), remedy.to_string()]);
        }
    }
    table.append_if_any(out);
}
