//! `telemetry c`: headers for C and C++, and the package of a library with the events.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use telemetry_codegen_c::{File, MARK, Source, header, library};
use telemetry_schema::RegistryFile;

use crate::registry::args::RegistryArgs;
use crate::registry::released::Released;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::output::{Output, keep_read};
use crate::text::path::display;

const EXAMPLES: &str = "\
With a directory, the command writes a header for each registry, and a Rust package. `cargo build --release`
there makes the library: telemetry_events, static and shared. pkg-config and CMake find it in the directory.
With a name that ends in `.h`, it writes the header alone, for a Rust program whose attribute
`telemetry_event` has the argument `c`. docs/c.md describes both.

Exit codes: 0 no error; 1 a version that is too low; 2 a registry that cannot be used, or a file that cannot
be written.

Examples:
  telemetry c -o c --runtime ../telemetry     for the events.toml of this directory
  telemetry c cache.toml gc.toml -o c         two registries in one library
  telemetry c -o events.h                     the header alone";

/// Generate C and C++ headers for registries, and the package of their library
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Registry files
    #[arg(value_name = "FILE", default_value = "events.toml")]
    files: Vec<PathBuf>,

    /// Write the package of a library to this directory, or one header to this file, named `*.h`
    #[arg(short, long, value_name = "DIR|FILE.h")]
    output: PathBuf,

    /// Use the package telemetry-events in this directory [default: the published one]
    #[arg(long, value_name = "PATH")]
    runtime: Option<PathBuf>,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        if self.output.as_os_str() == "-" {
            return Err(Failure::new("the output is several files; help: name a directory with -o"));
        }
        let mut registries = Vec::with_capacity(self.files.len());
        for path in &self.files {
            let file = load(path)?;
            if let Some(objection) = objection(path, &file)? {
                let _ = writeln!(std::io::stderr(), "{}\n", objection.trim_end());
                context.problem_if(true);
            }
            registries.push(file.registry);
        }
        if context.has_problems() {
            return Ok(());
        }
        if self.output.extension().is_some_and(|extension| extension == "h") {
            let [registry] = &registries[..] else {
                return Err(Failure::new(format!(
                    "{} is one header, but there are {} registries; help: name a directory with -o",
                    display(&self.output),
                    registries.len()
                )));
            };
            let text = header(registry).map_err(|clash| Failure::new(clash.to_string()))?;
            keep_read(&self.output, &self.files)?;
            is_ours(&self.output)?;
            return write(&self.output, &text);
        }
        let folder = &self.output;
        let runtime = self.runtime.as_deref().map(|path| self.runtime_from(folder, path)).transpose()?;
        let paths: Vec<String> =
            self.files.iter().map(|path| relative(folder, path)).collect::<Result<_, _>>()?;
        let sources: Vec<Source<'_>> =
            registries.iter().zip(&paths).map(|(registry, path)| Source { registry, path }).collect();
        let files = library(&sources, runtime.as_deref()).map_err(|clash| Failure::new(clash.to_string()))?;
        write_all(folder, &files)
    }
}

impl Args {
    /// Returns the path from the library's package to that of the runtime.
    fn runtime_from(&self, folder: &Path, runtime: &Path) -> Result<String, Failure> {
        let manifest = runtime.join("Cargo.toml");
        let text = fs::read_to_string(&manifest)
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", display(&manifest))))?;
        if !text.lines().any(|line| line.trim() == "name = \"telemetry-events\"") {
            return Err(Failure::new(format!(
                "{} is not the package telemetry-events; help: --runtime takes the root of a clone of telemetry",
                display(runtime)
            )));
        }
        relative(folder, runtime)
    }
}

fn load(path: &Path) -> Result<RegistryFile, Failure> {
    if path.as_os_str() == "-" {
        return Err(Failure::new("a registry for C is a file, not standard input; help: name the file"));
    }
    telemetry_schema::load(path).map_err(|error| {
        Failure::new(format!("cannot use {}:\n{}", display(path), RegistryArgs::explain(&error)))
    })
}

/// Returns what the lock file has against the version of a registry.
fn objection(path: &Path, file: &RegistryFile) -> Result<Option<String>, Failure> {
    let Some(released) = Released::lock(&telemetry_schema::lock_path(path))? else { return Ok(None) };
    let judgement = released.judge(file);
    let shown = path.display().to_string();
    Ok((!judgement.is_met()).then(|| released.report(&judgement, &shown, file).render()))
}

/// Returns the path from one directory to a file, with `/` between folders.
fn relative(from: &Path, to: &Path) -> Result<String, Failure> {
    let real = |path: &Path| {
        path.canonicalize().map_err(|error| Failure::new(format!("cannot read {}: {error}", display(path))))
    };
    // The directory may not exist yet: it is made when nothing can fail any more.
    let there = from.ancestors().find(|path| path.exists() && !path.as_os_str().is_empty());
    let there = there.unwrap_or(Path::new("."));
    let rest = from.strip_prefix(there).unwrap_or(from);
    let (from_real, to_real) = (real(there)?.join(rest), real(to)?);
    let shared = from_real.components().zip(to_real.components()).take_while(|(a, b)| a == b).count();
    let up = from_real.components().skip(shared).map(|_| Some(".."));
    let down = to_real.components().skip(shared).map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let parts: Option<Vec<&str>> = up.chain(down).collect();
    match parts {
        Some(parts) if shared > 0 => Ok(parts.join("/")),
        _ => Err(Failure::new(format!(
            "there is no path in UTF-8 from {} to {}; help: put both on one disk, in folders with such names",
            display(from),
            display(to)
        ))),
    }
}

/// Writes all files that differ, or none: cargo compiles again what is written again.
fn write_all(folder: &Path, files: &[File]) -> Ended {
    let all: Vec<(PathBuf, &File)> = files.iter().map(|file| (folder.join(&file.path), file)).collect();
    for (path, _) in &all {
        is_ours(path)?;
    }
    let parents: BTreeSet<&Path> = all.iter().filter_map(|(path, _)| path.parent()).collect();
    for parent in parents {
        fs::create_dir_all(parent).map_err(|error| cannot_write(parent, &error))?;
    }
    let differ = |path: &Path, text: &str| fs::read(path).map_or(true, |found| found != text.as_bytes());
    let mut outputs = Vec::with_capacity(all.len());
    for (path, file) in all.iter().filter(|(path, file)| differ(path, &file.text)) {
        let mut output = Output::to(path)?;
        output.buffer().extend_from_slice(file.text.as_bytes());
        output.flush()?;
        outputs.push(output);
    }
    outputs.into_iter().try_for_each(Output::finish)
}

fn write(path: &Path, text: &str) -> Ended {
    let mut output = Output::to(path)?;
    output.buffer().extend_from_slice(text.as_bytes());
    output.finish()
}

/// Refuses to replace a file that this command has not written.
fn is_ours(path: &Path) -> Result<(), Failure> {
    match fs::read(path) {
        Ok(found) if found.is_empty() => Ok(()),
        Ok(found) => {
            let start = String::from_utf8_lossy(&found[..found.len().min(1000)]).into_owned();
            match start.contains(MARK) {
                true => Ok(()),
                false => Err(Failure::new(format!(
                    "{} exists, and `telemetry c` has not written it; help: name another place with -o",
                    display(path)
                ))),
            }
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(()),
        Err(error) => Err(cannot_write(path, &error)),
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", display(path)))
}
