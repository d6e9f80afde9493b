use std::rc::Rc;
use std::sync::Arc;

use telemetry::telemetry_event;

#[telemetry_event("registries/good.toml")]
pub mod events {}

fn main() {
    let boxed = Box::new(0_u8);
    // What the error proposes.
    events::grown!(&raw const *boxed, 0_u64, 1, events::Why::Full, "");
    events::grown!(boxed, 0_u64, 1, events::Why::Full, "");
    events::grown!(Rc::new(0_u8), 0_u64, 1, events::Why::Full, "");
    events::grown!(Arc::<str>::from(""), 0_u64, 1, events::Why::Full, "");
    let boxes: [Box<[u8]>; 0] = [];
    events::moved!(&[1, 2], &boxes);
    events::grown!(vec![0_u8], 0_u64, 1, events::Why::Full, "");
}

// The compiler says this of a function without other errors.
fn references() {
    let mut boxed = Box::new(0_u8);
    events::grown!(&boxed, 0_u64, 1, events::Why::Full, "");
    events::grown!(&mut boxed, 0_u64, 1, events::Why::Full, "");
    events::moved!(&[1, 2], &[&Rc::new(0_u8)]);
    // What the error proposes for the address of the owner itself.
    events::grown!(&raw const boxed, 0_u64, 1, events::Why::Full, "");
}
