//! An argument without meaning, in the register that reading the clock overwrites.
//!
//! On x86-64 with the calling convention of Unix, the cycle counter overwrites the register of a
//! function's third word. A parameter there would have to be moved first. So this argument stands
//! there, and the parameters that follow are passed in the next registers. Elsewhere it takes none.

use proc_macro2::TokenStream;
use telemetry_schema::{Clock, Count, Event, Param, Registry, Sort};

/// The number of words that a function gets in registers.
const REGISTERS: usize = 6;
/// The index of the word whose register the clock overwrites.
const OVERWRITTEN: usize = 2;

/// Returns the index of the parameter before which the argument stands. Returns `None` if no
/// parameter has to move, or if one would lose its register.
pub(crate) fn place(registry: &Registry, event: &Event) -> Option<usize> {
    let words: Vec<usize> = event.params.iter().map(words).collect();
    let sum: usize = words.iter().sum();
    let inherits = registry.kinds.get(event.kind).is_none_or(|kind| kind.clock == Clock::Inherit);
    if inherits || sum <= OVERWRITTEN || sum >= REGISTERS {
        return None;
    }
    let before = |at: usize| words[..at].iter().sum::<usize>();
    (0..words.len()).find(|&at| before(at) == OVERWRITTEN)
}

/// Returns what a function takes, or is called with, and adds the argument at its place.
pub(crate) fn with(
    params: impl IntoIterator<Item = TokenStream>,
    place: Option<usize>,
    spare: TokenStream,
) -> Vec<TokenStream> {
    let mut all: Vec<TokenStream> = params.into_iter().collect();
    if let Some(place) = place {
        all.insert(place.min(all.len()), spare);
    }
    all
}

/// Returns the number of words that a parameter is passed in. Floats have registers of their own.
fn words(param: &Param) -> usize {
    match (param.count, param.sort) {
        (Count::UpTo(_), _) | (Count::One, Sort::String | Sort::Bytes) => 2,
        (Count::One, Sort::F32 | Sort::F64) => 0,
        _ => 1,
    }
}
