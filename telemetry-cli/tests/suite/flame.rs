//! `flame`.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use telemetry_testing::made::{Plan, make, registry};
use telemetry_testing::reference;

use crate::run::Folder;
use crate::spans;
use crate::spans::sampled;
use crate::streams::{gc, labeled, two_registries};

fn folder() -> Folder {
    let made = make(&registry(), &Plan { sessions: 2, events: 400, ..Plan::default() });
    Folder::new()
        .with("gc.tel", gc())
        .with("labels.tel", labeled())
        .with("two.tel", two_registries())
        .with("spans.tel", spans::stream())
        .with("tangled.tel", spans::tangled())
        .with("made.tel", made.stream)
        .with("sampled.tel", sampled())
}

fn json(folder: &Folder, args: &str) -> Json {
    let run = folder.run(args);
    serde_json::from_slice(&run.stdout).unwrap_or_else(|why| panic!("{args}: {why}: {}", run.stderr))
}

/// Returns the weights of folded text.
pub(crate) fn folded(folder: &Folder, args: &str) -> BTreeMap<String, u64> {
    let run = folder.run(&format!("flame {args}"));
    assert_eq!(run.code, Some(0), "{args}: {}", run.stderr);
    let lines = String::from_utf8(run.stdout).unwrap();
    let split = |line: &str| {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        (stack.to_string(), weight.parse().unwrap())
    };
    lines.lines().map(split).collect()
}

/// `stats --samples` has the weights of the flame graph, by span.
#[test]
fn samples_by_span_are_those_of_the_graph() {
    let folder = folder();
    let graph = folded(&folder, "--samples sampled.tel");
    let found = json(&folder, "stats --samples --json sampled.tel");
    crate::json::check_sampled(&found);
    assert_eq!(found["periods"], graph.values().sum::<u64>());
    let names: std::collections::BTreeSet<&str> = graph.keys().flat_map(|stack| stack.split(';')).collect();
    assert_eq!(found["spans"].as_array().unwrap().len(), names.len());
    for span in found["spans"].as_array().unwrap() {
        let name = span["span"].as_str().unwrap();
        let weight = |is_in: &dyn Fn(&str) -> bool| -> u64 {
            graph.iter().filter(|(stack, _)| is_in(stack)).map(|(_, weight)| weight).sum()
        };
        assert_eq!(span["periods"], weight(&|stack| stack.split(';').any(|of| of == name)), "{name}");
        assert_eq!(
            span["self_periods"],
            weight(&|stack| stack.split(';').next_back() == Some(name)),
            "{name}"
        );
    }
}

#[test]
fn folded_text() {
    folder().check(
        "flame",
        &[
            "flame gc.tel",
            "flame spans.tel",
            "flame spans.tel --strict",
            "flame --per-thread spans.tel",
            "flame --where duration>300 spans.tel",
            "flame --by why,thread gc.tel",
            "flame --by level --weight size --kind Pool gc.tel",
            "flame --by label labels.tel",
            "flame --stacks gc.tel",
            "flame --samples sampled.tel",
            "flame --samples --per-thread sampled.tel",
            "flame --samples gc.tel",
            "flame --samples --stacks sampled.tel",
            "stats --samples sampled.tel",
            "stats --samples gc.tel",
            "stats --samples --unused sampled.tel",
            "flame --weight size gc.tel",
            "flame --by sise gc.tel",
            "flame --by why --weight sise gc.tel",
            "flame --by why --weight why gc.tel",
            "flame --stacks --weight sise gc.tel",
            "flame --by why --stacks gc.tel",
            "flame --where duraton>1 spans.tel",
            "flame --to speedscope --by kind gc.tel",
        ],
    );
}

