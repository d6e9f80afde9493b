//! The other run beside the recording.

use serde_json::{Map, Value as Json, json};

use super::trim::trim;
use crate::figures::distribution::Distribution;
use crate::gather::heat::bucket;

/// Another run, which the page shows beside the recording.
#[derive(Default)]
pub struct Against<'a> {
    /// The object of `telemetry diff --json`, in which the recording is the second run. The page
    /// also has these members of it: `names`, the names of both runs, and `says`, their verdicts as
    /// lines. `counts` has the number of events in equal intervals of both runs, and each element
    /// of `events` has its own. `width_ns` has the lengths of the intervals.
    pub difference: Json,
    /// The durations of both runs, for each element of the member `spans`.
    pub durations: Vec<[Option<&'a Distribution>; 2]>,
}

/// Lists whose length depends on the runs.
const LISTS: [&str; 3] = ["events", "spans", "groups"];

impl Against<'_> {
    /// Returns the object in the document, with at most this many elements in each list.
    pub(super) fn form(&self, most: usize) -> Json {
        let mut form = self.difference.clone();
        let mut left_out = Map::new();
        for name in LISTS {
            if let Some(Json::Array(list)) = form.get_mut(name) {
                left_out.insert(name.to_string(), list.len().saturating_sub(most).into());
                list.truncate(most);
            }
        }
        trim(&mut form, most);
        let durations = self.durations.iter().take(most);
        form["durations"] = durations.map(|of| Json::from(of.map(of_page).to_vec())).collect();
        form["left_out"] = Json::Object(left_out);
        form
    }
}

/// Returns durations by the buckets of the page, which are wider than those of the distribution.
fn of_page(durations: Option<&Distribution>) -> Json {
    let (mut buckets, mut counts) = (Vec::new(), Vec::new());
    for (number, count) in durations.map(Distribution::numbers).unwrap_or_default() {
        let bucket = bucket(number);
        if buckets.last() != Some(&bucket) {
            buckets.push(bucket);
            counts.push(0);
        }
        if let Some(last) = counts.last_mut() {
            *last += count;
        }
    }
    json!({ "buckets": buckets, "counts": counts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_a_maximum_and_say_what_is_left_out() {
        let mut durations = Distribution::default();
        [0, 8, 8, 9, 1000, 1001, 5_000_000_000].into_iter().for_each(|ns| durations.add_unsigned(ns));
        let difference = json!({ "spans": [1, 2, 3], "events": ["x".repeat(5000)], "groups": [] });
        let against = Against { difference, durations: vec![[Some(&durations), None]; 3] };
        let form = against.form(2);
        assert_eq!(form["left_out"], json!({ "spans": 1, "events": 0, "groups": 0 }));
        assert_eq!((form["spans"].clone(), form["durations"].as_array().unwrap().len()), (json!([1, 2]), 2));
        assert!(form["events"][0].as_str().unwrap().len() < 300);
        let [before, after] = [&form["durations"][0][0], &form["durations"][0][1]];
        assert_eq!(before["counts"], json!([1, 2, 1, 2, 1]));
        assert_eq!(after["buckets"], json!([]));
    }
}
