//! The line of each event.

use super::lines::Lines;
use crate::mono::decode::Item;
use crate::mono::text::Text;
use crate::mono::what::What;
use crate::mono::words;

impl Lines<'_> {
    /// Appends the line of an event other than a call, if it has one.
    pub(super) fn line(&mut self, item: &Item<'_>) {
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
            What::GcEvent | What::WorldStop | What::WorldStart => {
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
            // The tool prints the same for a class or an image that could not be loaded.
            What::ClassLoad | What::ClassLoadError | What::ClassDefine => {
                let name = match item.what {
                    What::ClassLoadError => item.text(3),
                    _ => item.entry.name.map_or(&b""[..], |name| item.text(name.into())),
                };
                self.pointers(["loaded class ", " ("], value(0)).bytes(name);
                self.pointers([" in ", ")"], value(1));
                self.at(item);
            }
            What::ImageLoad | What::ImageDefine => self.named("loaded image ", item),
            What::ImageLoadError => {
                self.pointers(["loaded image ", " ("], item.value(0)).bytes(item.text(2)).text(")");
                self.at(item);
            }
            What::ImageUnload => self.named("unloaded image ", item),
            What::AssemblyDefine => self.named("loaded assembly ", item),
            What::AssemblyUnload => self.named("unloaded assembly ", item),
            // The tool prints `thread` for domains, too.
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
            // Nothing is printed for them, or they are not events of a buffer.
            What::CounterDefine | What::CounterNumber | What::CounterReal | What::CounterText => {}
            What::AssemblyLoadError | What::DomainLoadError => {}
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
