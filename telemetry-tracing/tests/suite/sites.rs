//! Many call sites, as a large program has them.

use tracing::{Level, Metadata};
use tracing_core::callsite::{Callsite, Identifier};
use tracing_core::dispatcher;
use tracing_core::field::{FieldSet, Value};
use tracing_core::metadata::Kind;
use tracing_core::{Event, Interest};

use crate::recorded::record;

/// More than a thread finds without a lock.
const SITES: usize = 5000;

/// Stands for all call sites: the layer knows them by their metadata.
struct Site;

static SITE: Site = Site;

impl Callsite for Site {
    fn set_interest(&self, _: Interest) {}

    fn metadata(&self) -> &Metadata<'_> {
        unreachable!("it is not registered")
    }
}

/// Returns the metadata of a new call site, with a line and a field name of its own.
fn site(number: usize) -> &'static Metadata<'static> {
    let names: &[&str] = Box::leak(Box::new([&*format!("field {number}").leak()]));
    let fields = FieldSet::new(names, Identifier(&SITE));
    let file = Some("many.rs");
    Box::leak(Box::new(Metadata::new(
        "event",
        "many",
        Level::INFO,
        file,
        Some(number as u32),
        None,
        fields,
        Kind::EVENT,
    )))
}

#[test]
fn thousands_of_call_sites() {
    let sites: Vec<_> = (0..SITES).map(site).collect();
    let emit = || {
        for (number, metadata) in sites.iter().enumerate() {
            let field = metadata.fields().iter().next().expect("a field");
            let values = [(&field, Some(&number as &dyn Value))];
            dispatcher::get_default(|dispatch| assert!(dispatch.enabled(metadata)));
            Event::dispatch(metadata, &metadata.fields().value_set(&values));
        }
    };
    // Twice: known call sites are found again.
    let lines = record("tracing:all", || (0..2).for_each(|_| emit()));
    let values: Vec<_> = lines.iter().filter(|line| line.starts_with("FieldU64")).collect();
    assert_eq!((lines.len(), values.len()), (4 * SITES, 2 * SITES));
    for (at, line) in values.iter().enumerate() {
        let number = at % SITES;
        assert_eq!(**line, format!("FieldU64 owner:{} name:field {number} value:{number}", at + 1));
    }
}
