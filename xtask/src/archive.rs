//! The archive of the command that a release carries.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{cargo, run};

/// Files of the repository that are in the archive.
const FILES: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];
/// Completions by shell, with the names that the shells expect.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "telemetry.bash"), ("zsh", "_telemetry"), ("fish", "telemetry.fish")];

/// Builds the command for this machine and packs it with its manual pages, its completions and the
/// licenses. Returns an error if the packed command does not run.
pub(crate) fn make(root: &Path, version: &str) -> Result<(), String> {
    run(cargo().args(["build", "--release", "--quiet", "--locked", "-p", "telemetry-cli"]))?;
    let name = format!("telemetry-{version}-{}", target()?);
    let place = root.join("target/archives");
    let folder = place.join(&name);
    let _ = fs::remove_dir_all(&folder);
    let completions = folder.join("completions");
    fs::create_dir_all(&completions).map_err(|error| format!("{}: {error}", completions.display()))?;

    let command = folder.join(format!("telemetry{}", std::env::consts::EXE_SUFFIX));
    let built = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), Into::into);
    let built = built.join("release").join(command.file_name().unwrap_or_default());
    let copies = FILES.iter().map(|file| (root.join(file), folder.join(file)));
    for (from, to) in copies.chain([(built, command.clone())]) {
        fs::copy(&from, &to).map_err(|error| format!("{}: {error}", from.display()))?;
    }
    run(Command::new(&command).args(["man", "-d"]).arg(folder.join("man")))?;
    for (shell, file) in COMPLETIONS {
        run(Command::new(&command).args(["completions", shell, "-o"]).arg(completions.join(file)))?;
    }

    let archive = place.join(format!("{name}.tar.gz"));
    run(Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(&place).arg(&name))?;
    let bytes = fs::metadata(&archive).map_err(|error| format!("{}: {error}", archive.display()))?.len();
    eprintln!("{}: {} KB", archive.display(), bytes.div_ceil(1000));
    Ok(())
}

/// Returns the name of this machine's target.
fn target() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc -vV: no line `host:`".to_owned())
}
