//! What a relation is held against: its lock, another file, or what git has in another revision.

use std::path::Path;

use telemetry_schema::version::{Judged, Judgement, Lock, Report, Rule, Side, judge};
use telemetry_schema::{Diagnostic, Invalid, Relation, Version, load_lock, lock_path, parse_embedded};

use crate::exit::Failure;
use crate::git::{Blob, GitFile};

/// A relation as it was released, or as it was in the file or revision that was asked for.
#[derive(Clone)]
pub(crate) struct Released {
    /// As messages name it.
    pub(crate) name: String,
    pub(crate) lock: Lock,
    text: String,
    is_lock: bool,
    /// It is a file that stands on disk, and not in git alone.
    pub(crate) is_on_disk: bool,
    /// It is the lock beside the relation, and nothing else that was asked for.
    is_last: bool,
}

impl Released {
    /// The lock beside a relation; none if the relation was never released.
    ///
    /// # Errors
    /// If the lock cannot be read, or is missing where the version says that there was a release.
    pub(crate) fn beside(path: &Path, relation: &Relation) -> Result<Option<Released>, Failure> {
        let place = lock_path(path);
        let version = relation.registry.version;
        let released = Released::lock(&place)?;
        if released.is_none() && version > (Version { major: 1, median: 0, minor: 0 }) {
            return Err(Failure::new(format!(
                "`{}` has version {version}, but there is no `{}` that says what was released; help: restore it, \
                 or make the first one with `telemetry release`",
                path.display(),
                place.display()
            )));
        }
        Ok(released)
    }

    /// A lock on disk; none if there is none.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn lock(place: &Path) -> Result<Option<Released>, Failure> {
        let loaded = load_lock(place).map_err(|error| Failure::new(without_word(&error)))?;
        let name = place.display().to_string();
        Ok(loaded.map(|(lock, text)| Released {
            name,
            lock,
            text,
            is_lock: true,
            is_on_disk: true,
            is_last: true,
        }))
    }

    /// What `--against` names: a file if there is one of that name, else a revision of git.
    ///
    /// # Errors
    /// If there is neither, or what there is is no relation and no lock.
    pub(crate) fn named(against: &str, path: &Path) -> Result<Released, Failure> {
        // Branches are often called as directories are.
        let is_on_disk = std::fs::metadata(against).is_ok_and(|metadata| !metadata.is_dir());
        let Blob { name, text } = if is_on_disk {
            file(against)?
        } else {
            let path = if path.as_os_str() == "-" { Path::new("events.toml") } else { path };
            GitFile::find(path).map_err(|error| no_file(against, &error))?.at(against)?
        };
        let is_lock = name.ends_with(".lock") || Lock::is_meant_by(&text);
        let lock = match is_lock {
            true => Lock::parse(&text).map_err(only),
            false => parse_embedded(&text).map(|registry| Lock::of(&registry, None)),
        };
        match lock {
            Ok(lock) => Ok(Released { name, lock, text, is_lock, is_on_disk, is_last: false }),
            Err(invalid) => Err(Failure::new(without_word(&invalid.render(&name, &text)))),
        }
    }

    /// What changed since, and whether the version is right for it.
    pub(crate) fn judge(&self, relation: &Relation) -> Judgement {
        let mut judgement = judge(&self.lock, &relation.registry, &relation.allows);
        if !self.is_last {
            // They are about the last release. Between others there need not be what they allow.
            judgement.idle.clear();
        }
        judgement
    }

    /// What is said about a judgement of a relation, which `shown` names.
    pub(crate) fn report<'a>(
        &'a self,
        judgement: &'a Judgement,
        shown: &'a str,
        relation: &'a Relation,
    ) -> Report<'a> {
        let old = match self.is_lock {
            true => Side::lock(&self.name, &self.lock, &self.text),
            false => Side::relation(&self.name, &self.text),
        };
        Report::new(judgement, old, Side::relation(shown, &relation.text))
    }

    /// True if the text of a lock is what was read.
    pub(crate) fn has_text(&self, text: &str) -> bool {
        self.text.lines().eq(text.lines())
    }
}

/// The change that says that two relations cannot be compared: one is another registry's, or the older one
/// has the higher version.
pub(crate) fn incomparable(judgement: &Judgement) -> Option<&Judged> {
    let is_why =
        |judged: &&Judged| matches!(judged.change.rule, Rule::RegistryRenamed | Rule::VersionLowered);
    judgement.changes.iter().find(is_why)
}

fn file(path: &str) -> Result<Blob, Failure> {
    let name = path.to_string();
    let bytes =
        std::fs::read(path).map_err(|error| Failure::new(format!("cannot read `{name}`: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(format!("`{name}` is not UTF-8 at byte {at}, expected an events.toml or events.lock"))
    })?;
    Ok(Blob { name, text })
}

/// What was asked for is no file, and there is no git in which it could be a revision.
fn no_file(against: &str, error: &Failure) -> Failure {
    match error {
        Failure::Message(why) => Failure::new(format!("`{against}` is no file, and no revision: {why}")),
        Failure::OutputClosed => Failure::OutputClosed,
        Failure::Interrupted => Failure::Interrupted,
    }
}

fn only(diagnostic: Diagnostic) -> Invalid {
    Invalid { diagnostics: vec![diagnostic], omitted: 0, emitters: Vec::new() }
}

/// `telemetry: ` stands before a failure, and says the same.
pub(crate) fn without_word(error: &impl ToString) -> String {
    let text = error.to_string();
    text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_string()
}
