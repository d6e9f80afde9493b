//! What is counted of a log, in one pass.

use hashbrown::HashMap;

use super::counters::Counters;
use super::heap::{Shot, Shots};
use super::listed::Listed;
use super::traces::{Sums, Traces};
use crate::mono::decode::{Item, Visit};
use crate::mono::header::BufferHead;
use crate::mono::stack::{Ended, Frame, Left, Stack, Stacks};
use crate::mono::what::What;

/// Places of the cache of methods, a power of two.
const CACHE: usize = 512;

/// Sums of a log.
pub(super) struct Tally {
    pub(super) methods: Methods,
    pub(super) classes: Classes,
    pub(super) stacks: Stacks,
    /// The stack of the thread whose buffer this is, while it is.
    stack: Stack,
    /// By thread, as the stacks are.
    threads: Vec<Thread>,
    thread: usize,
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
    /// Number of helpers, and bytes of their code.
    pub(super) helpers: (u64, i32),
    /// Program counters of samples, in the order in which they were first seen.
    pub(super) samples: Listed<u64>,
    /// Where each begins, and its name.
    pub(super) symbols: Vec<(u64, Box<[u8]>)>,
    /// What a call that makes no sense is said of.
    pub(super) oddities: Vec<Oddity>,
    /// Clock reading of the first buffer.
    pub(super) start: Option<u64>,
}

/// Something about a call that makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Oddity {
    /// A leave at so many calls in, of this method.
    Unmatched(usize, u64),
    Backward(u64),
    CalleesBigger(u64),
}

/// What a thread is in.
#[derive(Default)]
struct Thread {
    gc_started: [u64; 3],
    /// The monitor that it waits for, and since when.
    waits: Option<(usize, u64)>,
    shot: Option<Shot>,
}

/// All methods.
pub(super) struct Methods {
    index: HashMap<u64, u32>,
    pub(super) all: Vec<Method>,
    /// Of each: its calls.
    pub(super) times: Vec<Times>,
    cache: Box<[(u64, u32); CACHE]>,
}

/// What is counted of a method.
#[derive(Default)]
pub(super) struct Method {
    pub(super) address: u64,
    pub(super) name: Option<Box<[u8]>>,
    pub(super) code: u64,
    pub(super) len: i32,
    pub(super) traces: Sums,
}

/// The calls of a method that have ended.
#[derive(Default, Clone, Copy)]
pub(super) struct Times {
    pub(super) calls: u64,
    pub(super) own: u64,
    pub(super) in_callees: u64,
}

impl Times {
    pub(super) fn total(&self) -> u64 {
        self.own.wrapping_add(self.in_callees)
    }
}

impl Methods {
    #[inline(always)]
    pub(super) fn of(&mut self, address: u64) -> u32 {
        let place = (address >> 3) as usize % CACHE;
        let (cached, index) = self.cache[place];
        if cached == address && index != u32::MAX {
            return index;
        }
        self.find(address, place)
    }

    /// The name of a method.
    pub(super) fn name(&self, address: u64) -> Option<&[u8]> {
        self.all.get(*self.index.get(&address)? as usize)?.name.as_deref()
    }

    #[inline(never)]
    fn find(&mut self, address: u64, place: usize) -> u32 {
        let (all, times) = (&mut self.all, &mut self.times);
        let index = *self.index.entry(address).or_insert_with(|| {
            all.push(Method { address, ..Method::default() });
            times.push(Times::default());
            all.len() as u32 - 1
        });
        self.cache[place] = (address, index);
        index
    }
}

/// All classes.
#[derive(Default)]
pub(super) struct Classes {
    pub(super) all: Listed<Class>,
    /// By vtable: objects and bytes that no class is known for yet, and where they came from.
    pub(super) by_vtable: HashMap<u64, Class>,
    pub(super) vtables: HashMap<u64, u64>,
}

/// What is counted of a class.
#[derive(Default)]
pub(super) struct Class {
    pub(super) name: Option<Box<[u8]>>,
    pub(super) objects: u64,
    pub(super) bytes: u64,
    pub(super) traces: Sums,
}

impl Classes {
    pub(super) fn of(&mut self, address: u64) -> &mut Class {
        self.all.of(address)
    }

    /// The name of a class.
    pub(super) fn name(&self, address: u64) -> Option<&[u8]> {
        self.all.get(address)?.name.as_deref()
    }

    /// The class of a vtable; of one that is not known, none, which is class 0.
    pub(super) fn of_vtable(&self, vtable: u64) -> u64 {
        self.vtables.get(&vtable).copied().unwrap_or_default()
    }
}

/// What is counted of the collector.
#[derive(Default)]
pub(super) struct Gc {
    pub(super) resizes: u64,
    pub(super) largest: u64,
    pub(super) moves: u64,
    /// By generation: collections, the longest and all time.
    pub(super) collections: [(u64, u64, u64); 3],
    /// By kind: created, destroyed, most at a time.
    pub(super) handles: [Handles; 4],
}

