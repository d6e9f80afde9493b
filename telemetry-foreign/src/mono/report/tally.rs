//! The counts of a log, in one pass.

use hashbrown::HashMap;

use super::classes::Classes;
use super::counters::Counters;
use super::gc::Gc;
use super::heap::{Shot, Shots};
use super::listed::Listed;
use super::methods::{Methods, Oddity, end_call, odd};
use super::monitors::{Monitors, Wait};
use super::traces::{Origin, Sums, Traces};
use crate::mono::decode::{Item, Visit};
use crate::mono::header::BufferHead;
use crate::mono::stack::{Frame, Left, Stack, Stacks};
use crate::mono::what::What;

/// Sums of a log.
pub(super) struct Tally {
    pub(super) methods: Methods,
    pub(super) classes: Classes,
    pub(super) stacks: Stacks,
    /// The stack of the current buffer's thread.
    pub(super) stack: Stack,
    /// By thread, in the order of the stacks.
    pub(super) threads: Vec<Thread>,
    pub(super) thread: usize,
    /// Backtraces, if they are wanted.
    pub(super) traces: Option<Traces>,
    pub(super) gc: Gc,
    /// Address and name, in the order of the log.
    pub(super) images: Vec<(u64, Box<[u8]>)>,
    pub(super) assemblies: Vec<(u64, Box<[u8]>)>,
    pub(super) domains: Listed<Option<Box<[u8]>>>,
    /// The domain of each.
    pub(super) contexts: Listed<u64>,
    pub(super) thread_names: HashMap<u64, Box<[u8]>>,
    pub(super) throws: u64,
    pub(super) throw_traces: Sums,
    /// By kind of clause.
    pub(super) clauses: [u64; 5],
    pub(super) monitors: Monitors,
    pub(super) shots: Shots,
    pub(super) counters: Counters,
    /// The number of helpers, and the bytes of their code.
    pub(super) helpers: (u64, i32),
    /// Program counters of samples, in the order in which they were first seen.
    pub(super) samples: Listed<u64>,
    /// The start of each symbol, and its name.
    pub(super) symbols: Vec<(u64, Box<[u8]>)>,
    /// The inconsistencies of calls.
    pub(super) oddities: Vec<Oddity>,
    /// Clock reading of the first buffer.
    pub(super) start: Option<u64>,
    /// Bytes of texts and of heap shots.
    texts: usize,
    shot_bytes: usize,
    /// Number of events until the next check of the memory, and the result of the last check.
    until_check: u32,
    is_full: bool,
}

/// The most memory for the tables. A table that grows takes three times as much meanwhile.
const ROOM: usize = 64 << 20;

/// Number of events between two checks of the memory.
const CHECK: u32 = 1 << 10;

/// The state of a thread.
#[derive(Default)]
pub(super) struct Thread {
    /// By generation: when its collection began.
    gc_started: [u64; 3],
    waits: Wait,
    shot: Option<Shot>,
}

impl Tally {
    pub(super) fn new(wants_traces: bool) -> Tally {
        Tally {
            methods: Methods::default(),
            classes: Classes::default(),
            stacks: Stacks::default(),
            stack: Stack::default(),
            threads: Vec::new(),
            thread: 0,
            traces: wants_traces.then(Traces::default),
            gc: Gc::default(),
            images: Vec::new(),
            assemblies: Vec::new(),
            domains: Listed::default(),
            contexts: Listed::default(),
            thread_names: HashMap::new(),
            throws: 0,
            throw_traces: Sums::default(),
            clauses: [0; 5],
            monitors: Monitors::default(),
            shots: Shots::default(),
            counters: Counters::default(),
            helpers: (0, 0),
            samples: Listed::default(),
            symbols: Vec::new(),
            oddities: Vec::new(),
            start: None,
            texts: 0,
            shot_bytes: 0,
            until_check: CHECK,
            is_full: false,
        }
    }

    /// Returns why nothing more is counted, if the tables are full.
    pub(super) fn full(&self) -> Option<String> {
        let why = || format!("its tables take more than {} MiB; the rest is left out", ROOM >> 20);
        self.is_full.then(why)
    }

    /// Returns true if an event may be counted.
    #[inline(always)]
    fn has_room(&mut self) -> bool {
        self.until_check -= 1;
        if self.until_check == 0 {
            self.check();
        }
        !self.is_full
    }

