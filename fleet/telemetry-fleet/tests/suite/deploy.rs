//! The units of systemd, and the options that come with them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ship::said;

/// Where the units start the program.
const PROGRAM: &str = "/usr/bin/telemetry-fleet";

const SHIP: &str = "telemetry-ship.service";
const COLLECT: &str = "telemetry-collect.service";
const REMOTE_CONTROL: &str = "telemetry-ship.service.d/remote-control.conf";

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(name)).unwrap()
}

/// Returns the options of a command, also those that are a comment.
fn options(command: &str) -> String {
    read(&format!("{command}.toml")).replace("# allow =", "allow =")
}

/// Returns the values of a setting. The last one holds.
fn values<'a>(unit: &'a str, setting: &str) -> Vec<&'a str> {
    unit.lines().filter_map(|line| line.strip_prefix(setting)?.strip_prefix('=')).collect()
}

/// Returns what holds in a unit to which a drop-in is appended: the last value, or all rights.
fn effective(unit: &str, setting: &str) -> String {
    let values = values(unit, setting);
    match (setting, values.last()) {
        (_, None) => "the default".to_owned(),
        // An empty value takes back those before it.
        ("CapabilityBoundingSet", _) => {
            values.rsplit(|value| value.is_empty()).next().unwrap_or_default().join(" ")
        }
        (_, Some(last)) => (*last).to_owned(),
    }
}

/// Returns the directories that a unit makes for its service to write to, with their modes.
fn made(unit: &str) -> BTreeMap<PathBuf, u32> {
    let mut made = BTreeMap::new();
    for (kind, above) in [("State", "/var/lib"), ("Runtime", "/run"), ("Logs", "/var/log")] {
        let mode = values(unit, &format!("{kind}DirectoryMode")).pop().unwrap_or("0755");
        let mode = u32::from_str_radix(mode, 8).unwrap();
        for dir in values(unit, &format!("{kind}Directory")) {
            made.insert(Path::new(above).join(dir), mode);
        }
    }
    made
}

/// Returns the paths of options that are in no directory that the unit makes.
fn outside(unit: &str, options: &str) -> Vec<String> {
    let (dirs, options) = (made(unit), toml::from_str::<toml::Table>(options).unwrap());
    let mut outside = Vec::new();
    for name in ["spool", "listen", "watch", "admin", "store", "to"] {
        let values = match options.get(name) {
            Some(toml::Value::Array(values)) => values.as_slice(),
            Some(value) => std::slice::from_ref(value),
            None => &[],
        };
        for text in values.iter().filter_map(toml::Value::as_str) {
            let path = text.trim_start_matches("unix:").trim_start_matches("file://");
            if path.starts_with('/') && !dirs.keys().any(|dir| Path::new(path).starts_with(dir)) {
                outside.push(path.to_owned());
            }
        }
    }
    outside
}

#[test]
fn the_options_are_known() {
    for (command, name, missing) in [("ship", SHIP, "authority.pem"), ("collect", COLLECT, "hosts.pem")] {
        // All but the files of the machine is there.
        let (dir, unit) = (tempfile::tempdir().unwrap(), read(name));
        std::fs::write(dir.path().join(format!("{command}.toml")), options(command)).unwrap();
        let start = values(&unit, "ExecStart")[0].strip_prefix(PROGRAM).unwrap();
        let start = start.replace("/etc/telemetry", dir.path().to_str().unwrap());
        let mut program = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
        program.args(start.split_whitespace()).arg("--spool").arg(dir.path().join("spool"));
        let run = said(&program.output().unwrap());
        let error = format!("error: /etc/telemetry/{missing}: No such file or directory (os error 2)\n");
        assert_eq!((run.code, run.stderr), (Some(2), error));
    }
}

