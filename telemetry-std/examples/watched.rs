//! A program whose memory, locks and threads are watched.

use std::collections::HashMap;

use telemetry_std::{Allocator, Mutex};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator::system();

fn main() -> std::io::Result<()> {
    let cache = Mutex::new("cache", HashMap::new());
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let work = || {
                for key in 0..10_000_u32 {
                    let mut cache = cache.lock().expect("no thread has panicked");
                    cache.entry(key % 512).or_insert_with(|| key.to_string());
                }
            };
            telemetry_std::thread::spawn_scoped(scope, &format!("worker {worker}"), work)?;
        }
        Ok(())
    })
}