    /// Adds up what the tables take.
    #[cold]
    #[inline(never)]
    fn check(&mut self) {
        self.until_check = CHECK;
        let lists = self.images.capacity() + self.assemblies.capacity() + self.symbols.capacity();
        let threads = self.threads.capacity() * size_of::<Thread>() + self.stacks.taken();
        let listed = self.domains.taken() + self.contexts.taken() + self.samples.taken();
        let taken = self.methods.taken()
            + self.classes.taken()
            + threads
            + self.traces.as_ref().map_or(0, Traces::taken)
            + lists * size_of::<(u64, Box<[u8]>)>()
            + listed
            + self.thread_names.capacity() * 25
            + self.monitors.all.taken()
            + self.counters.taken()
            + self.shot_bytes
            + self.texts;
        self.is_full |= taken > ROOM;
    }

    /// Returns a text of an event, to be kept.
    fn text(&mut self, text: &[u8]) -> Box<[u8]> {
        self.texts += text.len() + 16;
        text.into()
    }

    /// Begins a buffer.
    pub(super) fn buffer(&mut self, head: &BufferHead) {
        self.start.get_or_insert(head.time);
        self.thread = self.stacks.of(head.thread);
        self.threads.resize_with(self.stacks.all.len(), Thread::default);
        self.check();
        self.stack = std::mem::take(&mut self.stacks.all[self.thread].1);
    }

    /// Ends a buffer.
    pub(super) fn buffer_ended(&mut self, ticks: u64) {
        self.stack.last = ticks;
        self.stacks.all[self.thread].1 = std::mem::take(&mut self.stack);
    }

    /// Ends the log: ends open calls, and assigns objects without a known class to their class.
    pub(super) fn end(&mut self) {
        for thread in (0..self.stacks.all.len()).rev() {
            let stack = &mut self.stacks.all[thread].1;
            let last = stack.last;
            while let Some(Frame { method, .. }) = stack.frames.last().copied() {
                if let Left::Ended(ended) = stack.leave(method, last, &mut self.stacks.room) {
                    end_call(&mut self.methods, &mut self.oddities, method, ended);
                }
            }
        }
        self.classes.resolve_vtables();
    }

    /// Takes the heap shots whose end is not in the log.
    pub(super) fn end_shots(&mut self) {
        self.shots.all.extend(self.threads.iter_mut().filter_map(|thread| thread.shot.take()));
    }

    /// Counts an allocation.
    fn alloc(&mut self, item: &Item<'_>, is_vtable: bool) {
        let origin = Origin { traces: self.traces.as_mut(), stack: &self.stack.frames };
        self.classes.alloc(item, is_vtable, origin);
    }

    /// Counts a handle that is created or destroyed.
    fn handle(&mut self, item: &Item<'_>, is_created: bool) {
        let origin = Origin { traces: self.traces.as_mut(), stack: &self.stack.frames };
        self.gc.handle(item, is_created, origin);
    }

    /// Counts a step of the monitor of an object.
    fn monitor(&mut self, item: &Item<'_>, step: u64, object: u64) {
        let origin = Origin { traces: self.traces.as_mut(), stack: &self.stack.frames };
        self.monitors.step(item, (step, object), &mut self.threads[self.thread].waits, origin);
    }
}

impl Visit for Tally {
    #[inline(always)]
    fn call(&mut self, what: What, ticks: u64, method: u64, _: usize, _: usize) {
        if !self.has_room() {
            return;
        }
        let (stack, room) = (&mut self.stack, &mut self.stacks.room);
        if what == What::MethodEnter {
            let index = self.methods.of(method);
            if let Some(traces) = &mut self.traces {
                traces.add_stack(&mut self.methods.all[index as usize].traces, &stack.frames, 1);
            }
            stack.enter(method, index, ticks, room);
            return;
        }
        match stack.leave(method, ticks, room) {
            Left::Ended(ended) => end_call(&mut self.methods, &mut self.oddities, method, ended),
            Left::Unknown => {}
            Left::Unmatched => {
                self.methods.of(method);
                odd(&mut self.oddities, true, Oddity::Unmatched(stack.frames.len(), method));
            }
        }
    }