#[derive(Default)]
pub(super) struct Handles {
    pub(super) created: u64,
    pub(super) destroyed: u64,
    pub(super) most: u64,
    pub(super) created_traces: Sums,
    pub(super) destroyed_traces: Sums,
}

/// What is counted of monitors.
#[derive(Default)]
pub(super) struct Monitors {
    /// By object.
    pub(super) all: Listed<Monitor>,
    /// By step, from 1: contention, done, fail.
    pub(super) steps: [u64; 4],
}

#[derive(Default)]
pub(super) struct Monitor {
    pub(super) contentions: u64,
    pub(super) waited: u64,
    pub(super) longest: u64,
    pub(super) traces: Sums,
}

impl Tally {
    pub(super) fn new(wants_traces: bool) -> Tally {
        Tally {
            methods: Methods {
                index: HashMap::new(),
                all: Vec::new(),
                times: Vec::new(),
                cache: Box::new([(0, u32::MAX); CACHE]),
            },
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
        }
    }

    /// A buffer begins.
    pub(super) fn buffer(&mut self, head: &BufferHead) {
        self.start.get_or_insert(head.time);
        self.thread = self.stacks.of(head.thread);
        self.threads.resize_with(self.stacks.all.len(), Thread::default);
        self.stack = std::mem::take(&mut self.stacks.all[self.thread].1);
    }

    /// A buffer has ended.
    pub(super) fn buffer_ended(&mut self, ticks: u64) {
        self.stack.last = ticks;
        self.stacks.all[self.thread].1 = std::mem::take(&mut self.stack);
    }

    /// The log has ended: calls that did not end now do, and what no class was known for finds its class.
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
        let mut by_vtable: Vec<_> = std::mem::take(&mut self.classes.by_vtable).into_iter().collect();
        by_vtable.sort_by_key(|(vtable, _)| *vtable);
        for (vtable, of_vtable) in by_vtable {
            let class = self.classes.of_vtable(vtable);
            let class = self.classes.of(class);
            class.objects += of_vtable.objects;
            class.bytes = class.bytes.wrapping_add(of_vtable.bytes);
            class.traces.take(of_vtable.traces);
        }
    }

    fn alloc(&mut self, item: &Item<'_>, is_vtable: bool) {
        let class = match is_vtable {
            false => self.classes.of(item.value(0)),
            true => match self.classes.vtables.get(&item.value(0)) {
                Some(class) => {
                    let class = *class;
                    self.classes.of(class)
                }
                None => self.classes.by_vtable.entry(item.value(0)).or_default(),
            },
        };
        class.objects += 1;
        class.bytes = class.bytes.wrapping_add(item.value(2));
        if let Some(traces) = &mut self.traces {
            let stack = &self.stack.frames;
            let has_frames = matches!(item.what, What::AllocTraced | What::VtableAllocTraced);
            traces.add(&mut class.traces, has_frames.then_some(item.lists[0]), stack, item.value(2));
        }
    }

    fn gc_event(&mut self, item: &Item<'_>) {
        let (step, generation) = (item.value(0), item.value(1) as usize);
        let started = &mut self.threads[self.thread].gc_started;
        let Some((collections, started)) =
            self.gc.collections.get_mut(generation).zip(started.get_mut(generation))
        else {
            return;
        };
        match step {
            0 => {
                *started = item.ticks;
                collections.0 += 1;
            }
            5 => {
                let time = item.ticks.wrapping_sub(*started);
                collections.1 = collections.1.max(time);
                collections.2 = collections.2.wrapping_add(time);
            }
            _ => {}
        }
    }

    fn handle(&mut self, item: &Item<'_>, is_created: bool) {
        let Some(handles) = self.gc.handles.get_mut(item.value(0) as usize) else { return };
        let sums = if is_created {
            handles.created += 1;
            handles.most = handles.most.max(handles.created.saturating_sub(handles.destroyed));
            &mut handles.created_traces
        } else {
            handles.destroyed += 1;
            &mut handles.destroyed_traces
        };
        if let Some(traces) = &mut self.traces {
            let stack = &self.stack.frames;
            let has_frames = matches!(item.what, What::HandleCreateTraced | What::HandleDestroyTraced);
            traces.add(sums, has_frames.then_some(item.lists[0]), stack, 1);
        }
    }

    fn monitor(&mut self, item: &Item<'_>, step: u64, object: u64) {
        let Monitors { all, steps } = &mut self.monitors;
        let index = all.index_of(object);
        if let Some(count) = steps.get_mut(step as usize) {
            *count += 1;
        }
        let waits = &mut self.threads[self.thread].waits;
        if step != 1 {
            if let Some((index, since)) = waits.take() {
                let (monitor, time) = (&mut all.all[index].1, item.ticks.wrapping_sub(since));
                monitor.longest = monitor.longest.max(time);
                monitor.waited = monitor.waited.wrapping_add(time);
            }
            return;
        }
        *waits = Some((index, item.ticks));
        let monitor = &mut all.all[index].1;
        monitor.contentions += 1;
        if let Some(traces) = &mut self.traces {
            let stack = &self.stack.frames;
            let has_frames = matches!(item.what, What::MonitorContentionTraced | What::MonitorWaitTraced);
            traces.add(&mut monitor.traces, has_frames.then_some(item.lists[0]), stack, 1);
        }
    }
}

