//! `telemetry init`: a first registry file, and how to go on from it.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use telemetry_schema::{limits, parse};
use toml::Table;

use crate::registry::args::summary;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::output::Output;

/// The file, with words in capitals in place of the package's names.
const STARTER: &str = include_str!("init/starter.toml");

/// The second word of a name that is not allowed.
const SUFFIX: &str = "_app";

const EXAMPLES: &str = "\
The file has comments, two kinds, two events and a span, and is named after the package. An existing
events.toml is never replaced; the exit code is then 2.

Examples:
  telemetry init                         in the directory of the package
  cargo new cache; telemetry init cache  in a new package";

/// Write a first events.toml beside a Cargo.toml, and print the next steps
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory of the package
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
}

impl Run for Args {
    fn run(&self, _: &mut Context) -> Ended {
        let package = package(&self.directory)?;
        let registry_name = registry_name(&package);
        let text = STARTER.replace("REGISTRY", &registry_name).replace("PACKAGE", &package);
        let registry = parse(&text).map_err(|invalid| Failure::new(invalid.render("events.toml", &text)))?;
        let path = self.directory.join("events.toml");
        write_new(&path, &text)?;
        let mut output = Output::stdout();
        let shown = path.strip_prefix(".").unwrap_or(&path).display();
        let steps = self.steps(&registry_name);
        let said = format!("{shown}: {}, written\n\n{steps}", summary(&registry));
        output.buffer().extend_from_slice(said.as_bytes());
        output.finish()
    }
}

impl Args {
    /// Returns the next steps. A test follows them.
    fn steps(&self, stream: &str) -> String {
        let is_library =
            !self.directory.join("src/main.rs").exists() && self.directory.join("src/lib.rs").exists();
        let (root, run) = match is_library {
            true => ("src/lib.rs", "cargo test"),
            false => ("src/main.rs", "cargo run"),
        };
        let dependency = dependency();
        let place = match self.directory.as_os_str() == "." {
            true => String::new(),
            false => format!(", in the directory `{}`", self.directory.display()),
        };
        format!(
            "Next steps{place}:

1. Add a line to [dependencies] in Cargo.toml:

    {dependency}

2. Add the module with the emitters to {root}:

    #[telemetry::telemetry_event(\"events.toml\", decode)]
    pub mod events {{}}

3. Emit events around the work:

    events::work_start!(1);
    events::work_end!(1, 4096_u64);

4. Run the program with all events on, and read the stream:

    TELEMETRY_CONTROL=all TELEMETRY_FILENAME={stream}.tel {run}
    telemetry stats {stream}.tel
    telemetry spans {stream}.tel
"
        )
    }
}

/// Returns the name of the package in a directory.
fn package(directory: &Path) -> Result<String, Failure> {
    let manifest = directory.join("Cargo.toml");
    let shown = manifest.strip_prefix(".").unwrap_or(&manifest).display();
    let text = fs::read_to_string(&manifest).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Failure::new(format!(
            "no file `{shown}`, expected the manifest of a package; \
             help: name the directory of a package, or make one: cargo new NAME"
        )),
        _ => Failure::new(format!("cannot read `{shown}`: {error}")),
    })?;
    let table = text.parse::<Table>().map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        Failure::new(format!("{shown}:{line}: {}; help: run `cargo check`", error.message()))
    })?;
    let name = table.get("package").and_then(|package| package.get("name")).and_then(|name| name.as_str());
    name.map(str::to_string).ok_or_else(|| {
        Failure::new(format!(
            "`{shown}` has no package, expected `[package]` with a name; \
             help: name the directory of a member of the workspace: telemetry init DIR"
        ))
    })
}

/// Returns a name for the registry that resembles the package's and is allowed.
fn registry_name(package: &str) -> String {
    let lower = package.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(['-', '_']).filter(|word| !word.is_empty()).collect();
    let name: String = words.join("_").chars().take(limits::MAX_NAME_LEN - SUFFIX.len()).collect();
    let name = name.trim_end_matches('_').to_string();
    let is_allowed = |name: &str| parse(&STARTER.replace("REGISTRY", name)).is_ok();
    // A keyword or a reserved name gets a second word. No name of a package is worse than that.
    [name.clone(), name + SUFFIX].into_iter().find(|name| is_allowed(name)).unwrap_or("app".into())
}

/// Writes a file that must not exist.
fn write_new(path: &Path, text: &str) -> Ended {
    let shown = path.strip_prefix(".").unwrap_or(path).display();
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| {
        Failure::new(match error.kind() {
            ErrorKind::AlreadyExists => format!(
                "`{shown}` exists, expected no such file; \
                 help: edit it, and check it: telemetry check {shown}"
            ),
            _ => format!("cannot write `{shown}`: {error}"),
        })
    })?;
    file.write_all(text.as_bytes()).map_err(|error| {
        // Half a file would be in the way of the next attempt.
        let _ = fs::remove_file(path);
        Failure::new(format!("cannot write `{shown}`: {error}"))
    })
}

/// Returns the line of Cargo.toml. A command that was built in a clone which is still there names
/// it.
fn dependency() -> String {
    let clone = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let is_library = |clone: &&Path| {
        let manifest = fs::read_to_string(clone.join("Cargo.toml")).unwrap_or_default();
        manifest.contains("\nname = \"telemetry-events\"\n")
    };
    let source = match clone.filter(is_library) {
        Some(clone) => format!("path = {}", toml::Value::from(&*clone.to_string_lossy())),
        None => format!("version = \"{}\"", env!("CARGO_PKG_VERSION")),
    };
    format!("telemetry-events = {{ {source}, features = [\"decode\"] }}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_are_named_after_packages() {
        for (package, name) in [
            ("cache", "cache"),
            ("My-Cache", "my_cache"),
            ("a--b_", "a_b"),
            ("telemetry", "telemetry_app"),
            ("loop", "loop_app"),
            ("\u{e9}tude", "app"),
            ("2d", "app"),
            ("-", "app"),
        ] {
            assert_eq!(registry_name(package), name, "{package}");
        }
        assert_eq!(registry_name(&"long-".repeat(30)), ["long"; 12].join("_"));
    }
}
