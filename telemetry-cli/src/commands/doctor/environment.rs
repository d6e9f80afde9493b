//! The settings of telemetry in a program's environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use telemetry_format::{BUILD_VARIABLES, VARIABLES};
use telemetry_schema::nearest_within;

use super::finding::Finding;
use crate::text::hint::did_you_mean;

/// The maximum of letters in which the name of a variable may differ from a known one.
const MAX_LETTERS: usize = 2;

/// Variables whose names are like `TELEMETRY_...`, and the working directory of the program.
pub(super) struct Environment {
    variables: BTreeMap<String, String>,
    pub(super) dir: PathBuf,
    /// True if the program has other files, as in a container.
    is_elsewhere: bool,
}

impl Environment {
    /// Returns the environment of a command that runs here.
    pub(super) fn own() -> Environment {
        let variables = std::env::vars_os();
        Environment::new(variables, std::env::current_dir().unwrap_or_default())
    }

    /// Returns the environment of a process, if it may be read.
    pub(super) fn of(pid: u32) -> Option<Environment> {
        let bytes = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        let dir = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let variables = text.split('\0').filter_map(|line| line.split_once('='));
        let files = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
        let is_elsewhere = files(&pid.to_string()) != files("self");
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        Some(Environment { is_elsewhere, ..Environment::new(variables, dir) })
    }

    fn new(variables: impl Iterator<Item = (OsString, OsString)>, dir: PathBuf) -> Environment {
        let text = |os: OsString| os.to_string_lossy().into_owned();
        let variables = variables.map(|(name, value)| (text(name), text(value)));
        let concerns = |name: &str| name.starts_with("TELEMETRY_") || meant(name).is_some();
        let variables = variables.filter(|(name, _)| concerns(name)).collect();
        Environment { variables, dir, is_elsewhere: false }
    }

    /// Finds variables whose names are misspelled.
    pub(super) fn misspelled(&self) -> Vec<Finding> {
        let names = self.variables.keys().filter_map(|name| Some((name, meant(name)?)));
        let finding = |(name, meant): (&String, &str)| {
            Finding::problem(
                "unknown-variable",
                format!("{name} is set, and there is no such variable"),
                "telemetry ignores variables that it does not know",
                did_you_mean(meant),
            )
        };
        names.map(finding).collect()
    }

    /// Returns the value of a variable, if it is set and not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// Returns the file that an address names for a process, if it names one that this command sees
    /// too.
    pub(super) fn file(&self, address: &str, pid: u32, session: &str) -> Option<PathBuf> {
        let path = address.strip_prefix("file:").unwrap_or(address);
        let scheme = path.split_once(':').map_or("", |(scheme, _)| scheme);
        if self.is_elsewhere
            || path == address && scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            return None;
        }
        let path = path.replace("%%", "\0").replace("%p", &pid.to_string()).replace("%s", session);
        Some(self.dir.join(path.replace('\0', "%")))
    }

    /// Returns the address of the stream, if the program does not set another.
    pub(super) fn address(&self) -> &str {
        self.get("TELEMETRY_FILENAME").unwrap_or("telemetry.tel")
    }
}

/// Returns the variable that a misspelled name means. Known names mean none.
fn meant(name: &str) -> Option<&'static str> {
    let known = || VARIABLES.into_iter().chain(BUILD_VARIABLES);
    if known().any(|known| known == name) { None } else { nearest_within(name, MAX_LETTERS, known()) }
}

/// Formats a path for people.
pub(super) fn shown(path: &Path) -> String {
    format!("`{}`", path.display())
}
