//! Finds and reads the relation, and says what is wrong with it.

use std::path::{Path, PathBuf};

use syn::LitStr;
use telemetry_schema::{Invalid, LoadCause, Registry, load, parse_embedded};

/// A relation that was read.
pub(crate) struct Source {
    /// Absolute, for `include_bytes!`, which has the crate compiled anew when the file changes.
    pub(crate) path: String,
    pub(crate) registry: Registry,
}

/// Why there is none.
pub(crate) struct Failure {
    /// On the path literal.
    pub(crate) error: syn::Error,
    /// Absolute, if the file is there.
    pub(crate) path: Option<String>,
    /// What could be read all the same.
    pub(crate) invalid: Option<Invalid>,
}

/// Reads the relation that the attribute names. The framework's `own` may have the name that is kept
/// for it.
pub(crate) fn read(literal: &LitStr, own: bool) -> Result<Source, Box<Failure>> {
    let named = literal.value();
    let fail = |text: String, path: Option<String>, invalid| {
        Box::new(Failure { error: syn::Error::new(literal.span(), text), path, invalid })
    };
    if Path::new(&named).is_absolute() {
        let text = format!(
            "the path `{named}` is absolute, expected one relative to the package\n\
             help: other machines have the package elsewhere; write it relative to Cargo.toml"
        );
        return Err(fail(text, None, None));
    }
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let path = package.join(&named);
    let absolute = path.to_string_lossy().into_owned();
    let error = match load(Path::new(&clickable(&path))) {
        Ok((registry, _)) => return Ok(Source { path: absolute, registry }),
        Err(error) => error,
    };
    if own
        && let LoadCause::Invalid { text, .. } = &error.cause
        && let Ok(registry) = parse_embedded(text)
    {
        return Ok(Source { path: absolute, registry });
    }
    let text = error.to_string();
    // rustc writes its own `error: ` before the first.
    let text = text.strip_prefix("error: ").unwrap_or(&text).to_owned();
    let there = path.is_file().then_some(absolute);
    Err(match error.cause {
        LoadCause::Invalid { invalid, .. } => fail(text, there, Some(*invalid)),
        LoadCause::Io(_) => fail(text + "\nhelp: the path is relative to Cargo.toml", there, None),
        _ => fail(text, there, None),
    })
}

/// The path as rustc prints others: relative to where cargo runs it, the root of the workspace. Then
/// a click on it opens the file.
fn clickable(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let here = here.canonicalize().unwrap_or(here);
    path.strip_prefix(&here).unwrap_or(&path).display().to_string()
}
