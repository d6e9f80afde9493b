//! The text of `mprof-report --debug`: a line for each event, in the order of the log.

use std::io::{self, Write};

use telemetry_decode::{Damage, LogBytes};

use super::decode::{Item, Visit, decode};
use super::header::FileHead;
use super::known::Known;
use super::layout::Version;
use super::read_ahead::ReadAhead;
use super::stack::{Left, Stack, Stacks};
use super::text::Text;
use super::walk::{Layouts, Placed, Step, Walk};
use super::what::What;
use super::words;

/// Bytes of text that are written together.
const FULL: usize = 64 << 10;

/// Writes what `mprof-report --debug` prints for a log: that of 2010 for data version 1, that of Mono 6.8 for 17.
/// Gives back what could not be read.
///
/// Two things differ. Behind an allocation the tool of 2010 prints where in its own memory it had read up to; here
/// this is where in the buffer. And classes and methods of version 17 have their names also before the log says them.
///
/// # Errors
/// Those of the input and of the output.
pub fn debug(bytes: &mut LogBytes<'_>, out: &mut dyn Write) -> io::Result<Vec<Damage>> {
    let layouts = Layouts::shared();
    let mut lines = Lines::default();
    let mut ahead = ReadAhead::new(bytes.len());
    let (mut heads, mut damaged) = (Vec::<FileHead>::new(), Vec::new());
    let mut walk = Walk::new(layouts);
    loop {
        match walk.next(bytes)? {
            Step::End => break,
            Step::Damage(damage) => damaged.push(damage),
            Step::File(head) => {
                if head.version == Version::Seventeen && heads.is_empty() {
                    lines.all = all_names(layouts, bytes)?;
                }
                ahead.read_to(walk.at());
                heads.push(*head);
            }
            Step::Buffer(placed) => {
                let layout = layouts.of(placed.version);
                lines.buffer(&placed, if placed.version == Version::One { ahead.at() } else { placed.at });
                ahead.read_to(placed.payload_at());
                let payload = bytes.at(placed.payload_at(), placed.len)?;
                let payload = &payload[..placed.len.min(payload.len())];
                let decoded = decode(layout, &placed.head, payload, &mut lines);
                ahead.read_to(placed.payload_at() + placed.len as u64);
                lines.stacks.all[lines.thread].1.last = decoded.ticks;
                damaged.extend(placed.damage(&decoded));
            }
        }
        if lines.out.len() >= FULL {
            out.write_all(&lines.out)?;
            lines.out.clear();
        }
    }
    lines.end();
    heads.iter().for_each(|head| words::header(head, &mut lines.out));
    out.write_all(&lines.out)?;
    Ok(damaged)
}

/// What the whole log says of names.
fn all_names(layouts: &Layouts, bytes: &mut LogBytes<'_>) -> io::Result<Known> {
    let (mut names, mut walk) = (AllNames::default(), Walk::new(layouts));
    loop {
        match walk.next(bytes)? {
            Step::End => return Ok(names.0),
            Step::Damage(_) | Step::File(_) => {}
            Step::Buffer(placed) => {
                let payload = bytes.at(placed.payload_at(), placed.len)?;
                let payload = &payload[..placed.len.min(payload.len())];
                decode(layouts.of(placed.version), &placed.head, payload, &mut names);
            }
        }
    }
}

#[derive(Default)]
struct AllNames(Known);

impl Visit for AllNames {
    fn call(&mut self, _: What, _: u64, _: u64, _: usize, _: usize) {}

    fn event(&mut self, item: &Item<'_>) {
        self.0.take(item);
    }
}

#[derive(Default)]
struct Lines {
    out: Vec<u8>,
    /// Names that the log has said so far.
    known: Known,
    /// Those that it says anywhere, where they are wanted.
    all: Known,
    stacks: Stacks,
    is_one: bool,
    thread: usize,
    thread_id: u64,
}

impl Lines {
    fn buffer(&mut self, placed: &Placed, offset: u64) {
        let head = &placed.head;
        self.is_one = placed.version == Version::One;
        self.thread = self.stacks.of(head.thread);
        self.thread_id = head.thread;
        // The tool of 2010 prints the lower half of the thread.
        let thread = if self.is_one { head.thread & 0xffff_ffff } else { head.thread };
        self.out.text("buf: thread:").hex(thread).text(", len: ").signed(head.len.into());
        self.out.text(", time: ").decimal(head.time).text(", file offset: ").decimal(offset).text("\n");
    }

