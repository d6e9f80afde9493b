//! Numbers of fields, and of values of enums, by message.

/// `Trace`
pub(super) mod trace {
    pub(in crate::perfetto) const PACKET: u32 = 1;
}

/// `TracePacket`
pub(super) mod packet {
    pub(in crate::perfetto) const CLOCK_SNAPSHOT: u32 = 6;
    pub(in crate::perfetto) const TIMESTAMP: u32 = 8;
    pub(in crate::perfetto) const SEQUENCE: u32 = 10;
    pub(in crate::perfetto) const TRACK_EVENT: u32 = 11;
    pub(in crate::perfetto) const INTERNED_DATA: u32 = 12;
    pub(in crate::perfetto) const SEQUENCE_FLAGS: u32 = 13;
    pub(in crate::perfetto) const PREVIOUS_DROPPED: u32 = 42;
    pub(in crate::perfetto) const COMPRESSED_PACKETS: u32 = 50;
    pub(in crate::perfetto) const CLOCK_ID: u32 = 58;
    pub(in crate::perfetto) const DEFAULTS: u32 = 59;
    pub(in crate::perfetto) const TRACK_DESCRIPTOR: u32 = 60;
}

/// `TracePacket.SequenceFlags`
pub(super) mod sequence {
    pub(in crate::perfetto) const CLEARED: u64 = 1;
    pub(in crate::perfetto) const NEEDS_STATE: u64 = 2;
}

/// `ClockSnapshot`, its `Clock`, and numbers of clocks.
pub(super) mod clock {
    pub(in crate::perfetto) const CLOCKS: u32 = 1;
    pub(in crate::perfetto) const PRIMARY: u32 = 2;
    pub(in crate::perfetto) const ID: u32 = 1;
    pub(in crate::perfetto) const TIMESTAMP: u32 = 2;
    pub(in crate::perfetto) const IS_INCREMENTAL: u32 = 3;

    pub(in crate::perfetto) const REALTIME: u64 = 1;
    pub(in crate::perfetto) const BOOTTIME: u64 = 6;
    /// A clock of one sequence: each timestamp is the time since the last one.
    pub(in crate::perfetto) const STEPS: u64 = 64;
}

/// `TracePacketDefaults`
pub(super) mod defaults {
    pub(in crate::perfetto) const CLOCK_ID: u32 = 58;
}

/// `TrackDescriptor`, its `ProcessDescriptor` and `ThreadDescriptor`
pub(super) mod track {
    pub(in crate::perfetto) const UUID: u32 = 1;
    pub(in crate::perfetto) const NAME: u32 = 2;
    pub(in crate::perfetto) const PROCESS: u32 = 3;
    pub(in crate::perfetto) const THREAD: u32 = 4;
    pub(in crate::perfetto) const PARENT: u32 = 5;

    pub(in crate::perfetto) const PID: u32 = 1;
    pub(in crate::perfetto) const PROCESS_NAME: u32 = 6;
    pub(in crate::perfetto) const TID: u32 = 2;
    pub(in crate::perfetto) const THREAD_NAME: u32 = 5;
}

/// `TrackEvent` and its types
pub(super) mod event {
    pub(in crate::perfetto) const CATEGORY: u32 = 3;
    pub(in crate::perfetto) const ANNOTATION: u32 = 4;
    pub(in crate::perfetto) const TYPE: u32 = 9;
    pub(in crate::perfetto) const NAME: u32 = 10;
    pub(in crate::perfetto) const TRACK: u32 = 11;
    pub(in crate::perfetto) const TEXT: u32 = 23;

    pub(in crate::perfetto) const BEGIN: u64 = 1;
    pub(in crate::perfetto) const END: u64 = 2;
    pub(in crate::perfetto) const INSTANT: u64 = 3;
}

/// `DebugAnnotation`
pub(super) mod annotation {
    pub(in crate::perfetto) const NAME: u32 = 1;
    pub(in crate::perfetto) const BOOL: u32 = 2;
    pub(in crate::perfetto) const UNSIGNED: u32 = 3;
    pub(in crate::perfetto) const SIGNED: u32 = 4;
    pub(in crate::perfetto) const DOUBLE: u32 = 5;
    pub(in crate::perfetto) const STRING: u32 = 6;
    pub(in crate::perfetto) const POINTER: u32 = 7;
    pub(in crate::perfetto) const TEXT: u32 = 10;
    pub(in crate::perfetto) const ARRAY: u32 = 12;
    pub(in crate::perfetto) const INTERNED_STRING: u32 = 17;
}

/// `InternedData` and its entries
pub(super) mod interned {
    pub(in crate::perfetto) const CATEGORIES: u32 = 1;
    pub(in crate::perfetto) const EVENTS: u32 = 2;
    pub(in crate::perfetto) const ANNOTATIONS: u32 = 3;
    pub(in crate::perfetto) const STRINGS: u32 = 29;

    pub(in crate::perfetto) const ID: u32 = 1;
    pub(in crate::perfetto) const TEXT: u32 = 2;
}
