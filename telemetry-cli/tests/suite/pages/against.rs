//! `report --against`: the run before, beside the recording.

use serde_json::Value as Json;

use super::Page;
use crate::diff;
use crate::run::{Folder, Run};

/// Returns a folder with two runs, and with what is no second run.
fn folder() -> Folder {
    let folder = diff::folder().with("text.txt", "no stream").with("lossy.tel", crate::streams::lossy());
    let mut damaged = std::fs::read(folder.path("before.tel")).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    folder.with("damaged.tel", damaged).with("quiet.tel", crate::spans::stream())
}

fn page(folder: &Folder, name: &str) -> Page {
    let run = Run { stdout: Vec::new(), stderr: String::new(), code: None };
    Page::read(&folder.path(name), run)
}

/// Takes the numbers of events by interval out of the page: those of all events, then of each type.
/// `diff` does not print them.
fn take_rates(found: &mut Json) -> Vec<Json> {
    let mut rates = vec![found["counts"].take()];
    let events = found["events"].as_array_mut().unwrap().iter_mut();
    rates.extend(events.map(|event| event.as_object_mut().unwrap().remove("counts").unwrap()));
    rates
}

/// Checks that the page has the figures of `diff --json`.
fn check(folder: &Folder, before: &str, after: &str, options: &str) -> Json {
    let run = folder.run(&format!("diff --json {options} {before} {after}"));
    let expected: Json =
        serde_json::from_slice(&run.stdout).unwrap_or_else(|why| panic!("{why}: {}", run.stderr));
    let made = folder.run(&format!("report --against {before} {options} {after} -o page.html"));
    assert_eq!(made.code, run.code, "{before} {after}: {}", made.stderr);
    let page = page(folder, "page.html");
    let mut found = page.document["against"].clone();
    let rates = take_rates(&mut found);
    for member in ["level", "tests", "events", "spans", "by", "groups", "dropped_groups"] {
        assert_eq!(found[member], expected[member], "{before} {after}: {member}");
    }
    let count = |list: &Json| list.as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).sum::<f64>();
    for (at, input) in [before, after].into_iter().enumerate() {
        assert_eq!(found["names"][at], input);
        let run = &expected["runs"][at];
        assert_eq!(count(&rates[0][at]), run["events"].as_f64().unwrap(), "{input}");
        let length = rates[0][at].as_array().unwrap().len() as f64 * found["width_ns"][at].as_f64().unwrap();
        assert!(length >= 1e9 * run["seconds"].as_f64().unwrap_or(0.0), "{input}: {length}");
        for (event, rates) in expected["events"].as_array().unwrap().iter().zip(&rates[1..]) {
            assert_eq!(count(&rates[at]), event["count"][["a", "b"][at]].as_f64().unwrap(), "{event}");
        }
        for (span, durations) in
            expected["spans"].as_array().unwrap().iter().zip(found["durations"].as_array().unwrap())
        {
            let number = span["count"][["a", "b"][at]].as_f64().unwrap();
            assert_eq!(count(&durations[at]["counts"]), number, "{span}");
        }
        for member in ["events", "seconds"] {
            assert_eq!(found["runs"][at][member], run[member], "{input}: {member}");
        }
        let complete = &run["completeness"]["complete"];
        assert_eq!(found["runs"][at]["completeness"]["complete"], *complete, "{input}");
    }
    found
}

#[test]
fn figures_are_those_of_diff() {
    let folder = folder();
    let found = check(&folder, "before.tel", "after.tel", "");
    assert_eq!(found["spans"][0]["significant"], true);
    let same = check(&folder, "before.tel", "before.tel", "");
    let of = |list: &str| same[list].as_array().unwrap().iter().all(|one| one["significant"] == false);
    assert!(of("events") && of("spans"), "{same}");
    check(&folder, "before.tel", "after.tel", "--by depth --sum depth");
    check(&folder, "before.tel", "after.tel", "--where depth==1 --from 0.5s");
    check(&folder, "before.tel", "after.tel", "--where duration>200us");
    check(&folder, "gc.tel", "after.tel", "");
    check(&folder, "quiet.tel", "after.tel", "");
    check(&folder, "empty.tel", "after.tel", "");
    check(&folder, "after.tel", "empty.tel", "");
    check(&folder, "damaged.tel", "after.tel", "");
}

#[test]
fn a_run_before_that_cannot_be_compared() {
    let folder = folder();
    folder.check(
        "report_against",
        &[
            "report --against before.tel after.tel -o page.html",
            "report --against damaged.tel after.tel -o damaged.html",
            "report --against empty.tel after.tel -o empty.html",
            "report --against lossy.tel after.tel -o lossy.html",
            "report --strict --against lossy.tel after.tel -o strict.html",
            "report --against text.txt after.tel -o none.html",
            "report --against missing.tel after.tel -o none.html",
            "report --against - - -o none.html",
            "report --against before.tel after.tel -o before.tel",
            "report --against before.tel --by dpth after.tel -o none.html",
            "report --by depth after.tel -o none.html",
            "report --against before.tel s3://bucket/prefix -o none.html",
            "report --against s3://bucket/prefix after.tel -o none.html",
        ],
    );
    assert!(!folder.path("none.html").exists());
    for (name, is_complete, says) in [
        ("page.html", true, "compared with before.tel: complete: 2,290 events"),
        ("damaged.html", false, "are damaged"),
        ("empty.html", false, "compared with empty.tel: `empty.tel` is empty"),
        ("lossy.html", false, "compared with lossy.tel: incomplete: "),
    ] {
        let frame = page(&folder, name).frame();
        let class = if is_complete { "class=\"complete\"" } else { "class=\"incomplete\"" };
        assert!(frame.contains(says) && frame.contains(class), "{name}: {frame}");
    }
}
