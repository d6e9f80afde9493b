//! `diff`.

use serde_json::Value as Json;
use telemetry_decode::Value;

use crate::run::{Folder, run};
use crate::spans::{PHASE_BEGIN, PHASE_END, REGISTRY};
use crate::streams::{begun, gc};

/// A number below 1000 that looks random.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % 1000
}

/// Makes a run of two seconds: phases with random durations in between two limits, and random times
/// between them. `percent` stretches the durations.
pub(crate) fn phases(seed: u64, percent: u64) -> Vec<u8> {
    let registry = telemetry_schema::parse(REGISTRY).unwrap();
    let (mut writer, lane) = begun(seed, 1_795_240_051_000_000_000, "spans", &registry);
    let (mut state, mut ns) = (seed, 0);
    while ns < 2_000_000_000 {
        let depth = random(&mut state) % 3;
        writer.event(lane, PHASE_BEGIN, ns, &[Value::Unsigned(depth)]).unwrap();
        ns += (100_000 + 300 * random(&mut state)) * percent / 100;
        writer.event(lane, PHASE_END, ns, &[]).unwrap();
        ns += 500_000 + 2000 * random(&mut state);
    }
    writer.end(seed, ns).unwrap();
    writer.finish().unwrap()
}

pub(crate) fn folder() -> Folder {
    Folder::new()
        .with("before.tel", phases(1, 100))
        .with("again.tel", phases(2, 100))
        .with("after.tel", phases(3, 130))
        .with("gc.tel", gc())
        .with("empty.tel", "")
}

fn json(folder: &Folder, args: &str) -> Json {
    let run = folder.run(args);
    serde_json::from_slice(&run.stdout).unwrap_or_else(|why| panic!("{args}: {why}: {}", run.stderr))
}

fn check(folder: &Folder, limits: &[&str], files: &str, code: i32, says: &str) {
    let mut command = folder.command("diff");
    limits.iter().for_each(|limit| _ = command.args(["--fail-on", limit]));
    let run = run(command.args(files.split(' ')), &std::fs::read(folder.path("before.tel")).unwrap());
    assert_eq!(run.code, Some(code), "{limits:?} {files}: {}", run.stderr);
    assert!(run.stderr.contains(says), "{limits:?} {files}: {}", run.stderr);
}

#[test]
fn differences() {
    folder().check(
        "diff",
        &[
            "diff before.tel after.tel",
            "diff before.tel again.tel",
            "diff --by level --sum level before.tel after.tel",
            "diff gc.tel before.tel",
            "diff --event Phase before.tel again.tel",
            "diff before.tel",
            "diff before.tel after.tel gc.tel",
            "diff - -",
            "diff before.tel missing.tel",
            "diff before.tel empty.tel",
            "diff --by sise before.tel after.tel",
        ],
    );
}

/// The figures are those of `stats` and `spans`.
#[test]
fn figures_are_those_of_other_commands() {
    let folder = folder();
    let difference = json(&folder, "diff --json before.tel after.tel --by depth --sum depth");
    let of = |list: &str, key: &str, name: &Json| -> Json {
        let found = difference[list].as_array().unwrap().iter().find(|one| one[key] == *name);
        found.unwrap_or_else(|| panic!("{list} has no {name}")).clone()
    };
    for (letter, file) in [("a", "before.tel"), ("b", "after.tel")] {
        for event in json(&folder, &format!("stats --json {file}"))["events"].as_array().unwrap() {
            let found = of("events", "event", &event["event"]);
            assert_eq!(found["count"][letter], event["count"], "{event}");
            assert_eq!(found["bytes"][letter], event["bytes"], "{event}");
            let rates =
                [&found["per_second"][letter], &event["per_second"]].map(|rate| rate.as_f64().unwrap());
            assert!((rates[0] / rates[1] - 1.0).abs() < 1e-9, "{event}: {rates:?}");
        }
        for span in json(&folder, &format!("spans --json {file}"))["spans"].as_array().unwrap() {
            let found = of("spans", "span", &span["span"]);
            for (own, figure) in [
                ("count", "count"),
                ("p50_ns", "p50"),
                ("p90_ns", "p90"),
                ("p99_ns", "p99"),
                ("max_ns", "max"),
            ] {
                assert_eq!(found[own][letter], span["duration_ns"][figure], "{span}: {figure}");
            }
            assert_eq!(found["total_ns"][letter], span["total_ns"], "{span}");
        }
        let groups = json(&folder, &format!("stats --json --by depth --sum depth {file}"));
        for group in groups["groups"].as_array().unwrap() {
            let values = Json::Array(vec![group["values"]["depth"].to_string().into()]);
            let found = of("groups", "values", &values);
            assert_eq!(found["events"][letter], group["events"]);
            assert_eq!(found["sums"][0][letter], group["sums"][0]["sum"]);
        }
    }
}

