//! Programs that a test makes and then runs.
//!
//! Another process writes them. A child that another test starts meanwhile inherits the files that
//! this process has open. The system does not run a file that is open for writing ("text file
//! busy").

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Copies a program to another path, to run it there.
#[track_caller]
pub fn copy(from: impl AsRef<OsStr>, to: &Path) {
    let from = from.as_ref();
    let status = Command::new("cp").arg(from).arg(to).status().expect("cp");
    assert!(status.success(), "cp {} {}", from.display(), to.display());
}

/// Writes a shell script that can be run.
#[track_caller]
pub fn script(path: &Path, text: &str) {
    let mut shell = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("sh");
    shell.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("a shell that reads");
    assert!(shell.wait().expect("a child").success(), "cannot write {}", path.display());
}
