//! Segments: what the collector knows of the objects in one grain.

/// No generation: a segment with this summary refers to nothing.
pub(crate) const NONE: u8 = u8::MAX;

/// One grain of the collected pool. Grains of other pools, and free ones, have an idle segment.
pub(crate) struct Segment {
    /// Whose objects they are.
    pub(crate) generation: u8,
    /// The youngest generation that its objects may refer to, or [`NONE`]. What a trace need not
    /// look at, because it condemns younger generations only, it knows from this. The nursery's own
    /// segments have 0: they are in every trace, and stores to them need no barrier.
    pub(crate) summary: u8,
    /// A trace is on, and objects that stay in here are dead.
    pub(crate) is_condemned: bool,
    /// It is in the trace's queue, to be scanned.
    pub(crate) is_grey: bool,
    /// The word behind its last object.
    pub(crate) fill: usize,
    /// The word from which on a trace must still scan.
    pub(crate) scanned: usize,
}

impl Segment {
    /// Without objects.
    pub(crate) const IDLE: Segment =
        Segment { generation: 0, summary: 0, is_condemned: false, is_grey: false, fill: 0, scanned: 0 };
}
