//! Workflow commands of GitHub Actions, which show errors at their lines in a pull request.

use std::path::Path;

use telemetry_schema::version::{Demand, Judged, MEDIAN};

use super::found::{Compared, Found};
use super::report::{FileReport, Mistake};

/// Appends an annotation for each error in a file.
pub(super) fn append(out: &mut Vec<u8>, path: &Path, found: &Found, report: &FileReport) {
    let file = in_workspace(path);
    let mut error = |file: &str, place: Option<(usize, usize)>, title: &str, message: &str| {
        let mut properties = format!("file={}", property(file));
        if let Some((line, column)) = place {
            properties += &format!(",line={line},col={column}");
        }
        let line = format!("::error {properties},title={}::{}\n", property(title), data(message));
        out.extend_from_slice(line.as_bytes());
    };
    if let Some(why) = &report.why {
        error(&file, None, "telemetry check", why);
    }
    for Mistake { line, column, message, help } in &report.mistakes {
        error(&file, Some((*line, *column)), "registry", &with_help(message, help.as_deref()));
    }
    let (Found::Compared(compared), Some(comparison)) = (found, &report.comparison) else { return };
    let Compared { released, judgement, .. } = &**compared;
    for judged in comparison.changes.iter().filter(|judged| !judged.met) {
        let message = format!("{}\nnote: {}", judged.change.message, judged.note);
        let message = with_help(&message, judged.help.as_deref());
        // A removed item has its place in the lock.
        let (file, place) = match judged.gone {
            false => (file.clone(), Some((judged.line, judged.column))),
            true if released.is_on_disk => {
                (in_workspace(Path::new(&released.name)), Some((judged.line, judged.column)))
            }
            true => (file.clone(), None),
        };
        error(&file, place, "version", &message);
    }
    for Mistake { line, column, message, .. } in &comparison.idle {
        error(&file, Some((*line, *column)), "allow", message);
    }
    if judgement.version < judgement.target() {
        let (version, released) = (judgement.version, judgement.released);
        let is_median = |judged: &Judged| judged.change.rule.demand() == Demand::Median;
        let note = match judgement.changes.iter().any(|judged| !judged.is_met && is_median(judged)) {
            true => format!("note: the median is {MEDIAN}\n"),
            false => String::new(),
        };
        let message = format!(
            "the version is {version}, but what changed since {released} demands {} or higher\n\
             {note}help: telemetry check --fix",
            judgement.target()
        );
        error(&file, Some(comparison.version_at), "version", &message);
    }
}

fn with_help(message: &str, help: Option<&str>) -> String {
    help.map_or(message.to_string(), |help| format!("{message}\nhelp: {help}"))
}

/// Returns the path from the root of the repository, where GitHub looks for it.
fn in_workspace(path: &Path) -> String {
    let relative = || {
        let root = std::fs::canonicalize(std::env::var_os("GITHUB_WORKSPACE")?).ok()?;
        Some(std::fs::canonicalize(path).ok()?.strip_prefix(root).ok()?.to_path_buf())
    };
    relative().unwrap_or_else(|| path.to_path_buf()).display().to_string().replace('\\', "/")
}

/// Escapes a message for a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property for a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
