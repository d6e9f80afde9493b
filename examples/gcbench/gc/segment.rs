//! Segments: what the collector knows about the objects in one grain.

/// No generation: a segment with this summary refers to nothing.
pub(crate) const NONE: u8 = u8::MAX;

/// One grain of the collected pool. Grains of other pools, and free ones, have an idle segment.
pub(crate) struct Segment {
    /// The generation of its objects.
    pub(crate) generation: u8,
    /// The youngest generation that its objects may refer to, or [`NONE`]. A trace that condemns
    /// only younger generations skips the segment. The nursery's own segments have 0: they are in
    /// every trace, and stores to them need no barrier.
    pub(crate) summary: u8,
    /// A trace is in progress, and objects that remain in this segment are dead.
    pub(crate) is_condemned: bool,
    /// It is in the trace's queue, to be scanned.
    pub(crate) is_gray: bool,
    /// The word after its last object.
    pub(crate) fill: usize,
    /// The first word that a trace has not scanned.
    pub(crate) scanned: usize,
}

impl Segment {
    /// Without objects.
    pub(crate) const IDLE: Segment =
        Segment { generation: 0, summary: 0, is_condemned: false, is_gray: false, fill: 0, scanned: 0 };
}
