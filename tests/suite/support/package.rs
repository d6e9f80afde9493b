//! Packages that real cargo builds like users' packages: outside of this workspace, offline, with
//! paths to the crates here. Their dependencies are built once and kept in the target directory.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use telemetry_testing::nested::PROFILE;

/// The workspace of the crates.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// The folder that cargo gives to tests.
const KEPT: &str = env!("CARGO_TARGET_TMPDIR");

/// The settings of a release build.
pub(crate) const OPTIMIZED: [&str; 3] =
    ["profile.dev.opt-level=3", "profile.dev.debug-assertions=false", "profile.dev.overflow-checks=false"];

/// A cargo workspace of its own.
pub(crate) struct Workspace {
    dir: PathBuf,
}

impl Workspace {
    /// A workspace with these packages. No other test uses `name`.
    pub(crate) fn new(name: &str, packages: &[&str]) -> Workspace {
        let workspace = Workspace { dir: Path::new(KEPT).join(name) };
        workspace.write(
            "Cargo.toml",
            &format!(
                "[workspace]\nmembers = {packages:?}\nresolver = \"3\"\n\n\
                 [workspace.dependencies]\ntelemetry-events = {{ path = {ROOT:?} }}\nlibc = \"0.2\"\n\n{PROFILE}"
            ),
        );
        workspace.lock();
        workspace
    }

