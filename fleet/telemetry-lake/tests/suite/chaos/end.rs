//! The end of a schedule, and pauses in it: everything is sent and committed, and then checked.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::chaos::check;
use crate::chaos::plan::{Beside, COLLECTORS, GONE, HOSTS, Point};
use crate::chaos::process::PATIENCE;
use crate::chaos::world::World;
use crate::lakes::files_of;

/// The log of all commands of the lake.
pub(super) const COMMITTERS: &str = "committers.log";

/// Errors of committers that a later run of the command does not have: of another committer, and of
/// a store that did not answer.
const PASSING: [&str; 5] = [
    "error: another process ",
    "error: a batch is not done; ",
    "error: s3://",
    "is missing, but the table has it",
    "is gone; help: run the command again",
];

impl World {
    /// Makes everything work, and waits until all is sent and committed.
    pub(crate) fn heal(&mut self) {
        for host in 0..HOSTS {
            while !self.hosts[host].future.is_empty() {
                self.record_file(host, None);
            }
        }
        self.end_programs();
        self.repair();
        for host in 0..HOSTS {
            // It reads what programs have sent, and closes their segments.
            if let Some(shipper) = &mut self.hosts[host].shipper {
                let is_whole = shipper.stop("a shipper") == Some(0);
                self.hosts[host].starts += u64::from(!is_whole);
            }
            let starts = self.hosts[host].starts;
            self.start_shipper(host, None);
            self.hosts[host].starts = starts;
        }
        let patience = Instant::now() + PATIENCE;
        for host in 0..HOSTS {
            while self.is_left(host) {
                assert!(Instant::now() < patience, "segments are left");
                let shipper = self.hosts[host].shipper.as_mut().unwrap();
                assert!(shipper.is_alive(), "a shipper has ended");
                for collector in &mut self.collectors {
                    assert!(collector.as_mut().unwrap().is_alive(), "a collector has ended");
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            assert_eq!(files_of(&self.path(host, "spool/refused")), [] as [PathBuf; 0], "refused");
        }
        self.commit();
        self.delete();
    }

    /// Deletes the host that is gone. Its rows do not come back with other segments.
    fn delete(&mut self) {
        if !self.gone.has_come() {
            return;
        }
        self.insist(&["delete", "--lease=0", "--host", GONE], 0);
        let again = self.gone.again(self.lake.form);
        self.put_all(&again);
        self.commit();
    }

    /// Says whether a host has something that the store does not have.
    fn is_left(&self, host: usize) -> bool {
        !self.on_the_way(host).is_empty()
    }

    /// The files of a host with events that the store may not have.
    fn on_the_way(&self, host: usize) -> Vec<PathBuf> {
        let folders = ["watched", "spool/ready", "spool/live"];
        let mut files: Vec<_> =
            folders.iter().flat_map(|folder| files_of(&self.path(host, folder))).collect();
        // The facts of sessions are in files of their own, and damaged files are kept.
        files.retain(|file| file.extension().is_some_and(|end| end == "tel" || end == "open"));
        files
    }

    /// Commits everything that is in the store, and has the lake in its directory.
    pub(super) fn commit(&mut self) {
        for mut committer in std::mem::take(&mut self.committers) {
            // It ends at its point, or as the page of the lake says.
            let code = committer.wait("a committer");
            assert!(matches!(code, None | Some(0..=2)), "a committer ends with {code:?}");
        }
        // A segment that is cut off is told.
        self.insist(&["commit", "--lease=0"], i32::from(!self.halves.is_empty()));
        self.store.fetch(&self.lake);
    }

    /// Starts a command that changes tables.
    pub(super) fn start_beside(&mut self, beside: Beside, what: &str, point: &Point) {
        if beside == Beside::Nothing {
            self.store.set_faults(0, 0);
            self.commit();
        }
        self.start_committer(what, point);
    }

    /// Runs a command of the lake until it ends with 0, or with another code that is allowed.
    fn insist(&self, args: &[&str], other: i32) {
        let log = || std::fs::read_to_string(self.file(COMMITTERS)).unwrap_or_default();
        let is_done = |code| code == Some(0) || code == Some(other);
        let mut tries = 0;
        while !is_done(self.run(self.lake_command(args[0]).args(&args[1..]))) {
            // The store may still do what it was asked by a process that is gone.
            let last = log().lines().last().unwrap_or_default().to_owned();
            tries += 1;
            assert!(tries < 4 && last.starts_with("error: another process"), "the last {}: {last}", args[0]);
        }
    }

    /// Kills everything, and checks that nothing is gone. Then it goes on.
    pub(super) fn audit(&mut self) {
        self.end_programs();
        self.end_collectors();
        self.store.set_faults(0, 0);
        self.hosts.iter_mut().for_each(|host| host.shipper = None);
        self.commit();
        let lanes = self.lake.lanes();
        for host in 0..HOSTS {
            let left: Vec<_> =
                self.on_the_way(host).iter().map(|path| std::fs::read(path).unwrap()).collect();
            check::none_is_gone(self, &self.hosts[host], &lanes, &left);
        }
        for which in 0..COLLECTORS {
            self.start_collector(which, None);
        }
        for host in 0..HOSTS {
            self.start_shipper(host, None);
        }
    }

    /// Checks the accounts of all lanes, and the verdict. Returns the sums of what is not there.
    pub(crate) fn check(&mut self) -> check::Sums {
        let sums = check::check(self);
        for (name, log) in self.logs() {
            assert!(!log.contains("panicked at"), "a panic in {name}");
            let errors = log.lines().filter(|line| name == COMMITTERS && line.starts_with("error: "));
            for line in errors {
                let is_known = PASSING.iter().any(|text| line.contains(text));
                assert!(is_known, "an error that does not pass by itself: {line}");
            }
        }
        let code = self.run(&mut self.lake_command("complete"));
        let is_complete = sums.missing == 0;
        assert_eq!(code, Some(i32::from(!is_complete)), "the verdict");
        sums
    }

    /// What happened, for a schedule that fails.
    pub(crate) fn tell(&self) -> String {
        let mut text = self.story.join("\n  ");
        for (name, log) in self.logs() {
            text += &format!("\n{name}:\n{log}");
        }
        text
    }

    /// The logs of all processes, with their names.
    fn logs(&self) -> Vec<(String, String)> {
        let mut files = files_of(self.dir.path());
        files.retain(|path| path.to_str().is_some_and(|path| path.ends_with("log")));
        let name = |path: &PathBuf| path.strip_prefix(self.dir.path()).unwrap_or(path).display().to_string();
        files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap_or_default())).collect()
    }
}
