//! The stores of schedules.

use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use telemetry_testing::fake_s3::FakeS3;

use crate::chaos::plan::StoreKind;
use crate::lakes::TestLake;
use crate::moto::{Moto, settings};

/// The server of all schedules; it takes seconds to start.
static MOTO: Mutex<Option<Moto>> = Mutex::new(None);

fn moto() -> MutexGuard<'static, Option<Moto>> {
    let mut moto = MOTO.lock().unwrap_or_else(PoisonError::into_inner);
    if moto.is_none() {
        *moto = Moto::start();
    }
    moto
}

/// Ends the server. Returns whether there was one.
pub(crate) fn end() -> bool {
    MOTO.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
}

/// The store of a schedule.
pub(crate) enum Store {
    Directory,
    Fake(FakeS3),
    /// With a prefix of its own.
    Moto {
        endpoint: String,
        prefix: String,
    },
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Store::Moto { prefix, .. } = &*self {
            self.ask(&format!("drop {prefix}/"));
        }
    }
}

impl Store {
    pub(crate) fn new(kind: StoreKind, seed: u64) -> Store {
        let fake = || Store::Fake(FakeS3::start(seed, 0));
        match kind {
            StoreKind::Directory => Store::Directory,
            StoreKind::Fake => fake(),
            StoreKind::Moto => match &*moto() {
                Some(moto) => {
                    Store::Moto { endpoint: moto.endpoint.clone(), prefix: format!("seed-{seed:020}") }
                }
                None => fake(),
            },
        }
    }

    /// The address, if the directory of `lake` is not the store.
    pub(crate) fn address(&self, lake: &TestLake) -> String {
        match self {
            Store::Directory => format!("file://{}", lake.path().display()),
            Store::Fake(_) => "s3://fleet/prod".to_owned(),
            Store::Moto { prefix, .. } => format!("s3://fleet/{prefix}"),
        }
    }

    /// Tells a command where the store is.
    pub(crate) fn settings(&self, command: &mut Command) {
        let endpoint = match self {
            Store::Directory => return,
            Store::Fake(fake) => &fake.endpoint,
            Store::Moto { endpoint, .. } => endpoint,
        };
        // Some requests are never answered.
        settings(endpoint, command).env("AWS_TIMEOUT", "4s");
    }

    /// Lets one in this number of requests fail; 0 is none.
    pub(crate) fn set_faults(&self, one_in: u64, seed: u64) {
        match self {
            Store::Directory => {}
            Store::Fake(fake) => fake.set_faults(one_in),
            Store::Moto { prefix, .. } => {
                self.ask(&format!("faults {prefix} {one_in} {seed}"));
            }
        }
    }

    /// Stores a segment, unless there is one of its name.
    pub(crate) fn put(&self, lake: &TestLake, name: &str, bytes: &[u8]) {
        match self {
            Store::Directory => lake.put_if_absent(name, bytes),
            Store::Fake(fake) => fake.put_if_absent(&format!("prod/{name}"), bytes),
            Store::Moto { prefix, .. } => {
                let mut moto = moto();
                let moto = moto.as_mut().expect("the server");
                moto.ask(&format!("add {prefix}/{name} {}", bytes.len()), bytes);
            }
        }
    }

    /// Copies all objects to the directory of a lake.
    pub(crate) fn fetch(&self, lake: &TestLake) {
        match self {
            Store::Directory => {}
            Store::Fake(fake) => {
                lake.clear();
                lake.fill(fake.objects(), "prod/");
            }
            Store::Moto { prefix, .. } => {
                lake.clear();
                lake.fill(self.ask(&format!("list {prefix}/")), &format!("{prefix}/"));
            }
        }
    }

    fn ask(&self, line: &str) -> Vec<(String, Vec<u8>)> {
        moto().as_mut().map(|moto| moto.ask(line, &[])).unwrap_or_default()
    }
}
