//! The events of the registry by name, to match on.

macro_rules! events {
    ($($name:ident),* $(,)?) => {
        /// An event of the registry.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum What {
            $($name),*
        }

        impl What {
            /// All of them, with their names in the registry.
            pub(super) const ALL: &[(What, &str)] = &[$((What::$name, stringify!($name))),*];
        }
    };
}

events! {
    Buffer, Order, Alloc, AllocTraced, MethodEnter, MethodReturn, MethodLeave, MethodUnwind,
    MethodExcLeave, MethodJit, HeapObject, HeapStart, HeapEnd, GcEvent, GcMoves, GcResize,
    ClassLoad, ImageLoad, AssemblyLoad, DomainLoad, Throw, ThrowTraced, Clause, MonitorContention,
    MonitorContentionTraced, MonitorDone, MonitorFail, VtableAlloc, VtableAllocTraced,
    VtableHeapObject, HeapRoots, HeapRootRegister, HeapRootUnregister, HandleCreate,
    HandleCreateTraced, HandleDestroy, HandleDestroyTraced, FinalizeStart, FinalizeEnd,
    FinalizeObjectStart, FinalizeObjectEnd, ClassDefine, ImageDefine, ImageUnload, AssemblyDefine,
    AssemblyUnload, DomainUnload, DomainName, ThreadStart, ThreadEnd, ThreadName, ContextLoad,
    ContextUnload, VtableLoad, ThrowFrames, ClauseObject, MonitorWait, MonitorWaitTraced,
    SampleHit, SampleSymbol, CounterDefine, CounterNumber, CounterReal, CounterText, JitHelper,
    SyncPoint, AotId, ClassLoadError, ImageLoadError, AssemblyLoadError, DomainLoadError, WorldStop,
    WorldStart,
}

impl What {
    /// Returns the event for a step of a collection. Those that stop and start the program are
    /// events of their own, so that a span can have them.
    pub(super) fn of_step(step: u64) -> What {
        match step {
            6 => What::WorldStop,
            9 => What::WorldStart,
            _ => What::GcEvent,
        }
    }

    /// Returns the event with a name.
    pub(super) fn of(name: &str) -> Option<What> {
        What::ALL.iter().find(|(_, known)| *known == name).map(|(what, _)| *what)
    }
}
