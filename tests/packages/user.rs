//! A program whose only dependency is the library.

use cache::events::*;

mod telemetry {
    //! No emitter uses this module.
}

fn main() {
    hit!(1);
    miss!(2, Why::Never);
    cache::store::hit!(3);
    cache::store::miss!(4, cache::store::Why::Evicted);
    match Why::Never {
        Why::Never | Why::Evicted => {}
        // Another version of the library may have more events.
        _ => unreachable!("a value that is not in the registry"),
    }
}
