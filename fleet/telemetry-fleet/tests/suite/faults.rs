//! `telemetry-fleet ship` with a bucket that answers wrongly, as each test says.

use std::path::PathBuf;
use std::process::Command;

use telemetry_fleet::spool::Spool;
use telemetry_testing::fake_s3::{FakeS3, Fault};

use crate::collect::Fleet;
use crate::daemon::{Daemon, command};
use crate::hostile::segment_of;
use crate::s3::credentials;
use crate::ship::{Host, files_in, said};

/// A host, and what a bucket has when its streams are shipped.
struct Shipped {
    host: Host,
    /// Names and bytes.
    objects: Vec<(String, Vec<u8>)>,
}

/// What the bucket says to a segment that it has: its length and its bytes are compared.
const COMPARED: &str = "PUT 412, HEAD 200, GET 200";

impl Shipped {
    fn new() -> Shipped {
        let (host, bucket) = (Host::new(), FakeS3::start(1, 0));
        let shipped = Shipped { host, objects: Vec::new() };
        let run = said(&shipped.command(&bucket).output().unwrap());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        let objects = bucket.objects();
        shipped.host.check(&objects.iter().map(|(_, bytes)| bytes.clone()).collect::<Vec<_>>());
        assert!(objects.len() > 4, "several segments");
        Shipped { objects, ..shipped }
    }

    fn command(&self, bucket: &FakeS3) -> Command {
        let mut command = self.host.command("spool", "s3://fleet/prod");
        credentials(&mut command, &bucket.endpoint);
        command
    }

    /// The segments that wait.
    fn waiting(&self) -> Vec<PathBuf> {
        files_in(&self.host.path("spool/ready"))
    }

    /// The bytes of a segment.
    fn bytes_of(&self, name: &str) -> &[u8] {
        &self.objects.iter().find(|(of, _)| of == name).expect("a segment").1
    }

    /// Checks that the bucket has each segment, and nothing else. `answers` are those about the
    /// object with faults.
    fn check_stored(&self, bucket: &FakeS3, answers: &str) {
        let found: Vec<_> = bucket.scripted().into_iter().map(|(_, answers)| answers).collect();
        assert_eq!(found, [answers]);
        assert!(bucket.objects() == self.objects, "each segment once, after {answers}");
        assert_eq!(self.waiting(), [] as [PathBuf; 0]);
    }

    /// Ships while the first object with `part` in its name has faults, and all is well.
    fn check(&self, part: &'static str, faults: &[Fault], answers: &str, were_there: usize) {
        let bucket = FakeS3::start(1, 0);
        bucket.script(part, faults);
        let run = said(&self.command(&bucket).output().unwrap());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{answers}");
        let shipped = format!("shipped {} segments; ", self.objects.len() - were_there);
        let end = match were_there {
            0 => " bytes\n".to_owned(),
            count => format!(" bytes; {count} in the store before\n"),
        };
        assert!(run.stdout.starts_with(&shipped) && run.stdout.ends_with(&end), "{}", run.stdout);
        self.check_stored(&bucket, answers);
    }

    /// Ships while a segment has faults, which ends with `error`. Its `NAME` is the segment's.
    /// The segment waits, and the next run sends it.
    fn check_again(&self, faults: &[Fault], error: &str, answers: &str) {
        let bucket = FakeS3::start(1, 0);
        bucket.script("segments/", faults);
        let mut command = self.command(&bucket);
        if faults.iter().any(|fault| matches!(fault, Fault::Silent)) {
            command.env("AWS_TIMEOUT", "4s");
        }
        let run = said(&command.output().unwrap());
        // Others may wait, too, which were on the way.
        let is_named = |path: &PathBuf| {
            let name = path.strip_prefix(self.host.path("spool/ready")).unwrap();
            // Below the folder of its priority.
            let name = name.iter().skip(1).collect::<PathBuf>().display().to_string();
            assert!(std::fs::read(path).unwrap() == self.bytes_of(&format!("prod/{name}")), "{name}");
            run.stderr.starts_with(&error.replace("NAME", &name))
        };
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{answers}");
        assert!(self.waiting().iter().any(is_named), "{}", run.stderr);
        let run = said(&self.command(&bucket).output().unwrap());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{answers}");
        self.check_stored(&bucket, answers);
    }

