//! The workload of a harness that compares event emitters: one command, one JSON line.

use std::sync::Barrier;
use std::time::Instant;

use telemetry::decode::{Order, Reader, Value};
use telemetry::telemetry_event;

#[telemetry_event("../../tests/registries/work.toml", decode)]
pub mod events {}

struct Args {
    events: u64,
    burst: u64,
    threads: usize,
    work: String,
    out: String,
    variant: String,
    decode: String,
}

/// Nanoseconds that a thread spent in its loop.
#[derive(Default, Clone, Copy)]
struct Spent {
    wall: u64,
    cpu: u64,
}

fn main() {
    let args = args();
    match args.decode.as_str() {
        "" => emit(&args),
        how => decode(how, &args.out),
    }
}

fn args() -> Args {
    let mut args = Args {
        events: 1_000_000,
        burst: 0,
        threads: 1,
        work: "w1".into(),
        out: "telemetry.tel".into(),
        variant: String::new(),
        decode: String::new(),
    };
    let mut words = std::env::args().skip(1);
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        match key.as_str() {
            "--events" => args.events = value.parse().expect("--events takes a number"),
            "--burst" => args.burst = value.parse().expect("--burst takes a number"),
            "--threads" => args.threads = value.parse().expect("--threads takes a number"),
            "--work" => args.work = value,
            "--out" => args.out = value,
            "--variant" => args.variant = value,
            "--decode" => args.decode = value,
            other => panic!("unknown argument {other}"),
        }
    }
    args
}

fn emit(args: &Args) {
    telemetry::Config::new().output(&args.out).start().unwrap();
    telemetry::set(if args.work == "off" { "" } else { "all" });
    let barrier = Barrier::new(args.threads + 1);
    let (start, cpu_before, spent) = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..args.threads).map(|_| scope.spawn(|| bursts(args, &barrier))).collect();
        let (start, cpu) = (Instant::now(), cpu(libc::CLOCK_PROCESS_CPUTIME_ID));
        barrier.wait();
        let spent: Vec<Spent> = threads.into_iter().filter_map(|thread| thread.join().ok()).collect();
        (start, cpu, spent)
    });
    telemetry::flush();
    let (end_to_end, cpu_after) = (start.elapsed().as_nanos() as f64, cpu(libc::CLOCK_PROCESS_CPUTIME_ID));
    let events = (args.events * args.threads as u64) as f64;
    let wall: u64 = spent.iter().map(|spent| spent.wall).sum();
    let own: u64 = spent.iter().map(|spent| spent.cpu).sum();
    let counters = telemetry::counters::total();
    let bytes = std::fs::metadata(&args.out).map_or(0, |metadata| metadata.len());
    println!(
        "{{\"ns_per_event\":{:.3},\"emit_cpu_ns\":{:.3},\"e2e_ns\":{:.3},\"total_cpu_ns\":{:.3},\"events\":{},\"bytes\":{},\"lost\":{}}}",
        wall as f64 / events,
        own as f64 / events,
        end_to_end / events,
        (cpu_after - cpu_before) as f64 / events,
        events,
        bytes,
        counters.lost_pool + counters.lost_reentrant + counters.lost_sink,
    );
}

/// Emits one thread's events: all at once, or in bursts with pauses that are not timed.
fn bursts(args: &Args, barrier: &Barrier) -> Spent {
    barrier.wait();
    let step = if args.burst > 0 { args.burst } else { args.events };
    let (mut spent, mut done) = (Spent::default(), 0);
    while done < args.events {
        let (cpu_before, start) = (cpu(libc::CLOCK_THREAD_CPUTIME_ID), Instant::now());
        peer_hot_loop(args, step);
        spent.wall += start.elapsed().as_nanos() as u64;
        spent.cpu += cpu(libc::CLOCK_THREAD_CPUTIME_ID) - cpu_before;
        done += step;
        if args.burst > 0 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
    spent
}

/// Not inlined: instruction counters find it by name.
#[inline(never)]
fn peer_hot_loop(args: &Args, n: u64) {
    match (args.work.as_str(), args.variant.as_str()) {
        ("w2", _) => {
            for i in 0..n {
                let (pointer, address, size, level, name) = fields(i);
                events::named!(pointer, address, size, level, name);
            }
        }
        (_, "inherit") => {
            for i in 0..n {
                let (pointer, address, size, level, _) = fields(i);
                events::fix!(pointer, address, size, level);
            }
        }
        _ => {
            for i in 0..n {
                let (pointer, address, size, level, _) = fields(i);
                events::alloc!(pointer, address, size, level);
            }
        }
    }
}

/// The parameters of event `i`, the same for every peer.
#[inline(always)]
fn fields(mut i: u64) -> (u64, u64, u64, u32, &'static str) {
    const NAMES: [&str; 16] = [
        "page-fault-00000",
        "page-fault-00001",
        "alloc-slab-00002",
        "alloc-slab-00003",
        "free-block-00004",
        "free-block-00005",
        "mmap-range-00006",
        "mmap-range-00007",
        "swap-out---00008",
        "swap-in----00009",
        "tlb-flush--00010",
        "tlb-flush--00011",
        "numa-move--00012",
        "numa-move--00013",
        "huge-split-00014",
        "huge-merge-00015",
    ];
    // SAFETY: an empty instruction, which hides the value from the optimizer.
    unsafe { std::arch::asm!("/* {0} */", inout(reg) i, options(nomem, nostack, preserves_flags)) };
    let pointer = 0x7f3a_0000_0000_u64.wrapping_add(i.wrapping_mul(64));
    let address = 0x5581_0000_0000_u64 + (i.wrapping_mul(0x9E37) & 0xff_ffff);
    (pointer, address, 16 + (i & 0xfff), (i & 7) as u32, NAMES[(i & 15) as usize])
}

fn cpu(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of our own.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Reads a stream back, and prints its number of events.
fn decode(how: &str, file: &str) {
    let reader = Reader::open(file).expect("the stream opens").order(Order::Stream);
    let (mut count, mut sum) = (0_u64, 0_u64);
    if how == "typed" {
        let mut events = reader.typed::<events::Decoder>().expect("the stream is read");
        let visit = |at: telemetry::decode::Timed<'_, events::Event<'_>>| {
            count += 1;
            if let events::Event::Alloc(alloc) = at.event {
                sum = sum.wrapping_add(alloc.pointer ^ alloc.address ^ alloc.size ^ u64::from(alloc.level));
            }
        };
        events.for_each(visit).expect("the stream is read");
    } else {
        let mut events = reader.events().expect("the stream is read");
        while let Some(event) = events.next().expect("the stream is read") {
            count += 1;
            for value in event.values() {
                if let Value::Pointer(bits) | Value::Addr(bits) | Value::Word(bits) = value {
                    sum = sum.wrapping_add(bits);
                }
            }
        }
    }
    eprintln!("{count} events, checksum {sum:016x}");
}
