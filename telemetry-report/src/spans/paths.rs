//! Paths of nested spans: the types of the spans around one, from the outermost.

use hashbrown::HashMap;

/// The maximum of paths. Spans on further ones have the path [`Paths::OTHERS`].
const MAX_PATHS: usize = 20_000;

/// All paths, each with a number.
#[derive(Debug, Default)]
pub struct Paths {
    list: Vec<Path>,
    /// By the number of the outer path and the type of the span.
    by_key: HashMap<(u32, u32), u32>,
    is_wanted: bool,
}

/// A type of span inside of a path.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// The path outside; [`Paths::OTHERS`] if there is none.
    pub outer: u32,
    /// Index into [`super::Pairing::defs`].
    pub def: u32,
    /// Number of spans around it.
    pub depth: u32,
}

impl Paths {
    /// The path of a span that has none: the paths were not asked for, or there are too many.
    pub const OTHERS: u32 = u32::MAX;

    /// Keeps paths from now on.
    pub fn keep(&mut self) {
        self.is_wanted = true;
    }

    /// Returns a path by its number.
    pub fn get(&self, number: u32) -> Option<&Path> {
        self.list.get(number as usize)
    }

    /// Returns the number of the path of a span inside of another.
    pub(super) fn of(&mut self, outer: u32, def: u32) -> u32 {
        if !self.is_wanted {
            return Paths::OTHERS;
        }
        if let Some(path) = self.by_key.get(&(outer, def)) {
            return *path;
        }
        if self.list.len() >= MAX_PATHS {
            return Paths::OTHERS;
        }
        let depth = self.get(outer).map_or(0, |outer| outer.depth + 1);
        let number = self.list.len() as u32;
        self.list.push(Path { outer, def, depth });
        self.by_key.insert((outer, def), number);
        number
    }
}