    /// Ships while another segment has the name of one. That one is kept.
    fn check_taken(&self, other: fn(&[u8]) -> Vec<u8>, answers: &str) {
        let bucket = FakeS3::start(1, 0);
        bucket.script("segments/", &[Fault::Taken(other)]);
        let run = said(&self.command(&bucket).output().unwrap());
        let scripted = bucket.scripted();
        let [(name, found)] = &scripted[..] else { panic!("{scripted:?}") };
        let (segment, folder) = (name.strip_prefix("prod/").unwrap(), self.host.path("spool/refused"));
        let kept = folder.join(segment);
        let errors = format!(
            "error: segment {segment} is refused: the store has another segment under this name; \
             it is kept as {}\nerror: refused 1 segment; help: they are kept in {}\n",
            kept.display(),
            folder.display()
        );
        assert_eq!((found.as_str(), run.code, run.stderr), (answers, Some(1), errors));
        assert!(run.stdout.ends_with("; 1 refused\n"), "{}", run.stdout);
        assert!(std::fs::read(&kept).unwrap() == self.bytes_of(name), "nothing is lost");
        assert_eq!((files_in(&folder), self.waiting()), (vec![kept], Vec::new()));
        std::fs::remove_dir_all(folder).unwrap();
        let mut objects = self.objects.clone();
        for (_, bytes) in objects.iter_mut().filter(|(of, _)| of == name) {
            *bytes = other(bytes);
        }
        assert!(bucket.objects() == objects, "the other is not overwritten, and the rest is stored");
    }
}

#[test]
fn a_bucket_that_answers_wrongly_has_each_segment_once() {
    let shipped = Shipped::new();
    let (conflict, taken) = ("PUT 409, HEAD 404", "PUT 409, HEAD 200, GET 200");
    // Another write was in progress, and has not succeeded.
    shipped.check("segments/", &[Fault::Conflict], &format!("{conflict}, PUT 200"), 0);
    let four = [conflict; 4].join(", ");
    shipped.check("segments/", &[Fault::Conflict; 4], &format!("{four}, PUT 200"), 0);
    // It has succeeded.
    shipped.check("segments/", &[Fault::Repeated], taken, 1);
    shipped.check("segments/", &[Fault::Conflict, Fault::Repeated], &format!("{conflict}, {taken}"), 1);
    shipped.check("segments/", &[Fault::Slow; 3], "PUT 503, PUT 503, PUT 503, PUT 200", 0);
    shipped.check("segments/", &[Fault::Lost], &format!("PUT 200, {COMPARED}"), 1);
    shipped.check("segments/", &[Fault::Late], "PUT 200", 0);
    let faults = [Fault::Slow, Fault::Conflict, Fault::Slow, Fault::Lost];
    let answers = format!("PUT 503, {conflict}, PUT 503, PUT 200, {COMPARED}");
    shipped.check("segments/", &faults, &answers, 1);
    // The probe finds out all the same that the bucket heeds conditions.
    shipped.check("probe/", &[Fault::Conflict], "PUT 409, PUT 200, PUT 412", 0);
    shipped.check("probe/", &[Fault::Lost], "PUT 200, PUT 412, PUT 412", 0);
    shipped.check("probe/", &[Fault::Slow; 2], "PUT 503, PUT 503, PUT 200, PUT 412", 0);
}

#[test]
fn a_segment_that_is_not_answered_waits_for_the_next_run() {
    let shipped = Shipped::new();
    // The next run sends what waits, and then cuts the file again.
    let error = "error: s3://fleet/prod: cannot write to it: ";
    shipped.check_again(&[Fault::Silent], error, &format!("PUT 200, {COMPARED}, {COMPARED}"));
    let error = "error: s3://fleet/prod: `NAME` is refused, but there is no such object\n";
    let five = ["PUT 409, HEAD 404"; 5].join(", ");
    shipped.check_again(&[Fault::Conflict; 5], error, &format!("{five}, PUT 200, {COMPARED}"));
}

#[test]
fn a_segment_whose_name_is_taken_is_kept() {
    let shipped = Shipped::new();
    shipped.check_taken(|_| b"other".to_vec(), "PUT 412, HEAD 200");
    shipped.check_taken(|bytes| bytes.iter().map(|byte| !byte).collect(), COMPARED);
}

/// A service tries again by itself.
#[test]
fn a_service_sends_a_segment_again_that_is_not_answered() {
    let (fleet, bucket) = (Fleet::new(), FakeS3::start(1, 0));
    bucket.script("segments/", &[Fault::Silent]);
    drop(Spool::open(fleet.host.path("spool")).unwrap());
    let (name, bytes) = segment_of(1, 1024);
    let path = fleet.host.path("spool/ready/p05").join(&name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, &bytes).unwrap();
    let mut shipper = command(&fleet, 1, &["--to=s3://fleet/prod", "--listen=tcp:127.0.0.1:0"]);
    credentials(&mut shipper, &bucket.endpoint);
    let daemon = Daemon::start(shipper.env("AWS_TIMEOUT", "4s"));
    daemon.log.wait_for("sending again");
    let log = daemon.stop();
    let warned: Vec<_> = log.iter().filter(|line| line.contains("segments stay in the spool")).collect();
    let is_told = warned.len() == 1 && warned[0].contains("warning: s3://fleet/prod: cannot write to it: ");
    assert!(is_told, "{log:?}");
    let name = format!("prod/{name}");
    assert_eq!(bucket.scripted(), [(name.clone(), format!("PUT 200, {COMPARED}"))]);
    assert!(bucket.objects() == [(name, bytes)], "the segment, once");
}
