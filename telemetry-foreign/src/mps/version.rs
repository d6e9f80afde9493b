//! The versions of the MPS's telemetry that the registry describes, and how a log states its own.

use telemetry_decode::Facts;

use super::known::known;
use super::layout::Form;

/// The number of the string that names the MPS: the first one.
pub(super) const STRING: u64 = 1;

/// Parameters of EventInit after the three of the version.
const MAX_CODE: usize = 3;
const WORD_WIDTH: usize = 5;
pub(super) const CLOCKS_PER_SEC: usize = 6;

/// The width of words in logs that can be read.
pub(super) const WIDTH: u64 = 64;

/// Returns why a log cannot be read, if its EventInit says that another version of the MPS wrote
/// it. Another major or median version means other events for the same codes, or other forms. So
/// does another highest code: codes were once reassigned without a higher version. A higher minor
/// version has more events.
pub(super) fn refusal(form: &Form, bytes: &[u8]) -> Option<String> {
    let own = known().registry.version;
    let most = known().registry.events.last().map_or(0, |event| u64::from(event.code));
    let [major, median, minor] = [0, 1, 2].map(|param| form.number(bytes, param));
    let (max_code, width) = (form.number(bytes, MAX_CODE), form.number(bytes, WORD_WIDTH));
    let is_newer = minor > u64::from(own.minor);
    if (major, median) != (own.major.into(), own.median.into()) {
        Some(format!("events of version {major}.{median}.{minor} of the MPS, expected {own}"))
    } else if width != WIDTH {
        Some(format!("words of {width} bits, expected {WIDTH}"))
    } else if max_code < most || max_code > most && !is_newer {
        Some(format!("version {major}.{median}.{minor} with {max_code} as the highest code, expected {most}"))
    } else {
        None
    }
}

/// Adds the facts in the string that names the MPS, for example `@(#)Ravenbrook MPS, product.mps,
/// release/1.118.0, platform.lii6gc, variety.asserted.logging.nonstats, compiled on ...`.
pub(super) fn describe(text: &str, facts: &mut Facts) {
    let text = text.strip_prefix("@(#)").unwrap_or(text);
    for word in text.split(", ") {
        match word.split_once(['.', '/']) {
            Some(("release", release)) => facts.set("release", release),
            Some(("platform", platform)) => facts.set("platform", platform),
            Some(("variety", variety)) => facts.set("variety", variety),
            _ => {}
        }
    }
    facts.set("mps", text);
}
