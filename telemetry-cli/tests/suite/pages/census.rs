//! Censuses of the document are those of `census`, of our own streams and of logs of other systems.

use std::collections::HashMap;

use serde_json::Value as Json;
use telemetry_testing::mono;

use super::Page;
use super::numbers::{exact, list_of};
use crate::census;
use crate::run::Folder;

/// The classes that a page shows of a series.
const SHOWN: usize = 20;

/// Returns each amount that `census --csv` prints, by census, time and class.
fn amounts(csv: &[u8]) -> HashMap<(String, i64, String), u64> {
    let text = String::from_utf8(csv.to_vec()).unwrap();
    let rows = text.lines().skip(1).map(|line| {
        let (head, value) = line.rsplit_once(',').unwrap();
        let mut parts = head.splitn(4, ',');
        let mut next = || parts.next().unwrap().to_string();
        let (what, _, time, class) = (next(), next(), next(), next());
        let class = class
            .strip_prefix('"')
            .and_then(|class| class.strip_suffix('"'))
            .unwrap_or(&class)
            .replace("\"\"", "\"");
        ((what, time.parse().unwrap(), class), value.parse().unwrap())
    });
    rows.collect()
}

/// Checks the censuses of a report, and that one of each `every` is there.
#[track_caller]
fn check(name: &str, stream: &[u8], series: usize, every: u64) {
    let folder = Folder::new().with("run.tel", stream);
    let printed = folder.run(&format!("census --json --limit {SHOWN} run.tel"));
    let printed: Json = serde_json::from_slice(&printed.stdout).unwrap();
    let amounts = amounts(&folder.run("census --csv run.tel").stdout);
    let page = Page::of(stream);
    let start = page.document["sessions"][0]["start"].as_i64().unwrap();
    let (found, expected) = (list_of(&page.document["censuses"]), list_of(&printed["censuses"]));
    assert_eq!((found.len(), expected.len()), (series, series), "{name}");
    for (found, expected) in found.iter().zip(expected) {
        for member in ["census", "registry", "session", "unit", "count"] {
            assert_eq!(found[member], expected[member], "{name}: {member}");
        }
        for member in ["classes", "others", "total"] {
            assert_eq!(exact(&found[member]), exact(&expected[member]), "{name}: {member}");
        }
        assert_eq!(found["every"], every, "{name}");
        let at = list_of(&found["at"]);
        assert_eq!(at.len() as u64, found["count"].as_u64().unwrap().div_ceil(every), "{name}");
        let what = found["census"].as_str().unwrap();
        for (index, at) in at.iter().enumerate() {
            let time = at.as_i64().unwrap() - start;
            let all = amounts.iter().filter(|((of, when, _), _)| (of.as_str(), *when) == (what, time));
            let mut rest: u64 = all.map(|(_, value)| value).sum();
            for (class, shown) in list_of(&found["classes"]).iter().zip(list_of(&found["amounts"])) {
                let class = class["class"].as_str().unwrap();
                let value = amounts.get(&(what.to_string(), time, class.to_string()));
                assert_eq!(shown[index], value.copied().unwrap_or(0), "{name}: {class} at {time}");
                rest -= value.unwrap_or(&0);
            }
            assert_eq!(found["others_amounts"][index], rest, "{name}: others at {time}");
        }
    }
}

#[test]
fn figures_are_those_of_census() {
    check("own", &census::sound(), 1, 1);
    check("none", &crate::streams::gc(), 0, 1);
    check("GHC", census::GHC, 1, 1);
    check("Mono, 1", &mono::one(), 1, 1);
    check("Mono, 17", &mono::seventeen(), 1, 1);
    check("many classes", &census::long(3, 200), 1, 1);
    // Room for 1,024 censuses, of which each second is dropped twice.
    check("many censuses", &census::long(2500, 3), 1, 4);
}