#[test]
fn the_units_make_the_directories_of_the_options() {
    let apart = "spool = '/var/lib/ab'\nlisten = ['unix:/run/a/s', 'tcp::1']\nto = 'file:///srv'\n";
    assert_eq!(outside("StateDirectory=a\nRuntimeDirectory=a", apart), ["/var/lib/ab", "/srv"]);

    let (ship, collect) = (read(SHIP), read(COLLECT));
    assert_eq!(outside(&ship, &options("ship")), [""; 0]);
    assert_eq!(outside(&collect, &options("collect")), [""; 0]);
    let (mut dirs, of_collect) = (made(&ship), made(&collect));
    // A stop of either service removes its `RuntimeDirectory`.
    assert!(dirs.keys().all(|dir| !of_collect.contains_key(dir)));
    dirs.extend(of_collect);
    // Programs of the group may connect, and write streams, which get the group of the directory.
    // With a sticky bit, only the owner of the directory and of a file could remove it.
    let wanted = [
        ("/run/telemetry", 0o755),
        ("/run/telemetry-collect", 0o700),
        ("/var/lib/telemetry-collect", 0o700),
        ("/var/lib/telemetry-ship", 0o700),
        ("/var/log/telemetry", 0o2770),
    ];
    assert!(dirs.iter().map(|(dir, mode)| (dir.to_str().unwrap(), *mode)).eq(wanted), "{dirs:?}");

    let guide = read("../../docs/fleet.md");
    for (dir, mode) in wanted {
        assert!(guide.contains(&format!("| `{dir}` | {mode:04o} |")), "{dir}");
    }
    let options: toml::Table = toml::from_str(&options("collect")).unwrap();
    let admin = format!("--admin {} ", options["admin"].as_str().unwrap());
    let install = format!("/telemetry-fleet {PROGRAM}");
    assert!(guide.contains(&admin) && guide.contains(&install), "{admin}, {install}");
}

/// Keys of a store come from the environment alone.
#[test]
fn the_units_take_keys_from_files() {
    let guide = read("../../docs/fleet.md");
    for (name, file) in [(SHIP, "/etc/telemetry/ship.env"), (COLLECT, "/etc/telemetry/collect.env")] {
        let unit = read(name);
        // With the `-`, the service starts without the file, too: a shipper may send to a
        // collector.
        assert_eq!(values(&unit, "EnvironmentFile"), [format!("-{file}")], "{name}");
        assert!(guide.contains(&format!("| `{file}` |")), "{file}");
    }
}

/// Sockets of programs are in `/tmp`, and answer their own user and root.
#[test]
fn remote_control_reaches_programs() {
    let (unit, drop_in) = (read(SHIP), read(REMOTE_CONTROL));
    let for_root = drop_in.replace("\n#User=", "\nUser=").replace("\n#Capability", "\nCapability");
    for (text, wanted) in [
        (unit.clone(), ["telemetry", "yes", "strict", ""]),
        (unit.clone() + &drop_in, ["app", "no", "strict", ""]),
        (unit + &for_root, ["root", "no", "strict", "CAP_DAC_OVERRIDE"]),
    ] {
        let settings = ["User", "PrivateTmp", "ProtectSystem", "CapabilityBoundingSet"];
        assert_eq!(settings.map(|setting| effective(&text, setting)), wanted);
    }
    // systemd reads drop-ins from this directory, and only when it is told.
    assert_eq!(Path::new(REMOTE_CONTROL).parent(), Some(Path::new(&format!("{SHIP}.d"))));
    assert!(drop_in.contains(&format!("/etc/systemd/system/{SHIP}.d,")));
    for text in [drop_in, read("../../docs/fleet.md")] {
        for command in ["systemctl daemon-reload", "systemctl restart telemetry-ship"] {
            assert!(text.contains(command), "{command} in {text}");
        }
    }
}

/// Returns the version of systemd, if it is there.
fn systemd() -> Option<u32> {
    let output = Command::new("systemd-analyze").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split(|letter: char| !letter.is_ascii_digit()).find_map(|number| number.parse().ok())
}

#[test]
fn the_units_are_valid_and_have_few_rights() {
    let Some(version) = systemd() else { return eprintln!("SKIPPED: there is no systemd-analyze") };
    let mut checks = vec![&["verify", "--man=no"][..]];
    if version >= 250 {
        checks.push(&["security", "--offline=yes", "--threshold=30"]);
    } else {
        eprintln!("SKIPPED: systemd-analyze security --offline: found systemd {version}, expected 250");
    }
    let dir = tempfile::tempdir().unwrap();
    for (added, unit) in [(COLLECT, COLLECT), (SHIP, SHIP), (REMOTE_CONTROL, SHIP)] {
        let path = dir.path().join(added);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // The units name where the program will be; here it is elsewhere.
        let text = read(added).replace(PROGRAM, env!("CARGO_BIN_EXE_telemetry-fleet"));
        std::fs::write(path, text).unwrap();
        for check in &checks {
            let output = Command::new("systemd-analyze").args(*check).arg(dir.path().join(unit)).output();
            let run = said(&output.unwrap());
            assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{added}\n{}", run.stdout);
        }
    }
}