    /// Calls that never ended.
    fn end(&mut self) {
        for (thread, stack) in self.stacks.all.iter_mut().rev() {
            while let Some(frame) = stack.frames.last().copied() {
                self.out.text("thread ").pointer(*thread).text(" has ");
                self.out.decimal(stack.frames.len() as u64).text(" items on stack\n");
                let left = stack.leave(frame.method, stack.last, &mut self.stacks.room);
                if let Left::Ended(ended) = left {
                    let name = |out: &mut Vec<u8>| {
                        let name = self.known.method(frame.method).or_else(|| self.all.method(frame.method));
                        unknown_method(name, frame.method, self.is_one, out);
                    };
                    ended_oddly(ended.is_backward, ended.in_callees > ended.time, name, &mut self.out);
                }
            }
        }
    }

    #[inline]
    fn method(&mut self, method: u64) {
        let name = self.known.method(method).or_else(|| self.all.method(method));
        unknown_method(name, method, self.is_one, &mut self.out);
    }

    fn class(&mut self, class: u64) {
        match self.known.class(class).or_else(|| self.all.class(class)) {
            Some(name) => self.out.bytes(name),
            None if self.is_one => self.out.text("unresolved class"),
            None => self.out.text("unresolved class ").pointer(class),
        };
    }

    /// The class of an object, by what stands for it in this version.
    fn class_by(&mut self, pointer: u64) {
        if self.is_one {
            return self.class(pointer);
        }
        let class = self.known.class_of(pointer).or_else(|| self.all.class_of(pointer));
        self.class(class.unwrap_or_default());
    }

    fn at(&mut self, item: &Item<'_>) {
        self.out.text(" at ").decimal(item.ticks).text("\n");
    }

    /// A line of words and a pointer in turn.
    fn pointers(&mut self, words: [&str; 2], pointer: u64) -> &mut Vec<u8> {
        self.out.text(words[0]).pointer(pointer).text(words[1])
    }
}

fn unknown_method(name: Option<&[u8]>, method: u64, is_one: bool, out: &mut Vec<u8>) {
    match name {
        Some(name) => out.bytes(name),
        None if is_one => out.text("unknown method"),
        None => out.text("unknown method ").pointer(method),
    };
}

/// What is said of a call whose times make no sense.
#[inline]
fn ended_oddly(is_backward: bool, is_bigger: bool, name: impl Fn(&mut Vec<u8>), out: &mut Vec<u8>) {
    for (is_so, words) in [(is_backward, "time went backwards for "), (is_bigger, "callee time bigger for ")]
    {
        if is_so {
            out.text(words);
            name(out);
            out.text("\n");
        }
    }
}

impl Visit for Lines {
    #[inline]
    fn call(&mut self, what: What, ticks: u64, method: u64, _: usize, _: usize) {
        let Stacks { all, room, .. } = &mut self.stacks;
        let stack: &mut Stack = &mut all[self.thread].1;
        let words = match what {
            What::MethodEnter => {
                stack.enter(method, 0, ticks, room);
                "enter method "
            }
            what => {
                let position = stack.frames.len() as u64;
                match stack.leave(method, ticks, room) {
                    Left::Unmatched => {
                        self.out.text("unmatched leave at stack pos: ").decimal(position);
                        self.out.text(" for method ");
                        self.method(method);
                        self.out.text("\n");
                    }
                    Left::Ended(ended) if ended.is_backward || ended.in_callees > ended.time => {
                        let name = self.known.method(method).or_else(|| self.all.method(method));
                        let name = |out: &mut Vec<u8>| unknown_method(name, method, self.is_one, out);
                        ended_oddly(ended.is_backward, ended.in_callees > ended.time, name, &mut self.out);
                    }
                    Left::Ended(_) | Left::Unknown => {}
                }
                if what == What::MethodLeave { "leave method " } else { "exleave method " }
            }
        };
        self.out.text(words);
        self.method(method);
        self.out.text("\n");
    }

    fn event(&mut self, item: &Item<'_>) {
        self.known.take(item);
        self.line(item);
    }
}

