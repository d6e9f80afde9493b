//! Emits and decodes events that have the names of other items.

use telemetry::decode::Reader;

#[tel::telemetry_event("events.toml", decode, crate = "::tel")]
pub mod names {}

mod telemetry {
    pub use ::tel::decode;
}

fn main() {
    names::vec!(
        names::Option::Some,
        &[names::Result::Vec, names::Result::Eq],
        names::String::Default | names::String::Drop,
        names::Label::Word,
        &[names::Array::Fields]
    );
    names::println!();
    names::assert!();
    names::thread_local!();
    names::record!(
        1_u64,
        &[2_u64, 3],
        "four",
        &[5, 6],
        &[7_u64, 8],
        9,
        &[10, 11],
        -12,
        true,
        13.5,
        tel::Label(14),
        &[tel::Label(15)]
    );
    names::long!();
    names::rt!();
    names::core!();
    names::iterator!(&[1, 2, 3]);
    tel::flush();

    let mut events = Reader::open(tel::sinks::output()).unwrap().typed::<names::Decoder>().unwrap();
    while let Some(event) = events.next().unwrap() {
        println!("{:?}", event.event);
    }
}
