//! A run with one allocator, in a separate process, so its memory is that of the allocator.

use std::alloc::{GlobalAlloc, System};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use telemetry_decode::replay::{Live, Op, Pace, Timer};
use telemetry_decode::{Order, Reader};

use super::allocator::Allocator;
use super::batch::{Batch, BatchStep};
use super::memory::{Memory, Refused, Touch};
use super::resident;
use super::survey::Wrong;
use crate::input::inputs::{InputArgs, Inputs, cannot_read};
use crate::term::ended::{Ended, Failure};
use crate::term::interrupt;
use crate::term::output::Output;
use crate::term::progress::Step;

/// Options that the command passes to its own workers.
#[derive(clap::Args)]
pub(crate) struct RunArgs {
    /// Make one run, and print what was measured
    #[arg(long, hide = true, value_name = "NAME")]
    pub(super) worker: Option<Allocator>,

    /// Most blocks that will be live
    #[arg(long, hide = true, value_name = "N", default_value_t = 0)]
    blocks: usize,

    /// The streams are on standard input, whatever is named
    #[arg(long, hide = true)]
    spooled: bool,
}

/// The measurements of a run.
#[derive(Serialize, Deserialize)]
pub(super) struct Measured {
    /// Seconds in the allocator and for writing to memory.
    pub(super) seconds: f64,
    /// Seconds in total, with pauses.
    pub(super) total_seconds: f64,
    pub(super) operations: u64,
    /// The maximum growth of resident memory in bytes.
    pub(super) peak_resident: Option<u64>,
    pub(super) refused: u64,
    pub(super) refusals: Vec<Wrong>,
}

/// The maximum of refusals that are listed.
const MAX_REFUSALS: usize = 1000;

impl RunArgs {
    pub(super) fn inputs(&self, input: &InputArgs) -> Result<Inputs, Failure> {
        let inputs = input.inputs()?;
        Ok(if self.spooled { inputs.on_stdin() } else { inputs })
    }
}

/// Runs the worker.
pub(super) fn work(
    reader: Reader<'_>,
    inputs: &Inputs,
    args: &RunArgs,
    allocator: Allocator,
    pace: Pace,
    touch: Touch,
) -> Ended {
    let measured = match allocator {
        Allocator::System => measure(reader, inputs, Memory::new(System, touch, args.blocks), args, pace),
        #[cfg(feature = "mimalloc")]
        Allocator::Mimalloc => {
            measure(reader, inputs, Memory::new(mimalloc::MiMalloc, touch, args.blocks), args, pace)
        }
    }?;
    let mut output = Output::stdout();
    // Measurements serialize, and writing to memory cannot fail.
    let _ = serde_json::to_writer(output.buffer(), &measured);
    output.finish()
}

fn measure<A: GlobalAlloc>(
    reader: Reader<'_>,
    inputs: &Inputs,
    mut memory: Memory<A>,
    args: &RunArgs,
    pace: Pace,
) -> Result<Measured, Failure> {
    let mut events = reader.order(Order::Time).events().map_err(cannot_read)?;
    let (mut live, mut batch) = (Live::with_capacity(args.blocks), Batch::new(inputs));
    let mut timer = Timer::new(pace);
    let (mut spent, mut operations, mut refused, mut refusals) = (Duration::ZERO, 0, 0, Vec::new());
    let mut more = batch.fill(&mut events, &mut live, |_| {})?;
    // By now, all memory that is not the allocator's is resident.
    let before = resident::now();
    resident::forget_peak();
    let start = Instant::now();
    while more {
        let mut refuse = |step: &BatchStep| {
            refused += 1;
            if refusals.len() < MAX_REFUSALS {
                refusals.push((step.origin, step.op));
            }
        };
        if pace == Pace::Fast {
            let began = Instant::now();
            for step in &batch.steps {
                if let Err(Refused) = memory.run(step.op) {
                    refuse(step);
                }
            }
            spent += began.elapsed();
        } else {
            for step in &batch.steps {
                timer.wait(step.wall_ns);
                let began = Instant::now();
                let done = memory.run(step.op);
                spent += began.elapsed();
                if let Err(Refused) = done {
                    refuse(step);
                }
            }
        }
        operations += batch.steps.len() as u64;
        more = batch.fill(&mut events, &mut live, |_| {})?;
    }
    let total_seconds = start.elapsed().as_secs_f64();
    let peak = resident::peak();
    let refusals = refusals.iter().map(|(origin, op)| Wrong::new(origin, why(op), &events, inputs));
    Ok(Measured {
        seconds: spent.as_secs_f64(),
        total_seconds,
        operations,
        peak_resident: peak.zip(before).map(|(peak, before)| peak.saturating_sub(before)),
        refused,
        refusals: refusals.collect(),
    })
}

