//! `init` and `commit` with a bucket that answers wrongly, as each test says.

use std::collections::BTreeSet;
use std::process::Command;

use telemetry_lake::lake::Format;
use telemetry_testing::fake_s3::{FakeS3, Fault};
use telemetry_testing::made::Plan;

use crate::commit::{FORMS, streams};
use crate::lakes::{EventKey, Form, Said, TestLake, events_of, said};
use crate::moto::command;

const DELTA: Form = Form { format: Format::Delta, buckets: None };
const PLAIN: Form = Form { format: Format::Parquet, buckets: None };

/// A lake in a bucket, and what it should have.
struct Bucket {
    fake: FakeS3,
    form: Form,
    segments: BTreeSet<String>,
    events: BTreeSet<EventKey>,
}

impl Bucket {
    /// Makes a lake without segments.
    fn new(form: Form) -> Bucket {
        let fake = FakeS3::start(1, 0);
        let bucket = Bucket { fake, form, segments: BTreeSet::new(), events: BTreeSet::new() };
        bucket.succeed(&form.init());
        bucket
    }

    fn command(&self, args: &[impl AsRef<str>]) -> Command {
        command(&self.fake.endpoint, args)
    }

    fn run(&self, args: &[impl AsRef<str>]) -> Said {
        said(&self.command(args).output().unwrap())
    }

    /// Runs a command that says nothing of faults.
    fn succeed(&self, args: &[impl AsRef<str>]) {
        let said = self.run(args);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    }

    /// Puts the segments of a host into it.
    fn ship(&mut self, host: &str, stream: &[u8]) {
        let source = TestLake::new(self.form);
        for segment in source.ship(host, stream) {
            let name = segment.strip_prefix(source.path()).unwrap().display().to_string();
            self.fake.put_if_absent(&format!("prod/{name}"), &std::fs::read(segment).unwrap());
            self.segments.insert(name);
        }
        self.events.extend(events_of(host, stream));
    }

    /// Checks that each event is a row once, and that each segment is committed once.
    fn check(&self) {
        let lake = TestLake::new(self.form);
        lake.fill(self.fake.objects(), "prod/");
        lake.check(&self.events);
        let mut names: Vec<_> = lake.rows("segment").iter().map(|row| row["name"].clone()).collect();
        names.sort();
        assert!(names.iter().eq(&self.segments), "{names:?}");
    }
}

/// Streams of three hosts.
fn hosts() -> Vec<(&'static str, Vec<u8>)> {
    streams(&Plan { events: 300, block_size: 1024, ..Plan::default() })
}

/// Parts of the names of objects that a commit writes, in this order. Rows are in a table when its
/// log has them, or when the file is there.
fn parts(form: Form) -> [&'static str; 4] {
    let rows = if form == DELTA { "/_delta_log/" } else { ".parquet" };
    ["lease.json", "batches/", rows, "done/"]
}

/// Commits two batches. In each, the first object of each part has faults, and all is well.
/// `of_lease` are the answers if the lease is there: it is replaced then.
fn check(form: Form, faults: &[Fault], answers: &str, of_lease: &str) {
    let mut bucket = Bucket::new(form);
    for (number, (host, stream)) in hosts().iter().take(2).enumerate() {
        bucket.ship(host, stream);
        for part in parts(form) {
            bucket.fake.script(part, faults);
        }
        bucket.succeed(&["commit"]);
        for ((name, found), part) in bucket.fake.scripted().into_iter().zip(parts(form)) {
            let wanted = if number > 0 && part == "lease.json" { of_lease } else { answers };
            assert!(name.contains(part) && found.starts_with(wanted), "{name}: {found}");
        }
        bucket.check();
    }
}

