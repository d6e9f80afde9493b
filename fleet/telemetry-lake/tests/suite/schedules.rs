//! Random schedules of faults: committers that are killed or run at once, a store that fails, and
//! hosts with wrong clocks.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use telemetry_lake::lake::Format;
use telemetry_testing::fake_s3::FakeS3;
use telemetry_testing::made::{Plan, Random, make, registry, turn_clock};

use crate::commit::FORMS;
use crate::kills::POINTS;
use crate::lakes::{Form, TestLake, events_of, renumber, said};

fn command(s3: &FakeS3, args: &[impl AsRef<str>]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-lake"));
    let args: Vec<_> = args.iter().map(AsRef::as_ref).collect();
    command.arg(args[0]).arg("s3://fleet/prod").args(&args[1..]);
    command.env("AWS_ENDPOINT_URL", &s3.endpoint).env("AWS_ALLOW_HTTP", "true");
    command.env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(seed: u64, form: Form) -> u32 {
    let mut random = Random(seed);
    let s3 = FakeS3::start(seed, 0);
    let init = said(&command(&s3, &form.init()).output().unwrap());
    assert_eq!((init.code, init.stderr.as_str()), (Some(0), ""));
    s3.set_faults(30);
    // The segments of three hosts, some of them twice, in any order.
    let (source, mut segments, mut wanted) = (TestLake::new(Format::Parquet), Vec::new(), BTreeSet::new());
    for (number, host) in ["h1", "h2", "h3"].into_iter().enumerate() {
        let number = number as u64;
        let plan =
            Plan { seed: seed * 10 + number, events: 500, block_size: 1024, lose: 20, ..Plan::default() };
        let mut stream = make(&registry(), &plan).stream;
        turn_clock(&mut stream, seed + number);
        renumber(&mut stream, number << 40);
        wanted.extend(events_of(host, &stream));
        segments.extend(source.ship(host, &stream));
        segments.extend(source.ship_cut(host, &stream, 20_000));
    }
    let mut failed = 0;
    while !segments.is_empty() {
        for _ in 0..6.min(segments.len()) {
            let segment = segments.swap_remove(random.below(segments.len() as u64) as usize);
            let name = segment.strip_prefix(source.path()).unwrap().to_str().unwrap();
            s3.put(&format!("prod/{name}"), std::fs::read(&segment).unwrap());
        }
        // One or two at once, each perhaps killed. Others need not wait for its lease.
        let start = |random: &mut Random| {
            let mut command = command(&s3, &["commit", "--lease=0", "--max-segments=4", "--checkpoint=1"]);
            let (point, most) = POINTS[random.below(POINTS.len() as u64) as usize];
            if random.below(2) == 0 {
                command.env("FAILPOINT", format!("{point}:{}", 1 + random.below(most)));
            }
            command.spawn().unwrap()
        };
        let children: Vec<_> = (0..=random.below(2)).map(|_| start(&mut random)).collect();
        for child in children {
            let said = said(&child.wait_with_output().unwrap());
            failed += u32::from(said.code != Some(0));
            assert!(!said.stderr.contains("panicked"), "seed {seed}: {said:?}");
        }
    }
    s3.set_faults(0);
    let last = said(&command(&s3, &["commit", "--lease=0"]).output().unwrap());
    assert_eq!((last.code, last.stderr.as_str()), (Some(0), ""), "seed {seed}");
    let lake = TestLake::new(form);
    for (key, bytes) in s3.objects() {
        let place = lake.path().join(key.strip_prefix("prod/").unwrap());
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, bytes).unwrap();
    }
    lake.check_keys();
    lake.check(&wanted);
    assert!(lake.latest("loss").iter().all(|row| row["why"] != "hole"), "seed {seed}");
    failed
}

/// `TELEMETRY_SCHEDULES` is the number of schedules, and `TELEMETRY_SEED` the first.
#[test]
fn every_schedule_gives_each_event_once() {
    let number =
        |name: &str, default| std::env::var(name).map_or(default, |text| text.parse::<u64>().unwrap());
    let (first, count) = (number("TELEMETRY_SEED", 1), number("TELEMETRY_SCHEDULES", 4));
    // Most of the time is spent waiting.
    let part = |number: u64| {
        std::thread::spawn(move || {
            let seeds = (first..first + count).filter(|seed| seed % 4 == number);
            seeds.map(|seed| run(seed, FORMS[(seed % 3) as usize])).sum::<u32>()
        })
    };
    let failed: u32 = [part(0), part(1), part(2), part(3)].map(|part| part.join().unwrap()).iter().sum();
    assert!(failed > 0, "nothing went wrong");
    println!("{count} schedules; {failed} runs were killed or ended by an error");
}