    fn event(&mut self, item: &Item<'_>) {
        if !self.has_room() {
            return;
        }
        let value = |index| item.value(index);
        match item.what {
            What::Alloc | What::AllocTraced => self.alloc(item, false),
            What::VtableAlloc | What::VtableAllocTraced => self.alloc(item, true),
            What::HeapObject | What::VtableHeapObject => {
                let class = match item.what {
                    What::HeapObject => value(1),
                    _ => self.classes.of_vtable(value(1)),
                };
                self.classes.of(class);
                if let Some(shot) = &mut self.threads[self.thread].shot
                    && value(2) != 0
                {
                    shot.object(class, value(2));
                    self.shot_bytes += if shot.was_known { 0 } else { 64 };
                }
            }
            What::MethodJit => {
                let name = self.text(item.text(3));
                let index = self.methods.of(value(0));
                let method = &mut self.methods.all[index as usize];
                method.name = Some(name);
                (method.code, method.len) = (value(1), value(2) as i32);
            }
            What::ClassLoad | What::ClassDefine => {
                let name = self.text(item.entry.name.map_or(&b""[..], |name| item.text(name.into())));
                self.classes.of(value(0)).name = Some(name);
            }
            What::VtableLoad => _ = self.classes.vtables.insert(value(0), value(2)),
            What::GcEvent => self.gc.step(item, &mut self.threads[self.thread].gc_started),
            What::GcResize => {
                self.gc.resizes += 1;
                self.gc.largest = self.gc.largest.max(value(0));
            }
            What::GcMoves => self.gc.moves += item.lists[0].len() as u64 / 2,
            What::HandleCreate | What::HandleCreateTraced => self.handle(item, true),
            What::HandleDestroy | What::HandleDestroyTraced => self.handle(item, false),
            What::ImageLoad | What::ImageDefine => {
                let name = self.text(item.text(if item.what == What::ImageLoad { 2 } else { 1 }));
                self.images.push((value(0), name));
            }
            What::AssemblyDefine => {
                let name = self.text(item.text(2));
                self.assemblies.push((value(0), name));
            }
            What::DomainLoad | What::DomainUnload => _ = self.domains.of(value(0)),
            What::DomainName => {
                let name = self.text(item.text(1));
                *self.domains.of(value(0)) = Some(name);
            }
            What::ContextLoad => *self.contexts.of(value(0)) = value(1),
            What::ThreadStart | What::ThreadEnd => _ = self.stacks.of(value(0)),
            What::ThreadName => {
                self.stacks.of(value(0));
                let name = self.text(item.text(1));
                self.thread_names.insert(value(0), name);
            }
            What::Throw | What::ThrowTraced | What::ThrowFrames => {
                self.throws += 1;
                let origin = Origin { traces: self.traces.as_mut(), stack: &self.stack.frames };
                let frames = (item.what != What::Throw).then_some(item.lists[0]);
                origin.add(&mut self.throw_traces, frames, 1);
            }
            What::Clause | What::ClauseObject => {
                if let Some(count) = self.clauses.get_mut(value(0) as usize) {
                    *count += 1;
                }
            }
            What::MonitorContention | What::MonitorContentionTraced => self.monitor(item, 1, value(0)),
            What::MonitorDone => self.monitor(item, 2, value(0)),
            What::MonitorFail => self.monitor(item, 3, value(0)),
            What::MonitorWait | What::MonitorWaitTraced => self.monitor(item, value(0), value(1)),
            What::HeapStart => {
                let shot = Shot::new(item.ticks);
                self.shot_bytes += size_of::<Shot>();
                let earlier = self.threads[self.thread].shot.replace(shot);
                self.shots.all.extend(earlier);
            }
            What::HeapEnd => {
                let shot = self.threads[self.thread].shot.take();
                self.shots.all.extend(shot);
            }
            What::CounterDefine => {
                self.texts += item.text(1).len() + item.text(2).len() + 32;
                self.counters.define(item);
            }
            What::CounterNumber | What::CounterReal => self.counters.value(item),
            What::CounterText => {
                self.texts += item.text(2).len() + 16;
                self.counters.value(item);
            }
            What::JitHelper => {
                self.helpers.0 += 1;
                self.helpers.1 = self.helpers.1.wrapping_add(value(2) as i32);
            }
            What::SampleHit => {
                item.lists[0].iter().for_each(|ip| *self.samples.of(*ip) += 1);
            }
            What::SampleSymbol => {
                let name = self.text(item.text(2));
                self.symbols.push((value(0), name));
            }
            What::Buffer | What::Order | What::AssemblyLoad | What::ImageUnload | What::AssemblyUnload => {}
            What::MethodEnter | What::MethodReturn | What::MethodLeave | What::MethodUnwind => {}
            What::MethodExcLeave | What::ContextUnload => {}
            What::FinalizeStart | What::FinalizeEnd | What::FinalizeObjectStart => {}
            What::FinalizeObjectEnd | What::HeapRoots | What::HeapRootRegister => {}
            What::HeapRootUnregister | What::SyncPoint | What::AotId => {}
            What::WorldStop | What::WorldStart => {}
            What::ClassLoadError | What::ImageLoadError => {}
            What::AssemblyLoadError | What::DomainLoadError => {}
        }
    }
}
