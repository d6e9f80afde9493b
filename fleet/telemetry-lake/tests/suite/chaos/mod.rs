//! Random schedules of faults on the whole way: programs, shippers, collectors, a store, and
//! committers, all as processes.
//!
//! After each, every lane's account is exact, and each event is a row at most once.
//! `TELEMETRY_SCHEDULES` is their number, and `TELEMETRY_SEED` the first.

mod check;
mod disks;
mod end;
mod gone;
mod hosts;
mod losses;
mod plan;
mod process;
mod store;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::chaos::check::Sums;
use crate::chaos::plan::{Schedule, StoreKind};
use crate::chaos::process::program;
use crate::chaos::world::World;

fn run(seed: u64) -> Sums {
    let schedule = Schedule::new(seed);
    let mut world = World::new(&schedule);
    let ran = catch_unwind(AssertUnwindSafe(|| {
        for step in &schedule.steps {
            world.step(step);
        }
        world.heal();
        world.check()
    }));
    ran.unwrap_or_else(|panic| {
        eprintln!("{}", world.tell());
        resume_unwind(panic)
    })
}

/// Says whether the programs of other packages are there, with points at which they end.
fn has_programs() -> bool {
    let help = "cargo xtask chaos";
    for name in ["telemetry-fleet", "examples/emit"] {
        if !program(name).exists() {
            eprintln!("SKIPPED: {name} is not built; help: {help}");
            return false;
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(program("telemetry-fleet"));
    command.args(["ship", "--host=h1", "--to"]).arg(format!("file://{}/store", dir.path().display()));
    command.arg("--spool").arg(dir.path().join("spool")).arg(dir.path().join("app.tel"));
    let made = telemetry_testing::made::make(&telemetry_testing::made::registry(), &Default::default());
    std::fs::write(dir.path().join("app.tel"), made.stream).unwrap();
    let output = command.env("FAILPOINT", "ship-spooled").output().unwrap();
    assert_eq!(output.status.code(), None, "telemetry-fleet has no points; help: {help}");
    true
}

#[test]
fn every_schedule_keeps_the_account() {
    if !has_programs() {
        return;
    }
    let number =
        |name: &str, default| std::env::var(name).map_or(default, |text| text.parse::<u64>().unwrap());
    let (first, count) = (number("TELEMETRY_SEED", 1), number("TELEMETRY_SCHEDULES", 20));
    // Most of the time is spent waiting.
    let next = AtomicU64::new(first);
    let work = || {
        let mut sums = Sums::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return sums;
            }
            sums.add(run(seed));
        }
    };
    let mut sums = Sums::default();
    std::thread::scope(|scope| {
        let threads = [(); 3].map(|()| scope.spawn(work));
        for thread in threads {
            sums.add(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
    });
    let in_moto = (first..first + count).filter(|seed| Schedule::new(*seed).store == StoreKind::Moto).count();
    let moto = if store::end() || in_moto == 0 { "" } else { "; SKIPPED: no moto, so none of them had it" };
    let Sums { rows, lost, excluded, shed, exact, .. } = sums;
    assert!(count < 20 || [rows, lost, excluded, exact].iter().all(|sum| *sum > 0), "{sums:?}");
    assert!(count < 100 || shed > 0, "{sums:?}");
    println!("{count} schedules, {in_moto} of them with moto{moto}; {sums:?}");
    let never = process::tell_points(plan::points());
    println!("points that no process reached in time: {never:?}");
    println!("{}", disks::told());
    assert!(count < 500 || never.is_empty(), "{never:?}");
}
