//! The words of a heap, and the layout of objects in them.
//!
//! ```text
//!   header | reference ... | data ...        header: 1, references << 1, words << 32
//!   forwarded to << 1 | anything             once a trace has moved the object
//! ```

/// Bytes of a word.
pub(crate) const WORD: usize = size_of::<u64>();

/// A reference: the number of the word where an object begins. 0 is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ref(u32);

impl Ref {
    /// The object that begins at a word, which is below 2^32.
    pub(crate) fn at(word: usize) -> Ref {
        Ref(word as u32)
    }

    /// The number of the word.
    pub(crate) fn word(self) -> usize {
        self.0 as usize
    }

    /// The number of the word of one of the object's references.
    pub(crate) fn slot(self, index: usize) -> usize {
        self.word() + 1 + index
    }

    /// True for the null reference.
    pub(crate) fn is_null(self) -> bool {
        self.0 == 0
    }
}

/// The parts of an object, besides its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Number of references.
    pub(crate) refs: usize,
    /// Number of words of data.
    pub(crate) data: usize,
}

impl Shape {
    /// Words of the object.
    pub(crate) const fn words(self) -> usize {
        1 + self.refs + self.data
    }

    /// Bytes of the object.
    pub(crate) const fn bytes(self) -> usize {
        self.words() * WORD
    }

    const fn header(self) -> u64 {
        1 | (self.refs as u64) << 1 | (self.words() as u64) << 32
    }
}

/// The meaning of an object's first word.
pub(crate) enum Header {
    /// The parts of the object.
    Object(Shape),
    /// It has moved.
    Forwarded(Ref),
}

/// Memory, from word 0 on.
pub(crate) struct Memory {
    words: Box<[u64]>,
}

impl Memory {
    /// Reserves memory that the system commits when it is touched.
    pub(crate) fn reserve(words: usize) -> Memory {
        Memory { words: vec![0; words].into_boxed_slice() }
    }

    /// The address of a word, as events and debuggers show it.
    pub(crate) fn address(&self, word: usize) -> usize {
        self.words.as_ptr().addr() + word * WORD
    }

    /// Initializes an object with null references and zero data.
    #[inline]
    pub(crate) fn begin(&mut self, at: usize, shape: Shape) {
        let object = &mut self.words[at..at + shape.words()];
        object[0] = shape.header();
        object[1..].fill(0);
    }

    /// The first word of an object.
    #[inline]
    pub(crate) fn header(&self, object: Ref) -> Header {
        let word = self.words[object.word()];
        if word & 1 == 0 {
            return Header::Forwarded(Ref((word >> 1) as u32));
        }
        let (refs, words) = ((word as u32 >> 1) as usize, (word >> 32) as usize);
        Header::Object(Shape { refs, data: words.saturating_sub(1 + refs) })
    }

    /// Copies an object, and leaves a forwarding reference in its old place.
    pub(crate) fn forward(&mut self, object: Ref, shape: Shape, to: Ref) {
        self.words.copy_within(object.word()..object.word() + shape.words(), to.word());
        self.words[object.word()] = u64::from(to.0) << 1;
    }

    /// The reference in a word.
    #[inline]
    pub(crate) fn reference(&self, slot: usize) -> Ref {
        Ref(self.words[slot] as u32)
    }

    /// Sets the reference in a word.
    #[inline]
    pub(crate) fn set_reference(&mut self, slot: usize, value: Ref) {
        self.words[slot] = u64::from(value.0);
    }

    /// A word.
    #[inline]
    pub(crate) fn word(&self, at: usize) -> u64 {
        self.words[at]
    }

    /// Sets a word.
    #[inline]
    pub(crate) fn set_word(&mut self, at: usize, value: u64) {
        self.words[at] = value;
    }

    /// Some words.
    pub(crate) fn words(&self, range: std::ops::Range<usize>) -> &[u64] {
        &self.words[range]
    }

    /// Some words, mutable.
    pub(crate) fn words_mut(&mut self, range: std::ops::Range<usize>) -> &mut [u64] {
        &mut self.words[range]
    }
}