/// Stars are where runs differ, and not where they have the same distribution.
#[test]
fn stars_are_where_runs_differ() {
    let folder = folder();
    let stars = |args: &str| {
        let difference = json(&folder, &format!("diff --json {args}"));
        let of = |list: &str| {
            let all = difference[list].as_array().unwrap().clone();
            all.iter().map(|one| one["significant"].as_bool().unwrap()).collect::<Vec<_>>()
        };
        (of("events"), of("spans"))
    };
    assert_eq!(stars("before.tel again.tel"), (vec![false, false], vec![false]));
    let (_, spans) = stars("before.tel after.tel");
    assert_eq!(spans, [true]);
    // Of runs with the same distribution, one in 100 may have a star by chance.
    let mut wrong = 0;
    for seed in 10..40 {
        let folder = Folder::new().with("a", phases(2 * seed, 100)).with("b", phases(2 * seed + 1, 100));
        let difference = json(&folder, "diff --json a b");
        let all = [&difference["events"], &difference["spans"]].map(|list| list.as_array().unwrap().clone());
        wrong += u32::from(all.concat().iter().any(|one| one["significant"] == true));
    }
    assert!(wrong <= 2, "{wrong} of 30");
}

/// The exit code is 3 for a limit alone, and 1 as soon as there is a problem.
#[test]
fn limits_and_exit_codes() {
    let folder = folder();
    let whole = std::fs::read(folder.path("after.tel")).unwrap();
    std::fs::write(folder.path("cut.tel"), &whole[..whole.len() / 2]).unwrap();
    for (limits, files, code, says) in [
        (&["p99(Phase) > +10%"][..], "before.tel after.tel", 3, "error: p99(Phase) > +10%: "),
        (&["p99(Phase) > +10%"], "before.tel again.tel", 0, "complete: "),
        (
            &["p50(spans:phase) > +20us", "max(Phase) > 1h"],
            "before.tel after.tel",
            3,
            "p50(spans:phase) > +20us: ",
        ),
        (&["rate(PhaseBegin) < -50%"], "before.tel after.tel", 0, "complete: "),
        (&["count(JobBegin) > 0"], "before.tel after.tel", 0, "complete: "),
        (&["count(PhaseBegin) > 0"], "before.tel after.tel", 3, "error: count(PhaseBegin) > 0: "),
        (&["p99(Phase) > +10%"], "- after.tel", 3, "error: p99(Phase) > +10%: "),
        (&["p99(Phase) > +10%"], "before.tel cut.tel", 1, "incomplete: "),
        (&["p99(Phse) > +10%"], "before.tel after.tel", 1, "did you mean `Phase`?"),
        (&["p99(PhaseBegin) > +10%"], "before.tel after.tel", 1, "no span `PhaseBegin` in the input"),
        (&["p99(Job) > +10%"], "before.tel after.tel", 1, "cannot check `p99(Job) > +10%`: the first run"),
        (&["p99(Phase) > 10%"], "before.tel after.tel", 2, "a change without a sign"),
        (
            &[],
            "before.tel s3://bucket/prefix",
            2,
            "`s3://bucket/prefix` is the address of a lake, expected a",
        ),
        (
            &[],
            "file:///no/such/store after.tel",
            2,
            "`telemetry-lake stream ADDRESS` writes a stream of a lake",
        ),
        (&["p99(Phase) >"], "before.tel after.tel", 2, "the limit ends here, expected a number"),
    ] {
        check(&folder, limits, files, code, says);
    }
}
