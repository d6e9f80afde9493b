//! `doctor` finds rings that have lost a part.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::sync::Once;

use super::{check, check_process, emit, emitted};
use crate::processes::{Program, Sockets, wait};

/// Another tool truncates or removes a ring, while its process runs and afterwards.
#[test]
fn rings_that_are_cut_or_gone() {
    let sockets = Sockets::new();
    let ring = sockets.path("a.ring");
    let setup = [("TELEMETRY_RING", ring.to_str().unwrap())];
    let program =
        Program::ready(&sockets, "processes::doctor::rings::rings_that_are_cut_or_gone", &setup, || {
            static ONCE: Once = Once::new();
            ONCE.call_once(emit);
        });
    emitted(&sockets, program.pid, 1);
    wait("the stream", || sockets.path("stream.tel").exists());
    check_process(&sockets, program.pid, "");
    let whole = std::fs::read(&ring).unwrap();
    std::fs::rename(&ring, sockets.path("moved.ring")).unwrap();
    std::fs::write(&ring, "").unwrap();
    check_process(&sockets, program.pid, "ring-removed");
    std::fs::rename(sockets.path("moved.ring"), &ring).unwrap();
    check_process(&sockets, program.pid, "");
    // This is after the part that the process uses, so that it survives: the space of the registry.
    std::fs::set_permissions(&ring, Permissions::from_mode(0o600)).unwrap();
    let file = std::fs::File::options().write(true).open(&ring).unwrap();
    file.set_len(whole.len() as u64 - 4096).unwrap();
    check_process(&sockets, program.pid, "ring-truncated");
    program.kill();
    for len in [24, 1 << 16, 1 << 17, 1 << 20, whole.len() / 2] {
        std::fs::write(&ring, &whole[..len]).unwrap();
        check(sockets.command("doctor --json a.ring"), "ring-truncated");
    }
    std::fs::write(&ring, &whole).unwrap();
    check(sockets.command("doctor --json a.ring"), "memory-image");
}

/// A command that a bus error ends may have lost the end of its ring.
#[test]
fn a_command_that_a_bus_error_ends() {
    let sockets = Sockets::new();
    let mut command = sockets.command("doctor --json sh -c");
    command.arg("kill -BUS $$").env("TELEMETRY_RING", "a.ring");
    check(command, "ring-truncated");
}
