//! Limits of a registry do not hold while a capture is active.

use std::thread;

use telemetry::testing::capture;

use crate::limited::{self, Alloc, Polled, Refused, Response};

#[test]
fn a_capture_has_each_event() {
    let captured = capture(|| {
        let emit = || {
            for id in 0..250_u64 {
                limited::polled!();
                limited::refused!(7);
                limited::response!(id);
            }
        };
        emit();
        thread::spawn(emit).join().expect("a thread that emits");
        limited::alloc!(0x1000_usize, 0x2000_usize, 64_usize, 1);
    });
    assert_eq!(captured.count::<Polled>(), 500);
    assert_eq!(captured.count::<Refused>(), 500);
    assert_eq!(captured.count::<Response>(), 500);
    assert_eq!(captured.count::<Alloc>(), 1);
}