impl Lines {
    fn line(&mut self, item: &Item<'_>) {
        let value = |index| item.value(index);
        let [first, second] = item.lists;
        match item.what {
            What::Alloc | What::AllocTraced | What::VtableAlloc | What::VtableAllocTraced => {
                self.pointers(["alloced object ", ", size "], value(1)).decimal(value(2)).text(" (");
                self.class_by(value(0));
                self.out.text(") at ").decimal(item.ticks);
                if self.is_one {
                    self.out.text(" (").pointer(item.single_end as u64).text(")");
                }
                self.out.text("\n");
            }
            What::GcEvent => {
                let (step, generation) = (words::gc_step(value(0)), value(1) as i32);
                let shown = if self.is_one { generation.wrapping_sub(1) } else { generation };
                self.out.text("gc event for gen").signed(shown.into()).text(": ").text(step);
                self.out.text(" at ").decimal(item.ticks);
                if !self.is_one {
                    self.out.text(" (thread: 0x").hex(self.thread_id).text(")");
                }
                self.out.text("\n");
                if generation > 2 {
                    self.out.text("incorrect gc gen: ").signed(generation.into()).text("\n");
                }
            }
            What::GcResize => _ = self.out.text("gc heap resized to ").decimal(value(0)).text("\n"),
            What::GcMoves => {
                for pair in first.chunks_exact(2) {
                    self.pointers(["moved obj ", " to "], pair[0]).pointer(pair[1]).text("\n");
                }
            }
            What::HandleCreate | What::HandleCreateTraced => {
                let kind = words::handle(value(0));
                self.out.text("handle (").text(kind).text(") ").decimal(value(1) as u32 as u64);
                self.pointers([" created for object ", "\n"], value(2));
            }
            What::HandleDestroy | What::HandleDestroyTraced => {
                let kind = words::handle(value(0));
                self.out.text("handle (").text(kind).text(") ").decimal(value(1) as u32 as u64);
                self.out.text(" destroyed\n");
            }
            What::FinalizeStart => {
                self.out.text("gc finalizer queue being processed");
                self.at(item);
            }
            What::FinalizeEnd => {
                self.out.text("gc finalizer queue finished processing");
                self.at(item);
            }
            What::FinalizeObjectStart => {
                self.pointers(["gc finalizing object ", ""], value(0));
                self.at(item);
            }
            What::FinalizeObjectEnd => {
                self.pointers(["gc finalized object ", ""], value(0));
                self.at(item);
            }
            What::ClassLoad | What::ClassDefine => {
                let name = item.entry.name.map_or(&b""[..], |name| item.text(name.into()));
                self.pointers(["loaded class ", " ("], value(0)).bytes(name);
                self.pointers([" in ", ")"], value(1));
                self.at(item);
            }
            What::ImageLoad | What::ImageDefine => self.named("loaded image ", item),
            What::ImageUnload => self.named("unloaded image ", item),
            What::AssemblyDefine => self.named("loaded assembly ", item),
            What::AssemblyUnload => self.named("unloaded assembly ", item),
            // The tool says thread for domains, too.
            What::DomainLoad if self.is_one => {}
            What::DomainLoad | What::ThreadStart => {
                self.pointers(["loaded thread ", ""], value(0));
                self.at(item);
            }
            What::DomainUnload | What::ThreadEnd => {
                self.pointers(["unloaded thread ", ""], value(0));
                self.at(item);
            }
            What::DomainName => self.is_named("domain ", item),
            What::ThreadName => {
                self.stacks.of(value(0));
                self.is_named("thread ", item);
            }
            What::ContextLoad => self.context("loaded context ", item),
            What::ContextUnload => self.context("unloaded context ", item),
            What::VtableLoad => {
                self.pointers(["vtable ", " for class "], value(0)).pointer(value(2));
                self.pointers([" in domain ", ""], value(1));
                self.at(item);
            }
            What::MethodJit => {
                self.pointers(["jitted method ", " ("], value(0)).bytes(item.text(3));
                self.out.text("), size: ").signed((value(2) as i32).into());
                if !self.is_one {
                    self.pointers([", code: ", ""], value(1));
                }
                self.out.text("\n");
            }
            What::Throw | What::ThrowTraced | What::ThrowFrames => {
                self.pointers(["throw ", "\n"], value(0));
            }
            What::Clause | What::ClauseObject => {
                self.out.text("clause ").text(words::clause(value(0))).text(" (");
                self.out.signed((value(1) as i32).into()).text(") in method ");
                self.method(value(2));
                self.out.text("\n");
            }
            What::MonitorContention | What::MonitorContentionTraced => self.monitor(1, value(0)),
            What::MonitorDone => self.monitor(2, value(0)),
            What::MonitorFail => self.monitor(3, value(0)),
            What::MonitorWait | What::MonitorWaitTraced => self.monitor(value(0), value(1)),
            What::HeapStart => _ = self.out.text("heap shot start\n"),
            What::HeapEnd => _ = self.out.text("heap shot end\n"),
            What::HeapObject | What::VtableHeapObject if value(2) == 0 => {}
            What::HeapObject => self.traced(item, first.len()),
            What::VtableHeapObject => self.traced(item, second.len()),
            What::HeapRoots => {
                for (address, object) in first.iter().zip(second) {
                    self.pointers(["root object ", " at address "], *object).pointer(*address).text("\n");
                }
            }
            What::HeapRootRegister => {
                self.pointers(["root register address ", " size "], value(0)).signed(value(1) as i64);
                self.out.text(" type ").decimal(value(2));
                self.pointers([" key ", " name "], value(3)).bytes(item.text(4)).text("\n");
            }
            What::HeapRootUnregister => {
                self.pointers(["root unregister address ", "\n"], value(0));
            }
            What::SampleHit => {
                for ip in first {
                    self.pointers(["sample hit, type: 1 at ", " for thread "], *ip);
                    self.out.pointer(value(0)).text("\n");
                }
                for (index, method) in second.iter().enumerate() {
                    self.out.text("sample hit bt ").decimal(index as u64).text(": ");
                    self.method(*method);
                    self.out.text("\n");
                }
            }
            What::SampleSymbol => {
                self.out.text("unmanaged symbol ").bytes(item.text(2));
                self.pointers([" at ", "\n"], value(0));
            }
            What::JitHelper => {
                self.out.text("jit helper ");
                match value(0) {
                    5 => self.out.bytes(item.text(3)),
                    kind => self.out.text(words::code(kind)),
                };
                self.out.text(", size: ").signed((value(2) as i32).into());
                self.pointers([", code: ", "\n"], value(1));
            }
            What::SyncPoint => {
                let kind = words::sync(value(0));
                self.out.text("sync point ").decimal(value(0)).text(" (").text(kind).text(")\n");
            }
            What::AotId => _ = self.out.text("aot id ").bytes(item.text(0)).text("\n"),
            // Nothing is printed of them, or they are no events of a buffer.
            What::CounterDefine | What::CounterNumber | What::CounterReal | What::CounterText => {}
            What::AssemblyLoad | What::Buffer | What::Order => {}
            What::MethodEnter | What::MethodReturn | What::MethodLeave | What::MethodUnwind => {}
            What::MethodExcLeave => {}
        }
    }

    fn named(&mut self, words: &str, item: &Item<'_>) {
        let name = item.entry.name.map_or(&b""[..], |name| item.text(name.into()));
        self.pointers([words, " ("], item.value(0)).bytes(name).text(")");
        self.at(item);
    }

    fn is_named(&mut self, words: &str, item: &Item<'_>) {
        self.pointers([words, " named at "], item.value(0)).decimal(item.ticks);
        self.out.text(": ").bytes(item.text(1)).text("\n");
    }

    fn context(&mut self, words: &str, item: &Item<'_>) {
        self.pointers([words, " ("], item.value(0)).pointer(item.value(1)).text(")");
        self.at(item);
    }

    fn monitor(&mut self, step: u64, object: u64) {
        self.out.text("monitor ").text(words::monitor(step));
        self.pointers([" for object ", "\n"], object);
    }

    fn traced(&mut self, item: &Item<'_>, refs: usize) {
        self.pointers(["traced object ", ", size "], item.value(0)).decimal(item.value(2)).text(" (");
        self.class_by(item.value(1));
        self.out.text("), refs: ").decimal(refs as u64).text("\n");
    }
}
