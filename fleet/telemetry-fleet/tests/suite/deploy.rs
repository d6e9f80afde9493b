//! The units of systemd, and the options that come with them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ship::said;

fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(name)
}

#[test]
fn the_options_are_known() {
    let dir = tempfile::tempdir().unwrap();
    for (command, missing) in [("ship", "authority.pem"), ("collect", "hosts.pem")] {
        // All but the files of the machine is there.
        let mut run = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
        run.arg(command).arg("--config").arg(deploy(&format!("{command}.toml")));
        let run = said(&run.arg("--spool").arg(dir.path()).output().unwrap());
        assert_eq!(run.code, Some(2));
        assert_eq!(
            run.stderr,
            format!("error: /etc/telemetry/{missing}: No such file or directory (os error 2)\n")
        );
    }
}

#[test]
fn the_units_are_valid() {
    for name in ["telemetry-ship.service", "telemetry-collect.service"] {
        let text = std::fs::read_to_string(deploy(name)).unwrap();
        // The units name where the program will be; here it is elsewhere.
        let dir = tempfile::tempdir().unwrap();
        let unit = dir.path().join(name);
        let text = text.replace("/usr/bin/telemetry-fleet", env!("CARGO_BIN_EXE_telemetry-fleet"));
        std::fs::write(&unit, text.replace("User=telemetry", "User=root")).unwrap();
        match Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&unit).output() {
            Ok(output) => {
                let run = said(&output);
                assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{name}");
            }
            Err(error) => eprintln!("SKIPPED: cannot run systemd-analyze: {error}"),
        }
    }
}
