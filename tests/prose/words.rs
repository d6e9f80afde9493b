//! What the project's texts do without.

/// Characters of a line of prose. Tables and code may be longer.
pub(crate) const MAX_LINE_LEN: usize = 100;

/// Words of a sentence.
pub(crate) const MAX_SENTENCE_LEN: usize = 25;

/// Words that say less than others, and what says more.
pub(crate) const UNCLEAR: &[(&str, &str)] = &[
    ("amid", "during, within"),
    ("anew", "again"),
    ("in order that", "so that"),
    ("nobody", "no thread, no process, not anyone"),
    ("shall", "must, should, or say what happens"),
    ("so many", "the number"),
    ("somebody", "a process, a user, another thread"),
    ("what became of", "the state of, where … went"),
    ("whoever", "a program that, the thread that"),
];

/// British forms, and the American ones. The MPS says `grey` and GHC `cost centre`: those stay.
pub(crate) const BRITISH: &[(&str, &str)] = &[
    ("analyse", "analyze"),
    ("behaviour", "behavior"),
    ("cancelled", "canceled"),
    ("catalogue", "catalog"),
    ("colour", "color"),
    ("colours", "colors"),
    ("favour", "favor"),
    ("honour", "honor"),
    ("honoured", "honored"),
    ("initialise", "initialize"),
    ("initialised", "initialized"),
    ("labelled", "labeled"),
    ("licence", "license"),
    ("licences", "licenses"),
    ("modelled", "modeled"),
    ("neighbour", "neighbor"),
    ("neighbours", "neighbors"),
    ("optimisation", "optimization"),
    ("optimised", "optimized"),
    ("organised", "organized"),
    ("realise", "realize"),
    ("recognise", "recognize"),
    ("recognised", "recognized"),
    ("recognises", "recognizes"),
    ("serialise", "serialize"),
    ("serialised", "serialized"),
    ("signalled", "signaled"),
    ("summarise", "summarize"),
    ("travelled", "traveled"),
    ("unrecognised", "unrecognized"),
];
