//! Threads and tasks that wait for messages.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use super::{end, quiet, start};
use crate::heard;
use crate::heard::messages::{Gc, Low};

#[test]
fn waiting_between_threads() {
    quiet("waiting::waiting_between_threads", || {
        Low::enable();
        std::thread::scope(|scope| {
            let hears = scope.spawn(|| {
                let mut sum = 0;
                while sum < 5050 {
                    sum += Low::wait(Duration::from_secs(30)).expect("a message").0.get();
                }
                sum
            });
            for number in 1..=100_u64 {
                heard::low!(number);
                if number % 10 == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            assert_eq!(hears.join().unwrap(), 5050);
        });
        assert!(Low::wait(Duration::ZERO).is_none());
        vec![]
    });
}

/// An executor of one task.
struct Parked(std::thread::Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(task: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Parked(std::thread::current())));
    let mut task = pin!(task);
    loop {
        match task.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park_timeout(Duration::from_secs(30)),
        }
    }
}

#[test]
fn a_task_waits_by_a_waker_of_any_executor() {
    quiet("waiting::a_task_waits_by_a_waker_of_any_executor", || {
        Gc::enable();
        Low::enable();
        let since = Instant::now();
        std::thread::scope(|scope| {
            let both = ["Gc", "Low"].map(|which| {
                scope.spawn(move || {
                    block_on(async {
                        let mut sum = 0;
                        for _ in 0..100 {
                            sum += match which {
                                "Gc" => Gc::next().await.trace(),
                                _ => Low::next().await.0.get(),
                            };
                        }
                        sum
                    })
                })
            });
            for number in 1..=100 {
                if number <= 50 {
                    start(number);
                    end(number);
                }
                heard::low!(number);
                std::thread::sleep(Duration::from_micros(300));
            }
            assert_eq!(both.map(|hears| hears.join().unwrap()), [2 * 1275, 5050]);
        });
        assert!(since.elapsed() < Duration::from_secs(25), "a waker was not called");
        vec![]
    });
}
