//! Finds and reads the registry file, and reports its mistakes.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use syn::LitStr;
use telemetry_schema::version::{Report, Side, judge};
use telemetry_schema::{
    Invalid, LoadCause, Registry, RegistryFile, load, load_lock, lock_path, parse_embedded,
};

/// A registry that was read.
pub(crate) struct Source {
    /// Absolute, for `include_bytes!`, which makes cargo recompile the crate when a file changes:
    /// the registry file, and its lock file if there is one.
    pub(crate) paths: Vec<String>,
    pub(crate) registry: Registry,
    /// The objections of the lock file, on the path literal.
    pub(crate) error: Option<syn::Error>,
}

/// The reason why a registry was not read.
pub(crate) struct Failure {
    /// On the path literal.
    pub(crate) error: syn::Error,
    /// Absolute, if the file is there.
    pub(crate) path: Option<String>,
    /// The mistakes, and the part that could be read.
    pub(crate) invalid: Option<Invalid>,
}

/// Reads the registry file that the attribute names. The runtime's `own` may have the reserved
/// name.
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
        Ok(file) => return Ok(against_lock(&path, file, literal)),
        Err(error) => error,
    };
    if own
        && let LoadCause::Invalid { text, .. } = &error.cause
        && let Ok(registry) = parse_embedded(text)
    {
        let file = RegistryFile::new(registry, text.as_str());
        return Ok(against_lock(&path, file, literal));
    }
    let text = without_word(error.to_string());
    let there = path.is_file().then(|| path.to_string_lossy().into_owned());
    Err(match error.cause {
        LoadCause::Invalid { invalid, .. } => fail(text, there, Some(*invalid)),
        LoadCause::Io(cause) if cause.kind() == ErrorKind::NotFound => {
            fail(text + "\nhelp: " + &meant(&package, &named), there, None)
        }
        LoadCause::Io(_) => fail(text + "\nhelp: the path is relative to Cargo.toml", there, None),
        _ => fail(text, there, None),
    })
}

/// Returns the help for a path without a file. The path may be meant from the source file or from
/// the workspace.
fn meant(package: &Path, named: &str) -> String {
    let workspace = std::env::current_dir().unwrap_or_default();
    let above = package.ancestors().skip(1).take_while(|folder| folder.starts_with(&workspace));
    let above = above.enumerate().map(|(up, _)| "../".repeat(up + 1) + named);
    let tried: Vec<String> = std::iter::once(format!("src/{named}")).chain(above).collect();
    match tried.iter().find(|path| package.join(path).is_file()) {
        Some(path) => format!("the path is relative to Cargo.toml: write \"{path}\""),
        None => {
            let tried: Vec<String> = tried.iter().map(|path| format!("`{path}`")).collect();
            format!(
                "the path is relative to Cargo.toml; there is no {} either\n\
                 help: `telemetry init` writes a first events.toml",
                tried.join(" or ")
            )
        }
    }
}

/// Returns the registry with the objections of its lock file, if there are any. A package may come
/// without one: its users cannot mend the registry, and it was compared when it was released.
fn against_lock(path: &Path, file: RegistryFile, literal: &LitStr) -> Source {
    let lock_path = lock_path(path);
    let (shown, shown_lock) = (clickable(path), clickable(&lock_path));
    let mut paths = vec![path.to_string_lossy().into_owned()];
    let text = match load_lock(Path::new(&shown_lock)) {
        Ok(None) => None,
        Ok(Some((lock, lock_text))) => {
            paths.push(lock_path.to_string_lossy().into_owned());
            let judgement = judge(&lock, &file.registry, &file.allows);
            (!judgement.is_met()).then(|| {
                let old = Side::lock(&shown_lock, &lock, &lock_text);
                Report::new(&judgement, old, Side::registry(&shown, &file.text)).render()
            })
        }
        Err(error) => {
            paths.extend(lock_path.is_file().then(|| lock_path.to_string_lossy().into_owned()));
            Some(error.to_string())
        }
    };
    let error = text.map(|text| syn::Error::new(literal.span(), without_word(text)));
    Source { paths, registry: file.registry, error }
}

/// Removes the first `error: `, which rustc writes itself.
fn without_word(text: String) -> String {
    text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
}

/// Returns the path as rustc prints others: relative to where cargo runs it, the root of the
/// workspace. Then a click on it opens the file.
fn clickable(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let here = here.canonicalize().unwrap_or(here);
    path.strip_prefix(&here).unwrap_or(&path).display().to_string()
}