#[inline(always)]
fn end_call(methods: &mut Methods, oddities: &mut Vec<Oddity>, address: u64, ended: Ended) {
    let times = &mut methods.times[ended.index as usize];
    times.calls += 1;
    times.own = times.own.wrapping_add(ended.time.wrapping_sub(ended.in_callees));
    times.in_callees = times.in_callees.wrapping_add(ended.in_callees);
    if ended.is_backward || ended.in_callees > ended.time {
        odd(oddities, ended.is_backward, Oddity::Backward(address));
        odd(oddities, ended.in_callees > ended.time, Oddity::CalleesBigger(address));
    }
}

/// Notes an oddity, of which a damaged log can have any number.
#[cold]
fn odd(oddities: &mut Vec<Oddity>, is_so: bool, oddity: Oddity) {
    const MOST: usize = 10_000;
    if is_so && oddities.len() < MOST {
        oddities.push(oddity);
    }
}

impl Visit for Tally {
    #[inline(always)]
    fn call(&mut self, what: What, ticks: u64, method: u64, _: usize, _: usize) {
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
                }
            }
            What::MethodJit => {
                let index = self.methods.of(value(0));
                let method = &mut self.methods.all[index as usize];
                method.name = Some(item.text(3).into());
                (method.code, method.len) = (value(1), value(2) as i32);
            }
            What::ClassLoad | What::ClassDefine => {
                let name = item.entry.name.map_or(&b""[..], |name| item.text(name.into()));
                self.classes.of(value(0)).name = Some(name.into());
            }
            What::VtableLoad => _ = self.classes.vtables.insert(value(0), value(2)),
            What::GcEvent => self.gc_event(item),
            What::GcResize => {
                self.gc.resizes += 1;
                self.gc.largest = self.gc.largest.max(value(0));
            }
            What::GcMoves => self.gc.moves += item.lists[0].len() as u64 / 2,
            What::HandleCreate | What::HandleCreateTraced => self.handle(item, true),
            What::HandleDestroy | What::HandleDestroyTraced => self.handle(item, false),
            What::ImageLoad => self.images.push((value(0), item.text(2).into())),
            What::ImageDefine => self.images.push((value(0), item.text(1).into())),
            What::AssemblyDefine => self.assemblies.push((value(0), item.text(2).into())),
            What::DomainLoad | What::DomainUnload => _ = self.domains.of(value(0)),
            What::DomainName => *self.domains.of(value(0)) = Some(item.text(1).into()),
            What::ContextLoad => *self.contexts.of(value(0)) = value(1),
            What::ThreadStart | What::ThreadEnd => _ = self.stacks.of(value(0)),
            What::ThreadName => {
                self.stacks.of(value(0));
                self.thread_names.insert(value(0), item.text(1).into());
            }
            What::Throw | What::ThrowTraced | What::ThrowFrames => {
                self.throws += 1;
                if let Some(traces) = &mut self.traces {
                    let stack = &self.stack.frames;
                    let frames = (item.what != What::Throw).then_some(item.lists[0]);
                    traces.add(&mut self.throw_traces, frames, stack, 1);
                }
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
                let earlier = self.threads[self.thread].shot.replace(shot);
                self.shots.all.extend(earlier);
            }
            What::HeapEnd => {
                let shot = self.threads[self.thread].shot.take();
                self.shots.all.extend(shot);
            }
            What::CounterDefine => self.counters.define(item),
            What::CounterNumber | What::CounterReal | What::CounterText => self.counters.value(item),
            What::JitHelper => {
                self.helpers.0 += 1;
                self.helpers.1 = self.helpers.1.wrapping_add(value(2) as i32);
            }
            What::SampleHit => {
                item.lists[0].iter().for_each(|ip| *self.samples.of(*ip) += 1);
            }
            What::SampleSymbol => self.symbols.push((value(0), item.text(2).into())),
            What::Buffer | What::Order | What::AssemblyLoad | What::ImageUnload | What::AssemblyUnload => {}
            What::MethodEnter | What::MethodReturn | What::MethodLeave | What::MethodUnwind => {}
            What::MethodExcLeave | What::ContextUnload => {}
            What::FinalizeStart | What::FinalizeEnd | What::FinalizeObjectStart => {}
            What::FinalizeObjectEnd | What::HeapRoots | What::HeapRootRegister => {}
            What::HeapRootUnregister | What::SyncPoint | What::AotId => {}
        }
    }
}

impl Tally {
    /// Shots whose end the log does not have.
    pub(super) fn end_shots(&mut self) {
        self.shots.all.extend(self.threads.iter_mut().filter_map(|thread| thread.shot.take()));
    }
}