    /// A package that is its own workspace, with the dependency as in the README, and with the
    /// target directory of all workspaces.
    #[cfg(unix)]
    pub(crate) fn alone(name: &str) -> Workspace {
        let workspace = Workspace { dir: Path::new(KEPT).join(name) };
        workspace.write(
            "Cargo.toml",
            &format!(
                "[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
                 [dependencies]\ntelemetry-events = {{ path = {ROOT:?}, features = [\"decode\"] }}\n\n{PROFILE}"
            ),
        );
        workspace.lock();
        let link = workspace.dir.join("target");
        if !link.exists() {
            std::fs::create_dir_all(target_dir("target")).expect("a writable directory");
            std::os::unix::fs::symlink(target_dir("target"), link).expect("a writable directory");
        }
        workspace
    }

    /// The same versions of all dependencies, so that cargo looks nothing up.
    fn lock(&self) {
        let lock = std::fs::read_to_string(Path::new(ROOT).join("Cargo.lock")).expect("the lock file");
        if !self.dir.join("Cargo.lock").exists() {
            self.write("Cargo.lock", &lock);
        }
    }

    /// Writes a file unless it has this text already: cargo compares the time of the last change.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.dir.join(path);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return;
        }
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a writable directory");
        std::fs::write(path, text).expect("a writable file");
    }

    /// The content of a file.
    #[cfg(unix)]
    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.dir.join(path)).expect("a file")
    }

    /// Removes a file, if it exists.
    pub(crate) fn remove(&self, path: &str) {
        let path = self.dir.join(path);
        if path.exists() {
            std::fs::remove_file(path).expect("a writable directory");
        }
    }

    /// Writes the manifest of a package to a directory of its name.
    pub(crate) fn package(&self, name: &str, edition: &str, dependencies: &str) {
        self.write(
            &format!("{name}/Cargo.toml"),
            &format!(
                "[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = {edition:?}\n\n\
                 [dependencies]\n{dependencies}\n"
            ),
        );
    }

    /// A command of cargo, with the target directory `target` of all workspaces.
    pub(crate) fn cargo(&self, command: &str, target: &str) -> Command {
        let mut cargo = self.command(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.args([command, "--offline", "--color=never", "--target-dir"]);
        cargo.arg(target_dir(target));
        cargo
    }

    /// A line of a shell in which `telemetry` is the command of this workspace, and cargo is
    /// offline.
    #[cfg(unix)]
    pub(crate) fn shell(&self, line: &str) -> Output {
        let mut shell = self.command("sh");
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", outer_dir().display());
        shell.args(["-c", line]).env("PATH", path);
        shell.env("CARGO_NET_OFFLINE", "true").env("CARGO_TERM_COLOR", "never");
        shell.output().expect("a shell")
    }

    /// Builds the command `telemetry`, for [`Workspace::shell`].
    ///
    /// The tests of the command have built it if the whole workspace is tested. Cargo finds it
    /// then, because this is a part of the same build: the same packages have the same features.
    #[cfg(unix)]
    pub(crate) fn build_command(&self) {
        let _alone = lock();
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.current_dir(ROOT).args(["test", "--workspace", "--no-run", "--quiet", "--offline"]);
        cargo.args(["--test", "alloc_trace", "--target-dir"]).arg(outer_dir().parent().expect("a directory"));
        if outer_dir().ends_with("release") {
            cargo.arg("--release");
        }
        let output = cargo.output().expect("cargo runs");
        assert!(output.status.success(), "{}", said(&output));
    }

    /// A program in this directory, without the variables that cargo and the user set for this
    /// test.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["CARGO_", "RUST", "TELEMETRY_"].iter().any(|start| text.starts_with(start))
                && !["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"].contains(&&*text)
            {
                command.env_remove(&name);
            }
        }
        command.current_dir(&self.dir);
        command
    }

    /// Builds what the arguments name, or all without any, which must succeed. Returns the output
    /// of cargo.
    pub(crate) fn build(&self, arguments: &[&str]) -> String {
        let _alone = lock();
        self.build_alone(arguments)
    }

    /// Builds one program with other settings of its profile. Returns its path.
    ///
    /// A profile of its own would build all dependencies again, also those of the macro. The
    /// program takes the path of the one without these settings, so that one is built afterwards.
    pub(crate) fn build_with(&self, settings: &[&str], program: &str) -> PathBuf {
        let _alone = lock();
        let mut arguments = vec!["--bin", program];
        arguments.extend(settings.iter().flat_map(|setting| ["--config", *setting]));
        self.build_alone(&arguments);
        self.link(program, &settings.join(" ").replace(['"', '/'], ""))
    }

    /// Builds a program whose own code, and not that of its dependencies, has these options of the
    /// compiler. Returns its path. The program is named as its package.
    pub(crate) fn compile_with(&self, options: &[&str], program: &str) -> PathBuf {
        let _alone = lock();
        let mut cargo = self.cargo("rustc", "target");
        cargo.args(["--package", program, "--bin", program, "--"]).args(options);
        let output = cargo.output().expect("cargo runs");
        assert!(output.status.success(), "{}", said(&output));
        self.link(program, &options.concat())
    }

    /// The path of a program.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        let _alone = lock();
        self.link(name, "debug")
    }

    /// The caller has the lock.
    fn build_alone(&self, arguments: &[&str]) -> String {
        let output = self.cargo("build", "target").args(arguments).output().expect("cargo runs");
        let said = said(&output);
        assert!(output.status.success(), "{said}");
        said
    }

    /// Links a program into a folder of this workspace's directory. Cargo
    /// replaces its own link in each build, also if the program is up to date; for a moment there
    /// is none. The caller has the lock.
    fn link(&self, name: &str, folder: &str) -> PathBuf {
        let folder = self.dir.join("built").join(folder);
        std::fs::create_dir_all(&folder).expect("a writable directory");
        let (program, new) = (folder.join(name), folder.join(format!("{name}.{}", std::process::id())));
        // A copy would be open for writing in children that other threads fork meanwhile.
        std::fs::hard_link(target_dir("target").join("debug").join(name), &new).expect("a built program");
        std::fs::rename(&new, &program).expect("a writable directory");
        // To rename does nothing if both are the same file already.
        let _ = std::fs::remove_file(new);
        program
    }
}

/// Excludes other builds in the same target directory, of this process and of others.
fn lock() -> std::fs::File {
    let file = std::fs::File::create(target_dir("target.lock")).expect("a writable directory");
    file.lock().expect("a lock");
    file
}

/// The directory of programs of the build that this test belongs to.
#[cfg(unix)]
fn outer_dir() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    // In `deps` of the profile's directory.
    test.ancestors().nth(2).expect("a directory").to_path_buf()
}

/// The path of a target directory.
pub(crate) fn target_dir(target: &str) -> PathBuf {
    Path::new(KEPT).join(target)
}

/// The standard error of a command.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