/// Describes an allocation that was refused.
fn why(op: &Op) -> String {
    match op {
        Op::Alloc { size, align, .. } => {
            format!("the allocator has no {size} bytes with an alignment of {align}")
        }
        Op::Realloc { size, .. } => format!("the allocator has no {size} bytes in the place of others"),
        Op::Free { .. } => "the allocator does not take it back".to_string(),
        _ => "this command does not know the operation".to_string(),
    }
}

/// Starts runs in separate processes.
pub(super) struct Bench {
    /// Runs per allocator.
    pub(super) repeat: u32,
    /// The most blocks that will be live.
    pub(super) blocks: u64,
    /// The streams, if they cannot be read again by name.
    pub(super) spooled: Option<File>,
}

impl Bench {
    /// Runs the allocators in turn, so that a disturbance affects all of them.
    pub(super) fn run(
        mut self,
        allocators: &[Allocator],
    ) -> Result<Vec<(Allocator, Vec<Measured>)>, Failure> {
        let mut runs: Vec<_> = allocators.iter().map(|allocator| (*allocator, Vec::new())).collect();
        for round in 1..=self.repeat {
            for (allocator, runs) in &mut runs {
                let _step = Step::new(format!("{}: run {round} of {}", allocator.name(), self.repeat));
                runs.push(self.run_one(*allocator)?);
            }
        }
        Ok(runs)
    }

    fn run_one(&mut self, allocator: Allocator) -> Result<Measured, Failure> {
        let cannot_run = |error: io::Error| cannot(&format!("run `{}`", allocator.name()), &error);
        let mut command = Command::new(std::env::current_exe().map_err(cannot_run)?);
        // It goes before the caller's own arguments, after which there may be no option.
        let mut args = std::env::args_os().skip(1);
        command.args(args.next());
        command.arg("--worker").arg(allocator.name()).arg("--blocks").arg(self.blocks.to_string());
        if let Some(file) = &mut self.spooled {
            file.rewind().map_err(cannot_run)?;
            command.arg("--spooled").stdin(file.try_clone().map_err(cannot_run)?);
        } else {
            command.stdin(Stdio::null());
        }
        command.args(args).stdout(Stdio::piped());
        let (printed, status) = output_of(&mut command).map_err(cannot_run)?;
        let measured = serde_json::from_slice(&printed).ok().filter(|_| status.success());
        measured
            .ok_or_else(|| Failure::new(format!("the run with `{}` has failed: {status}", allocator.name())))
    }
}

/// Runs a command, and returns its output and status. The child must not outlive this process: at
/// the recorded speed it might run for days.
fn output_of(command: &mut Command) -> io::Result<(Vec<u8>, ExitStatus)> {
    fn lock(child: &Mutex<Option<Child>>) -> MutexGuard<'_, Option<Child>> {
        child.lock().unwrap_or_else(PoisonError::into_inner)
    }
    let child = Arc::new(Mutex::new(None::<Child>));
    // Set before the start, so that an early interrupt is handled.
    let mut begun = lock(&child);
    let interrupted = child.clone();
    interrupt::stops(move || {
        // The lock is not released, because the caller must not take this for a failure.
        let mut begun = lock(&interrupted);
        if let Some(child) = &mut *begun {
            // A child that has ended cannot be killed, and need not be.
            let _ = child.kill().and_then(|()| child.wait());
        }
        interrupt::end();
    });
    let stdout = begun.insert(command.spawn()?).stdout.take();
    drop(begun);
    let mut printed = Vec::new();
    if let Some(mut stdout) = stdout {
        stdout.read_to_end(&mut printed)?;
    }
    let status = lock(&child).as_mut().map(Child::wait).transpose()?.unwrap_or_default();
    Ok((printed, status))
}

/// Explains that the system failed to do something.
fn cannot(what: &str, error: &io::Error) -> Failure {
    Failure::new(format!("cannot {what}: {error}"))
}
