//! Data version 1: the log of 2010.

use super::row::Field::{Method, Number, Object, Pointer, Text};
use super::row::{Frames, List, Row, Stamp, row, with_sub, without_time};

/// The content of the file header in this version.
pub(super) const STAMP: Stamp = Stamp { major: 0, minor: 1, data: 1 };

/// Frames of a backtrace are pointers, after a number of flags.
const FRAMES: List = List::Frames(Frames::FlagsAndPointers);

/// Every event: its first byte, its name in the registry, and the encodings of its parameters, in
/// order.
pub(super) const ROWS: &[Row] = &[
    row(0x00, "Alloc", &[Pointer, Object, Number], List::None),
    row(0x10, "AllocTraced", &[Pointer, Object, Number], FRAMES),
    row(0x11, "GcEvent", &[Number, Number], List::None),
    row(0x21, "GcResize", &[Number], List::None),
    row(0x31, "GcMoves", &[], List::Pairs),
    with_sub(0x22, 1, "ClassLoad", &[Pointer, Pointer, Number, Text]),
    with_sub(0x22, 2, "ImageLoad", &[Pointer, Number, Text]),
    with_sub(0x22, 3, "AssemblyLoad", &[Pointer]),
    with_sub(0x22, 4, "DomainLoad", &[Pointer]),
    // Bit 7 of the first byte says that loading failed. In the format's description it stands
    // alone, in its header beside the bit for the end of loading, which all other such events have.
    // It is written in the second form.
    with_sub(0x82, 1, "ClassLoadError", &[Pointer, Pointer, Number, Text]),
    with_sub(0x82, 2, "ImageLoadError", &[Pointer, Number, Text]),
    with_sub(0x82, 3, "AssemblyLoadError", &[Pointer]),
    with_sub(0x82, 4, "DomainLoadError", &[Pointer]),
    with_sub(0xa2, 1, "ClassLoadError", &[Pointer, Pointer, Number, Text]),
    with_sub(0xa2, 2, "ImageLoadError", &[Pointer, Number, Text]),
    with_sub(0xa2, 3, "AssemblyLoadError", &[Pointer]),
    with_sub(0xa2, 4, "DomainLoadError", &[Pointer]),
    row(0x13, "MethodLeave", &[Method], List::None),
    row(0x23, "MethodEnter", &[Method], List::None),
    row(0x33, "MethodExcLeave", &[Method], List::None),
    row(0x43, "MethodJit", &[Method, Pointer, Number, Text], List::None),
    row(0x04, "Throw", &[Object], List::None),
    row(0x84, "ThrowTraced", &[Object], FRAMES),
    row(0x14, "Clause", &[Number, Number, Method], List::None),
    // The step of a monitor is in bits 4 and 5; bit 7 marks a trace.
    row(0x15, "MonitorContention", &[Object], List::None),
    row(0x95, "MonitorContentionTraced", &[Object], FRAMES),
    row(0x25, "MonitorDone", &[Object], List::None),
    row(0x35, "MonitorFail", &[Object], List::None),
    row(0x06, "HeapStart", &[], List::None),
    row(0x16, "HeapEnd", &[], List::None),
    without_time(0x26, "HeapObject", &[Object, Pointer, Number], List::Objects),
];