/// The weights are those of `spans` and `stats`.
#[test]
fn weights_are_those_of_other_commands() {
    let folder = folder();
    for file in ["gc.tel", "spans.tel", "tangled.tel", "made.tel"] {
        let spans = json(&folder, &format!("spans --json {file}"));
        let mut expected = BTreeMap::<String, i64>::new();
        for span in spans["spans"].as_array().unwrap() {
            let sum = expected.entry(span["span"].as_str().unwrap().to_string()).or_default();
            *sum += span["total_self_ns"].as_i64().unwrap();
        }
        expected.retain(|_, sum| *sum > 0);
        for options in ["", "--per-thread "] {
            let mut found = BTreeMap::<String, i64>::new();
            for (stack, weight) in folded(&folder, &format!("{options}{file}")) {
                *found.entry(stack.rsplit(';').next().unwrap().to_string()).or_default() += weight as i64;
            }
            assert_eq!(found, expected, "{options}{file}");
        }
    }
    for (file, by, sum) in [
        ("gc.tel", "why", None),
        ("gc.tel", "level", Some("size")),
        ("two.tel", "registry,event", None),
        ("spans.tel", "thread,event", None),
        ("made.tel", "session,kind", None),
    ] {
        let (weight, sums) = match sum {
            Some(param) => (format!(" --weight {param}"), format!(" --sum {param}")),
            None => (String::new(), String::new()),
        };
        let groups = json(&folder, &format!("stats --json --by {by}{sums} {file}"));
        let mut expected: Vec<u64> = Vec::new();
        for group in groups["groups"].as_array().unwrap() {
            let number = if sum.is_some() { &group["sums"][0]["sum"] } else { &group["events"] };
            expected.extend(number.as_u64().filter(|number| *number > 0));
        }
        let mut found: Vec<u64> =
            folded(&folder, &format!("--by {by}{weight} {file}")).into_values().collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert!(!found.is_empty(), "{file}: {by}");
        assert_eq!(found, expected, "{file}: {by}");
    }
}

/// GHC's stacks of cost centers and Mono's backtraces: the weight is what `print --json` has.
#[test]
fn stacks_of_other_systems() {
    for (system, name, event, weight) in [
        ("ghc", "small-time-prof.eventlog", "ProfSampleCostCentre", None),
        ("mono", "v17-small-alloc.mlpd", "VtableAllocTraced", Some("size")),
    ] {
        let Some(bytes) = reference::folder(system).and_then(|folder| reference::read(&folder.join(name)))
        else {
            continue;
        };
        let folder = Folder::new().with(name, bytes);
        let lines =
            String::from_utf8(folder.run(&format!("print --json --event {event} {name}")).stdout).unwrap();
        let events: Vec<Json> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let one = |event: &Json| weight.map_or(1, |weight| event["params"][weight].as_u64().unwrap());
        let expected: u64 = events.iter().map(one).sum();
        let option = weight.map_or_else(String::new, |weight| format!("--weight {weight} "));
        let found = folded(&folder, &format!("--stacks {option}--event {event} {name}"));
        assert!(found.len() > 2 && expected > 10, "{name}");
        assert_eq!(found.values().sum::<u64>(), expected, "{name}");
        assert!(found.keys().all(|stack| stack.split(';').next() == Some(event)), "{name}");
    }
}

/// What becomes of many groups: the rest is in `(other)`, and the command says so.
#[test]
fn rare_stacks_are_told() {
    use telemetry_decode::Value;
    use telemetry_decode::writer::Lane;
    let registry = telemetry_schema::parse(spans::REGISTRY).unwrap();
    let (mut writer, lane) = crate::streams::begun(7, 0, "spans", &registry);
    let lane = Lane { thread: 1, ..lane };
    for number in 0..150_000_u64 {
        let job = if number % 2 == 0 { number } else { 1 };
        writer.event(lane, 3, number, &[Value::Pointer(job)]).unwrap();
    }
    writer.end(7, 200_000).unwrap();
    let folder = Folder::new().with("many.tel", writer.finish().unwrap());
    let run = folder.run("flame --by job --threads 1 many.tel");
    let says = "warning: 9,465 rare stacks, with 6.3 % of the weight, are in the frame `(other)`";
    assert!(run.stderr.contains(says), "{}", run.stderr);
    let all = folded(&folder, "--by job --threads 1 many.tel");
    assert_eq!((all["(other)"], all["job:0x1"]), (9_465, 75_000));
    assert_eq!(all.values().sum::<u64>(), 150_000);
}
