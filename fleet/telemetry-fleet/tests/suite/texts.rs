//! A stream with texts that must not leave the host.

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{EnumValue, Facts, RawStr, Registry, Value, names};
use telemetry_format::own;
use telemetry_testing::made::START;

/// A text of a kind that stays.
pub(crate) const SECRET: &str = "Lovelace-Quux";
/// A text of a kind that may leave the host.
pub(crate) const SHARED: &str = "Shared-Quux";
/// The string of a label.
pub(crate) const LABEL: &str = "Label-Quux";
pub(crate) fn private() -> Registry {
    telemetry_schema::parse(include_str!("../../../../tests/registries/private.toml")).unwrap()
}

pub(crate) fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

pub(crate) fn text(text: &str) -> Value<'_> {
    Value::String(RawStr::from(text))
}

/// The kind of `private` that stays on the host.
pub(crate) const PERSON: u8 = 0;

/// A stream of `private` and `shop` with known texts. `shop` comes after this many labels.
pub(crate) fn with_texts(labels: u64) -> Vec<u8> {
    let shop = telemetry_schema::parse(include_str!("../../../../tests/registries/shop.toml")).unwrap();
    let mut writer = Writer::new(Vec::new()).block_size(400);
    let mut facts = Facts::default();
    facts.set("program", "shop".to_owned());
    facts.set("clock", "os");
    facts.set("ticks_per_second", 1_000_000_000_i64);
    writer.session(1, &facts, 1000, START).unwrap();
    writer.thread(1, 1, &Facts::default()).unwrap();
    let own = writer.registry(1, &names::runtime_registry().unwrap()).unwrap();
    let private = writer.registry(1, &private()).unwrap();
    let label = Value::Label;
    let lane = |thread, registry| Lane { session: 1, thread, registry };
    let mut shop_lane = None;
    for number in 0..200 {
        let ticks = 1000 + number * 10;
        let string = format!("{LABEL}-{number}");
        writer.event(lane(0, own), own::INTERN, ticks, &[label(number), text(&string)]).unwrap();
        writer.event(lane(1, private), 1, ticks, &[Value::Unsigned(number), text(SECRET)]).unwrap();
        writer.event(lane(1, private), 3, ticks, &[Value::Unsigned(number), label(number)]).unwrap();
        writer.event(lane(1, private), 4, ticks, &[text(SHARED)]).unwrap();
        if number == labels {
            shop_lane = Some(lane(1, writer.registry(1, &shop).unwrap()));
        }
        let Some(shop) = shop_lane else { continue };
        let values = [Value::Unsigned(number), text(SECRET), label(0), label(number)];
        let plan = Value::Named(EnumValue::new(1));
        writer.event(shop, 1, ticks, &[&values[..], &[plan]].concat()).unwrap();
        if number % 7 == 0 {
            writer.flush().unwrap();
            writer.sync(1, ticks).unwrap();
        }
    }
    writer.end(1, 10_000).unwrap();
    writer.finish().unwrap()
}
