//! Numbers of fields, and of values of enums, by message.

/// `Trace`
pub(super) mod trace {
    pub(crate) const PACKET: u32 = 1;
}

/// `TracePacket`
pub(super) mod packet {
    pub(crate) const CLOCK_SNAPSHOT: u32 = 6;
    pub(crate) const TIMESTAMP: u32 = 8;
    pub(crate) const SEQUENCE: u32 = 10;
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const INTERNED_DATA: u32 = 12;
    pub(crate) const SEQUENCE_FLAGS: u32 = 13;
    pub(crate) const PREVIOUS_DROPPED: u32 = 42;
    pub(crate) const COMPRESSED_PACKETS: u32 = 50;
    pub(crate) const CLOCK_ID: u32 = 58;
    pub(crate) const DEFAULTS: u32 = 59;
    pub(crate) const TRACK_DESCRIPTOR: u32 = 60;
}

/// Sequences of packets, and `TracePacket.SequenceFlags`
pub(super) mod sequence {
    /// Events and spans.
    pub(crate) const EVENTS: u64 = 1;
    /// Losses.
    pub(crate) const LOSSES: u64 = 2;

    pub(crate) const CLEARED: u64 = 1;
    pub(crate) const NEEDS_STATE: u64 = 2;
}

/// `ClockSnapshot`, its `Clock`, and numbers of clocks.
pub(super) mod clock {
    pub(crate) const CLOCKS: u32 = 1;
    pub(crate) const PRIMARY: u32 = 2;
    pub(crate) const ID: u32 = 1;
    pub(crate) const TIMESTAMP: u32 = 2;
    pub(crate) const IS_INCREMENTAL: u32 = 3;

    pub(crate) const REALTIME: u64 = 1;
    pub(crate) const BOOTTIME: u64 = 6;
    /// A clock of one sequence: each timestamp is the time since the last one.
    pub(crate) const STEPS: u64 = 64;
}

/// `TracePacketDefaults`
pub(super) mod defaults {
    pub(crate) const CLOCK_ID: u32 = 58;
}

/// `TrackDescriptor`, its `ProcessDescriptor` and `ThreadDescriptor`
pub(super) mod track {
    pub(crate) const UUID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const PROCESS: u32 = 3;
    pub(crate) const THREAD: u32 = 4;
    pub(crate) const PARENT: u32 = 5;
    pub(crate) const COUNTER: u32 = 8;

    pub(crate) const PID: u32 = 1;
    pub(crate) const PROCESS_NAME: u32 = 6;
    pub(crate) const TID: u32 = 2;
    pub(crate) const THREAD_NAME: u32 = 5;
}

/// `CounterDescriptor` and its units
pub(super) mod counter {
    pub(crate) const UNIT: u32 = 3;
    pub(crate) const UNIT_NAME: u32 = 6;

    pub(crate) const NANOSECONDS: u64 = 1;
    pub(crate) const BYTES: u64 = 3;
}

/// `TrackEvent` and its types
pub(super) mod event {
    pub(crate) const CATEGORY: u32 = 3;
    pub(crate) const ANNOTATION: u32 = 4;
    pub(crate) const TYPE: u32 = 9;
    pub(crate) const NAME: u32 = 10;
    pub(crate) const TRACK: u32 = 11;
    pub(crate) const TEXT: u32 = 23;
    pub(crate) const INTEGER: u32 = 30;
    pub(crate) const DOUBLE: u32 = 44;

    pub(crate) const BEGIN: u64 = 1;
    pub(crate) const END: u64 = 2;
    pub(crate) const INSTANT: u64 = 3;
    pub(crate) const READING: u64 = 4;
}

/// `DebugAnnotation`
pub(super) mod annotation {
    pub(crate) const NAME: u32 = 1;
    pub(crate) const BOOL: u32 = 2;
    pub(crate) const UNSIGNED: u32 = 3;
    pub(crate) const SIGNED: u32 = 4;
    pub(crate) const DOUBLE: u32 = 5;
    pub(crate) const STRING: u32 = 6;
    pub(crate) const POINTER: u32 = 7;
    pub(crate) const TEXT: u32 = 10;
    pub(crate) const ARRAY: u32 = 12;
    pub(crate) const INTERNED_STRING: u32 = 17;
}

/// `InternedData` and its entries
pub(super) mod interned {
    pub(crate) const CATEGORIES: u32 = 1;
    pub(crate) const EVENTS: u32 = 2;
    pub(crate) const ANNOTATIONS: u32 = 3;
    pub(crate) const STRINGS: u32 = 29;

    pub(crate) const ID: u32 = 1;
    pub(crate) const TEXT: u32 = 2;
}
