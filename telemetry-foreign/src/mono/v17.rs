//! Data version 17: the log of Mono 6.8.

use super::row::Field::{Byte, Method, Number, Object, Pointer, Text, TextIf};
use super::row::{Frames, List, Row, Stamp, row, with_sub};

/// The content of the file header in this version.
pub(super) const STAMP: Stamp = Stamp { major: 3, minor: 0, data: 17 };

/// Frames of a backtrace are methods, each relative to the one before.
const FRAMES: List = List::Frames(Frames::Methods);

/// Every event: its first byte, its name in the registry, and the encodings of its parameters, in
/// order.
pub(super) const ROWS: &[Row] = &[
    row(0x00, "VtableAlloc", &[Pointer, Object, Number], List::None),
    row(0x10, "VtableAllocTraced", &[Pointer, Object, Number], FRAMES),
    row(0x11, "GcEvent", &[Byte, Byte], List::None),
    row(0x21, "GcResize", &[Number], List::None),
    row(0x31, "GcMoves", &[], List::Pairs),
    row(0x41, "HandleCreate", &[Number, Number, Object], List::None),
    row(0x61, "HandleCreateTraced", &[Number, Number, Object], FRAMES),
    row(0x51, "HandleDestroy", &[Number, Number], List::None),
    row(0x71, "HandleDestroyTraced", &[Number, Number], FRAMES),
    row(0x81, "FinalizeStart", &[], List::None),
    row(0x91, "FinalizeEnd", &[], List::None),
    row(0xa1, "FinalizeObjectStart", &[Object], List::None),
    row(0xb1, "FinalizeObjectEnd", &[Object], List::None),
    with_sub(0x22, 1, "ClassDefine", &[Pointer, Pointer, Text]),
    with_sub(0x22, 2, "ImageDefine", &[Pointer, Text, Text]),
    with_sub(0x42, 2, "ImageUnload", &[Pointer, Text]),
    with_sub(0x22, 3, "AssemblyDefine", &[Pointer, Pointer, Text]),
    with_sub(0x42, 3, "AssemblyUnload", &[Pointer, Pointer, Text]),
    with_sub(0x22, 4, "DomainLoad", &[Pointer]),
    with_sub(0x42, 4, "DomainUnload", &[Pointer]),
    with_sub(0x02, 4, "DomainName", &[Pointer, Text]),
    with_sub(0x22, 5, "ThreadStart", &[Pointer]),
    with_sub(0x42, 5, "ThreadEnd", &[Pointer]),
    with_sub(0x02, 5, "ThreadName", &[Pointer, Text]),
    with_sub(0x22, 6, "ContextLoad", &[Pointer, Pointer]),
    with_sub(0x42, 6, "ContextUnload", &[Pointer, Pointer]),
    with_sub(0x22, 7, "VtableLoad", &[Pointer, Pointer, Pointer]),
    row(0x13, "MethodLeave", &[Method], List::None),
    row(0x23, "MethodEnter", &[Method], List::None),
    row(0x33, "MethodExcLeave", &[Method], List::None),
    row(0x43, "MethodJit", &[Method, Pointer, Number, Text], List::None),
    row(0x04, "Throw", &[Object], List::None),
    row(0x84, "ThrowFrames", &[Object], FRAMES),
    row(0x14, "ClauseObject", &[Byte, Number, Method, Object], List::None),
    row(0x05, "MonitorWait", &[Byte, Object], List::None),
    row(0x85, "MonitorWaitTraced", &[Byte, Object], FRAMES),
    row(0x06, "HeapStart", &[], List::None),
    row(0x16, "HeapEnd", &[], List::None),
    row(0x26, "VtableHeapObject", &[Object, Pointer, Number, Byte], List::OffsetsAndObjects),
    row(0x36, "HeapRoots", &[], List::PointersAndObjects),
    row(0x46, "HeapRootRegister", &[Pointer, Number, Byte, Pointer, Text], List::None),
    row(0x56, "HeapRootUnregister", &[Pointer], List::None),
    row(0x07, "SampleHit", &[Pointer], List::PointersAndFrames),
    row(0x17, "SampleSymbol", &[Pointer, Number, Text], List::None),
    row(0x37, "CounterDefine", &[], List::Counters),
    row(0x47, "CounterNumber", &[], List::CounterValues),
    // Only a trampoline for one method has a name: its kind is 5.
    row(0x18, "JitHelper", &[Byte, Pointer, Number, TextIf(5)], List::None),
    row(0x0a, "SyncPoint", &[Byte], List::None),
    row(0x1a, "AotId", &[Text], List::None),
];
