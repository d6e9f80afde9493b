//! The programs that emit the events of each version.

use std::error::Error;
use std::thread;

use telemetry::{intern, telemetry_event};

#[telemetry_event("../tests/golden/registries/heap-1.0.0.toml", at = "program::v1_0_0")]
pub mod v1_0_0 {}
#[telemetry_event("../tests/golden/registries/heap-1.0.1.toml", at = "program::v1_0_1")]
pub mod v1_0_1 {}
#[telemetry_event("../tests/golden/registries/heap-1.0.2.toml", at = "program::v1_0_2")]
pub mod v1_0_2 {}
#[telemetry_event("../tests/golden/registries/heap-1.1.0.toml", at = "program::v1_1_0")]
pub mod v1_1_0 {}
#[telemetry_event("../tests/golden/registries/heap-1.1.1.toml", at = "program::v1_1_1")]
pub mod v1_1_1 {}
#[telemetry_event("../tests/golden/registries/heap-1.2.0.toml", at = "program::v1_2_0")]
pub mod v1_2_0 {}
#[telemetry_event("../tests/golden/registries/heap-1.2.1.toml", at = "program::v1_2_1")]
pub mod v1_2_1 {}
#[telemetry_event("../tests/golden/registries/heap-2.0.0.toml", at = "program::v2_0_0")]
pub mod v2_0_0 {}

/// One round of a program: the events of all versions, and those of its own version.
macro_rules! round {
    ($events:ident, $pool:ident, $trace:ident, $number:ident, turn $turn:block, end $end:block, finish $finish:block) => {{
        use $events::{Access, Why};
        $events::pool_init!($pool, Access::Read | Access::Write, ["nursery", "a name that is too long"][$number % 2]);
        $events::trace_start!($trace, [Why::Full, Why::Asked][$number % 2], 4096_usize << $number);
        $turn
        for at in 0..3 {
            $events::ref_fix!(&$pool[at], at as _);
        }
        $end
        $events::note!(
            $number as f64 / 3.0,
            0.25 * $number as f32,
            $number % 2 == 0,
            -($number as i8),
            i16::MIN,
            -70_000,
            i64::MAX - $number as i64,
            0xff,
            0x1234,
            u64::MAX >> $number,
            intern!("reclaim"),
            "naïve — 世界",
            &[0, 1, $number as u8],
            &[&$pool[0], &$pool[1]],
            &[1, u32::MAX],
            &[Why::Full, Why::Asked][..$number % 3]
        );
        $finish
    }};
}

/// The work of a program while its thread runs.
type Round = fn(&[u64; 3], &u64, usize);

/// Emits three rounds of events on each of two threads.
pub(crate) fn run(version: &str) -> Result<(), Box<dyn Error>> {
    let round: Round = match version {
        "1.0.0" => |pool, trace, n| {
            use v1_0_0 as v;
            round!(v, pool, trace, n, turn {}, end { v::trace_end!(trace, 1024 * n) }, finish { v::pool_finish!(pool) });
        },
        "1.0.1" => |pool, trace, n| {
            use v1_0_1 as v;
            round!(v, pool, trace, n, turn { v::trace_flip!(trace, 900) }, end { v::trace_end!(trace, 1024 * n) },
                finish { v::pool_finish!(pool) });
        },
        "1.0.2" => |pool, trace, n| {
            use v1_0_2 as v;
            round!(v, pool, trace, n, turn { v::trace_flip!(trace, 900) },
                end { v::trace_end!(trace, 1024 * n, 77, "all went well") }, finish { v::pool_finish!(pool) });
        },
        "1.1.0" => |pool, trace, n| {
            use v1_1_0 as v;
            round!(v, pool, trace, n, turn { v::trace_flip!(trace, 900) },
                end { v::trace_end!(trace, 1024 * n, 77, "all went well") }, finish { v::pool_finish!(pool) });
        },
        "1.1.1" => |pool, trace, n| {
            use v1_1_1 as v;
            round!(v, pool, trace, n, turn { v::trace_flip!(trace, 900) },
                end { v::trace_end!(trace, 1024 * n, 77, "all went well") }, finish { v::pool_destroy!(pool, 4096_usize) });
        },
        "1.2.0" => |pool, trace, n| {
            use v1_2_0 as v;
            round!(v, pool, trace, n, turn { v::trace_turn!(trace, 900) },
                end { v::trace_end!(trace, 1024 * n, 77, "all went well") }, finish { v::pool_destroy!(pool, 4096_usize) });
        },
        "1.2.1" => |pool, trace, n| {
            use v1_2_1 as v;
            round!(v, pool, trace, n, turn { v::trace_turn!(trace, 900) },
                end { v::trace_end!(trace, 1024 * n, 77, "all went well", &[5, 6]) },
                finish { v::pool_destroy!(pool, 4096_usize) });
        },
        "2.0.0" => |pool, trace, n| {
            use v2_0_0 as v;
            round!(v, pool, trace, n, turn { v::trace_turn!(trace, 900) },
                end { v::trace_end!(trace, 1024 * n, 77, "all went well", &[5, 6]) },
                finish { v::pool_destroy!(pool, 4096_usize) });
        },
        other => return Err(format!("no program of version {other}: add one to `{}`", file!()).into()),
    };
    let rounds = move || {
        let (pool, trace) = (Box::new([1, 2, 3]), Box::new(0));
        telemetry::label(&*pool, intern!("the pool"));
        for number in 0..3 {
            // References of the first round are only recorded.
            if number == 1 {
                telemetry::set("Ref");
            }
            round(&pool, &trace, number);
        }
    };
    rounds();
    let worker = thread::Builder::new().name("worker".to_string()).spawn(rounds)?;
    worker.join().map_err(|_| "the worker panicked")?;
    telemetry::flush();
    Ok(())
}
