//! A program that has no dependency but the library.

use cache::events::*;

mod telemetry {
    //! Nobody means this one.
}

fn main() {
    hit!(1);
    miss!(2, Why::Never);
}
