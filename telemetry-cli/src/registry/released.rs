//! The other side of a comparison: the lock, another file, or a revision of git.

use std::path::Path;

use telemetry_schema::version::{Judged, Judgement, Lock, Report, Rule, Side, judge};
use telemetry_schema::{Diagnostic, Invalid, RegistryFile, Version, load_lock, lock_path, parse_embedded};

use crate::git::{Blob, GitFile};
use crate::term::ended::Failure;

/// A registry as released, or as in the requested file or revision.
#[derive(Clone)]
pub(crate) struct Released {
    /// Its name in messages.
    pub(crate) name: String,
    pub(crate) lock: Lock,
    text: String,
    is_lock: bool,
    /// It is a file on disk, not only in git.
    pub(crate) is_on_disk: bool,
    /// It is the lock beside the registry.
    is_last: bool,
}

impl Released {
    /// Reads the lock beside a registry; none if the registry was never released.
    ///
    /// # Errors
    /// If the lock cannot be read, or is missing although the version says that there was a
    /// release.
    pub(crate) fn beside(path: &Path, current: &RegistryFile) -> Result<Option<Released>, Failure> {
        let place = lock_path(path);
        let version = current.registry.version;
        let released = Released::lock(&place)?;
        if released.is_none() && version > (Version { major: 1, median: 0, minor: 0 }) {
            return Err(Failure::new(format!(
                "`{}` has version {version}, but its lock `{}` is missing; help: restore the lock, or write the first one with \
                 `telemetry release`",
                path.display(),
                place.display()
            )));
        }
        Ok(released)
    }

    /// Reads a lock on disk, if it exists.
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

    /// Reads what `--against` names: a file of that name if there is one, else a revision of git.
    ///
    /// # Errors
    /// If neither exists, or it is not a registry or a lock.
    pub(crate) fn named(against: &str, path: &Path) -> Result<Released, Failure> {
        // Branches often have the names of directories.
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

    /// Compares a registry with this release, and judges its version.
    pub(crate) fn judge(&self, current: &RegistryFile) -> Judgement {
        let mut judgement = judge(&self.lock, &current.registry, &current.allows);
        if !self.is_last {
            // These are about the last release. Other comparisons may not have the changes that
            // they allow.
            judgement.idle.clear();
        }
        judgement
    }

    /// Makes the report on a judgement of a registry, which `shown` names.
    pub(crate) fn report<'a>(
        &'a self,
        judgement: &'a Judgement,
        shown: &'a str,
        current: &'a RegistryFile,
    ) -> Report<'a> {
        let old = match self.is_lock {
            true => Side::lock(&self.name, &self.lock, &self.text),
            false => Side::registry(&self.name, &self.text),
        };
        Report::new(judgement, old, Side::registry(shown, &current.text))
    }

    /// Returns true if this is the text that was read.
    pub(crate) fn has_text(&self, text: &str) -> bool {
        self.text.lines().eq(text.lines())
    }
}

/// Finds the change that prevents a comparison: the two are different registries, or the older one
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
        Failure::new(format!("`{name}` is not UTF-8 at byte {at}, expected a registry file or a lock file"))
    })?;
    Ok(Blob { name, text })
}

/// Explains that an argument is not a file, and that no git repository was found for a revision.
fn no_file(against: &str, error: &Failure) -> Failure {
    match error {
        Failure::Message(why) => Failure::new(format!("`{against}` is not a file or a revision: {why}")),
        Failure::OutputClosed => Failure::OutputClosed,
        Failure::Interrupted => Failure::Interrupted,
    }
}

fn only(diagnostic: Diagnostic) -> Invalid {
    Invalid::new(vec![diagnostic])
}

/// Removes `error: `, since the message of a failure gets this prefix again.
pub(crate) fn without_word(error: &impl ToString) -> String {
    let text = error.to_string();
    text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_string()
}
