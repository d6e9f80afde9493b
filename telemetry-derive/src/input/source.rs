//! Finds and reads the relation, and says what is wrong with it.

use std::path::{Path, PathBuf};

use syn::LitStr;
use telemetry_schema::version::{Report, Side, judge};
use telemetry_schema::{
    Invalid, LoadCause, Registry, RegistryFile, load, load_lock, lock_path, parse_embedded,
};

/// A relation that was read.
pub(crate) struct Source {
    /// Absolute, for `include_bytes!`, which makes cargo recompile the crate when a file changes: the
    /// registry file, and its lock file if there is one.
    pub(crate) paths: Vec<String>,
    pub(crate) registry: Registry,
    /// On the path literal: what the lock has against it.
    pub(crate) error: Option<syn::Error>,
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
    let error = match load(Path::new(&clickable(&path))) {
        Ok(relation) => return Ok(against_lock(&path, relation, literal)),
        Err(error) => error,
    };
    if own
        && let LoadCause::Invalid { text, .. } = &error.cause
        && let Ok(registry) = parse_embedded(text)
    {
        let relation = RegistryFile { registry, allows: Vec::new(), text: text.clone() };
        return Ok(against_lock(&path, relation, literal));
    }
    let text = without_word(error.to_string());
    let there = path.is_file().then(|| path.to_string_lossy().into_owned());
    Err(match error.cause {
        LoadCause::Invalid { invalid, .. } => fail(text, there, Some(*invalid)),
        LoadCause::Io(_) => fail(text + "\nhelp: the path is relative to Cargo.toml", there, None),
        _ => fail(text, there, None),
    })
}

/// The relation with what its lock has against it, if there is one. A package may come without: who
/// builds it then cannot help it, and it was compared when it was released.
fn against_lock(path: &Path, relation: RegistryFile, literal: &LitStr) -> Source {
    let lock_path = lock_path(path);
    let (shown, shown_lock) = (clickable(path), clickable(&lock_path));
    let mut paths = vec![path.to_string_lossy().into_owned()];
    let text = match load_lock(Path::new(&shown_lock)) {
        Ok(None) => None,
        Ok(Some((lock, lock_text))) => {
            paths.push(lock_path.to_string_lossy().into_owned());
            let judgement = judge(&lock, &relation.registry, &relation.allows);
            (!judgement.is_met()).then(|| {
                let old = Side::lock(&shown_lock, &lock, &lock_text);
                Report::new(&judgement, old, Side::relation(&shown, &relation.text)).render()
            })
        }
        Err(error) => {
            paths.extend(lock_path.is_file().then(|| lock_path.to_string_lossy().into_owned()));
            Some(error.to_string())
        }
    };
    let error = text.map(|text| syn::Error::new(literal.span(), without_word(text)));
    Source { paths, registry: relation.registry, error }
}

/// rustc writes its own `error: ` before the first.
fn without_word(text: String) -> String {
    text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
}

/// The path as rustc prints others: relative to where cargo runs it, the root of the workspace. Then
/// a click on it opens the file.
fn clickable(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let here = here.canonicalize().unwrap_or(here);
    path.strip_prefix(&here).unwrap_or(&path).display().to_string()
}