/// Commits until all is well. The first object of each part has faults, with which a commit ends
/// with `error`. Its `NAME` is that of the object.
fn check_again(form: Form, parts: &[&'static str], faults: &[Fault], error: &str, answers: &str) {
    let mut bucket = Bucket::new(form);
    let (host, stream) = &hosts()[0];
    bucket.ship(host, stream);
    let mut names = Vec::new();
    for &part in parts {
        bucket.fake.script(part, faults);
        // The lease of a run that ended so is over at once.
        let mut command = bucket.command(&["commit", "--lease=0"]);
        if faults.iter().any(|fault| matches!(fault, Fault::Silent)) {
            command.env("AWS_TIMEOUT", "4s");
        }
        let said = said(&command.output().unwrap());
        let name = said.stderr.split('`').nth(1).unwrap_or_default().to_owned();
        let is_told = said.stderr.starts_with(&error.replace("NAME", &name)) && name.contains(part);
        assert!(said.code == Some(2) && is_told, "{part}: {said:?}");
        names.push(format!("prod/{name}"));
    }
    bucket.succeed(&["commit"]);
    bucket.check();
    let scripted = bucket.fake.scripted();
    assert!(scripted.iter().map(|(name, _)| name).eq(&names), "{scripted:?}");
    assert!(scripted.iter().all(|(_, found)| found.starts_with(answers)), "{scripted:?}");
}

#[test]
fn a_lake_whose_bucket_answers_wrongly_has_each_event_once() {
    let slow = "PUT 503, PUT 503, PUT 503, PUT 200";
    let cases: [(&[Fault], &str, &str); 5] = [
        // Another write was in progress, and has not succeeded. Clients try again if they replace.
        (&[Fault::Conflict], "PUT 409, HEAD 404, PUT 200", "PUT 409, PUT 200"),
        // It has succeeded.
        (&[Fault::Repeated], "PUT 409, HEAD 200, GET 200", "PUT 409, PUT 412, GET 200"),
        (&[Fault::Slow; 3], slow, slow),
        (&[Fault::Lost], "PUT 200, PUT 412, HEAD 200, GET 200", "PUT 200, PUT 412, GET 200"),
        (&[Fault::Late], "PUT 200", "PUT 200"),
    ];
    // Clients wait before they try again.
    std::thread::scope(|scope| {
        for (faults, answers, of_lease) in cases {
            for form in [DELTA, PLAIN] {
                scope.spawn(move || check(form, faults, answers, of_lease));
            }
        }
    });
}

/// The next commit finds what was written although nothing was answered.
#[test]
fn a_commit_that_is_not_answered_goes_on() {
    let error = "error: s3://fleet/prod: cannot write `NAME`: ";
    check_again(DELTA, &parts(DELTA), &[Fault::Silent], error, "PUT 200, GET 200");
    let answers = "PUT 200, PUT 412, HEAD 200, GET 200";
    check_again(PLAIN, &[".parquet"], &[Fault::Silent], error, answers);
    let error = "error: s3://fleet/prod: `NAME` is refused, but there is no such object\n";
    let answers = ["PUT 409, HEAD 404"; 5].join(", ");
    for form in [DELTA, PLAIN] {
        check_again(form, &parts(form), &[Fault::Conflict; 5], error, &answers);
    }
}

/// Another writer is first, with other bytes.
#[test]
fn what_others_wrote_stays() {
    let mut bucket = Bucket::new(DELTA);
    let lease: fn(&[u8]) -> Vec<u8> = |_| br#"{"owner":"other","until":1}"#.to_vec();
    for ((host, stream), answers) in
        hosts().iter().zip(["PUT 412, HEAD 200, GET 200", "PUT 412, GET 200", "PUT 412, GET 200"])
    {
        bucket.ship(host, stream);
        bucket.fake.script("lease.json", &[Fault::Taken(lease)]);
        let said = bucket.run(&["commit"]);
        let error = "error: another process has just begun to commit to this lake\n";
        assert_eq!((said.code, said.stderr.as_str()), (Some(2), error));
        assert_eq!(bucket.fake.scripted(), [("prod/lease.json".to_owned(), answers.to_owned())]);
        bucket.succeed(&["commit"]);
        bucket.check();
    }
    // A version of another program, such as Spark.
    let other: fn(&[u8]) -> Vec<u8> = |_| b"{\"commitInfo\":{\"operation\":\"OPTIMIZE\"}}\n".to_vec();
    let (_, stream) = &hosts()[0];
    bucket.ship("h4", stream);
    bucket.fake.script("/_delta_log/", &[Fault::Taken(other)]);
    bucket.succeed(&["commit"]);
    let scripted = bucket.fake.scripted();
    let [(name, answers)] = &scripted[..] else { panic!("{scripted:?}") };
    assert!(answers.starts_with("PUT 412, HEAD 200, GET 200"), "{name}: {answers}");
    assert!(bucket.fake.objects().contains(&(name.clone(), other(&[]))), "{name}");
    bucket.check();
}

#[test]
fn init_finds_out_whether_a_bucket_heeds_conditions() {
    for (part, fault, answers) in [
        ("probe/", Fault::Conflict, "PUT 409, PUT 200, PUT 412"),
        ("probe/", Fault::Lost, "PUT 200, PUT 412, PUT 412"),
        ("lake.json", Fault::Conflict, "PUT 409, HEAD 404, PUT 200"),
        ("lake.json", Fault::Lost, "PUT 200, PUT 412, HEAD 200, GET 200"),
    ] {
        let fake = FakeS3::start(1, 0);
        fake.script(part, &[fault]);
        let said = said(&command(&fake.endpoint, &DELTA.init()).output().unwrap());
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{part}: {answers}");
        let found: Vec<_> = fake.scripted().into_iter().map(|(_, answers)| answers).collect();
        assert_eq!(found, [answers], "{part}");
        let names: Vec<_> = fake.objects().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["prod/lake.json"]);
    }
    for form in FORMS {
        let fake = FakeS3::start(1, 0);
        fake.ignore_conditions();
        let run = |args: &[String]| {
            let said = said(&command(&fake.endpoint, args).output().unwrap());
            assert!(fake.objects().is_empty(), "{:?}", fake.objects());
            (said.code, said.stdout, said.stderr)
        };
        let error = "error: s3://fleet/prod: the store overwrites objects although it is told not to, so \
                     segments could be lost; expected a store with conditional writes (If-None-Match)\n";
        assert_eq!(run(&form.init()), (Some(2), String::new(), error.to_owned()));
        // There is nothing to work with.
        let error = "error: s3://fleet/prod: there is no lake; help: make one by `telemetry-lake init \
                     s3://fleet/prod`\n";
        assert_eq!(run(&["commit".to_owned()]), (Some(2), String::new(), error.to_owned()));
    }
}
