//! Conditions on spans, in all commands that have them.

use serde_json::Value as Json;

use crate::run::{Folder, run};
use crate::spans::stream;

/// Returns the lines of `spans --csv` for a condition.
fn selected(folder: &Folder, condition: &str) -> Vec<String> {
    let run = run(folder.command("spans --csv spans.tel --where").arg(condition), &[]);
    assert_eq!(run.code, Some(0), "{condition}: {}", run.stderr);
    String::from_utf8(run.stdout).unwrap().lines().skip(1).map(str::to_string).collect()
}

/// A condition selects whole spans: those that the columns of all spans say.
#[test]
fn conditions_select_spans() {
    let folder = Folder::new().with("spans.tel", stream());
    let all = selected(&folder, "duration >= 0 or not duration >= 0");
    let head = String::from_utf8(folder.run("spans --csv spans.tel").stdout).unwrap();
    let head: Vec<_> = head.lines().next().unwrap().split(',').map(str::to_string).collect();
    let cell = |line: &str, column: &str| -> String {
        let place =
            |name: &str| head.iter().position(|known| known == name).unwrap_or_else(|| panic!("{name}"));
        // Keys may have commas.
        let cell = match place(column) > place("key") {
            true => line.rsplit(',').nth(head.len() - 1 - place(column)),
            false => line.split(',').nth(place(column)),
        };
        cell.unwrap().to_string()
    };
    let number = |line: &str, column: &str| cell(line, column).parse::<i64>().unwrap_or(i64::MIN);
    let is = |line: &str, name: &str| cell(line, "span") == name;
    type Wants<'w> = &'w dyn Fn(&str) -> bool;
    let table: &[(&str, Wants<'_>)] = &[
        ("duration > 20", &|line| number(line, "duration_ns") > 20),
        ("not duration > 20ns", &|line| (0..=20).contains(&number(line, "duration_ns"))),
        ("self < 10", &|line| (0..10).contains(&number(line, "self_ns"))),
        ("span == phase", &|line| is(line, "Phase")),
        ("span != Phase and duration >= 1", &|line| !is(line, "Phase") && number(line, "duration_ns") >= 1),
        ("span in (Job, Phase)", &|line| is(line, "Job") || is(line, "Phase")),
        ("kind == Job", &|line| is(line, "Job")),
        ("thread == 1", &|line| number(line, "thread") == 1),
        ("time >= 10", &|line| number(line, "begin_ns") >= 10),
        ("depth == 1", &|line| is(line, "Phase")),
        ("depth > 1", &|_| false),
        ("queue == Fast and not who == 'you'", &|line| number(line, "begin_ns") == 2000),
    ];
    assert!(all.len() > 5, "{all:?}");
    for (condition, wants) in table {
        let expected: Vec<_> = all.iter().filter(|line| wants(line)).cloned().collect();
        assert_eq!(selected(&folder, condition), expected, "{condition}");
    }
}

#[test]
fn conditions_that_fit_no_span() {
    let folder = Folder::new().with("spans.tel", stream());
    for (condition, message) in [
        ("span == Phaze", "no span `Phaze`"),
        ("duration > 'x'", "expected a time"),
        ("dept > 1", "no parameter `dept`"),
        ("duraton > 1", "no parameter `duraton`"),
        ("`duration` > 1", "no parameter `duration`"),
        ("self contains 4", "`self` is a number"),
    ] {
        let run = run(folder.command("spans spans.tel --where").arg(condition), &[]);
        assert_eq!(
            (run.code, run.stderr.lines().next()),
            (Some(2), Some(&*format!("error: in --where: {message}")))
        );
    }
}

/// All commands that show spans select the same ones.
#[test]
fn every_command_selects_the_same_spans() {
    let folder = Folder::new().with("spans.tel", stream());
    let json = |args: &str, condition: &str| -> Json {
        let run = run(folder.command(args).arg("--where").arg(condition), &[]);
        serde_json::from_slice(&run.stdout).unwrap_or_else(|why| panic!("{args}: {why}: {}", run.stderr))
    };
    let mut compared = 0;
    for condition in ["span == Phase and duration > 20", "duration > 100ns", "self < 10", "span != Job"] {
        let spans = json("spans --json spans.tel", condition);
        let valid = json("validate --json spans.tel", condition);
        assert_eq!(
            (&valid["spans"], &valid["unmatched"]),
            (&spans["spans"], &spans["unmatched"]),
            "{condition}"
        );
        let difference = json("diff --json spans.tel spans.tel", condition);
        for span in spans["spans"].as_array().unwrap() {
            let count = span["duration_ns"]["count"].as_u64().unwrap_or(0);
            let all = difference["spans"].as_array().unwrap();
            let found = all.iter().find(|one| one["span"] == span["span"]);
            let found = found.map_or(0, |found| found["count"]["a"].as_u64().unwrap());
            assert_eq!(found, count, "{condition}: {span}");
            compared += count;
        }
        // All events are there, since the condition is not one on events.
        assert_eq!(difference["runs"][0]["events"], spans["completeness"]["events"], "{condition}");
        let flame = run(folder.command("flame spans.tel --where").arg(condition), &[]).stdout;
        let flame = String::from_utf8(flame).unwrap();
        let weights = flame.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<i64>().unwrap());
        let own = spans["spans"].as_array().unwrap().iter().filter_map(|span| span["total_self_ns"].as_i64());
        assert_eq!(weights.sum::<i64>(), own.sum::<i64>(), "{condition}");
    }
    assert!(compared > 5, "{compared}");
}

/// A condition on spans checks pairs, and none of them is torn.
#[test]
fn validate_checks_the_pairs_of_a_condition() {
    let folder = Folder::new().with("spans.tel", stream());
    for (condition, code, says) in [
        ("span == Phase and duration >= 0ns", 0, "complete: 15 events;"),
        ("span == Phase", 1, "error: 1 begin without end\nerror: 1 end without begin\ncomplete: 15 events;"),
        ("span == Job", 1, "error: 1 begin without end\ncomplete: 15 events;"),
        ("span == Phase and depth >= 0", 1, "error: 1 begin without end\ncomplete: 15 events;"),
    ] {
        let run = run(folder.command("validate spans.tel --where").arg(condition), &[]);
        assert_eq!(run.code, Some(code), "{condition}: {}", run.stderr);
        assert!(run.stderr.starts_with(says), "{condition}: {}", run.stderr);
    }
}

/// A command that reads events alone says so.
#[test]
fn fields_of_spans_are_not_those_of_events() {
    let folder = Folder::new().with("spans.tel", stream());
    for args in ["print spans.tel", "stats spans.tel", "flame --by event spans.tel", "csv spans.tel"] {
        let run = run(folder.command(args).arg("--where").arg("duration > 5ms"), &[]);
        assert_eq!((run.code, run.stdout.len()), (Some(2), 0), "{args}");
        let says = "error: in --where: `duration` is a field of spans, but this condition is one on events";
        assert!(run.stderr.starts_with(says), "{args}: {}", run.stderr);
    }
}
