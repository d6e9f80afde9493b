//! Comparisons of all parameters with any number, against values as readers give them.

use std::sync::Arc;

use proptest::prelude::*;
use telemetry_decode::{Event, Filter, Order, Reader, Value};
use telemetry_filter::Condition;
use telemetry_schema::Count;
use telemetry_testing::made::{Plan, make, registry};

/// Returns what is true of an event for `param OP number`.
fn holds(event: &Event<'_>, param: &str, op: &str, number: i128) -> bool {
    let order = match event.get(param) {
        Some(Value::F32(x)) => f64::from(x).partial_cmp(&(number as f64)),
        Some(Value::F64(x)) => x.partial_cmp(&(number as f64)),
        Some(value) => value.as_i128().map(|value| value.cmp(&number)),
        None => None,
    };
    let is_float = matches!(event.get(param), Some(Value::F32(_) | Value::F64(_)));
    match (order, op) {
        // A NaN differs from all numbers.
        (None, op) => is_float && op == "!=",
        (Some(order), "==") => order.is_eq(),
        (Some(order), "!=") => order.is_ne(),
        (Some(order), "<") => order.is_lt(),
        (Some(order), "<=") => order.is_le(),
        (Some(order), ">") => order.is_gt(),
        (Some(order), _) => order.is_ge(),
    }
}

proptest! {
    #[test]
    fn comparisons_are_those_of_values(
        seed in any::<u64>(),
        compress in any::<bool>(),
        by_time in any::<bool>(),
        place in any::<prop::sample::Index>(),
        op in prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]),
        number in prop_oneof![
            -3..300_i128,
            Just(i128::from(i64::MIN)),
            Just(i128::from(u64::MAX)),
            Just(1 << 63),
            any::<u64>().prop_map(i128::from),
            any::<i64>().prop_map(i128::from),
        ],
    ) {
        let registry = registry();
        let params: Vec<_> = registry
            .events
            .iter()
            .flat_map(|event| &event.params)
            .filter(|param| param.count == Count::One && !param.sort.is_run())
            .filter(|param| param.sort.name() != Some("bool"))
            .map(|param| param.name.as_str())
            .collect();
        let param = params[place.index(params.len())];
        let stream = make(&registry, &Plan { seed, compress, sessions: 2, lose: 5, ..Plan::default() }).stream;
        let order = if by_time { Order::Time } else { Order::Stream };
        let condition = Condition::parse(&format!("`{param}` {op} {number}")).unwrap();
        let reader = || Reader::from_slice(&stream).order(order);
        let mut all = reader().events().unwrap();
        let mut expected = Vec::new();
        while let Some(event) = all.next().unwrap() {
            if holds(&event, param, op, number) {
                expected.push((event.session().id, event.thread(), event.offset()));
            }
        }
        let mut some = reader().filter(Filter::default().condition(Arc::new(condition) as Arc<_>)).events().unwrap();
        let mut found = Vec::new();
        while let Some(event) = some.next().unwrap() {
            found.push((event.session().id, event.thread(), event.offset()));
        }
        prop_assert_eq!(found, expected);
        let (all, some) = (all.completeness(), some.completeness());
        prop_assert_eq!(all.lost(), some.lost());
        let accounts = |report: &telemetry_decode::Completeness| -> u64 {
            report.lanes.iter().map(|lane| lane.read + lane.filtered).sum()
        };
        prop_assert_eq!(accounts(&all), accounts(&some));
    }
}
