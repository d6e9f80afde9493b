//! A tree of comparisons.

use std::ops::RangeInclusive;

use telemetry_decode::condition::Candidate;

use super::leaf::Leaf;

/// A condition for one event type. `not` is in the comparisons.
#[derive(Debug, Clone)]
pub(crate) enum Tree {
    Never,
    Always,
    All(Box<[Tree]>),
    Any(Box<[Tree]>),
    Leaf(Leaf),
}

impl Tree {
    /// Returns the tree for `true` or `false`.
    pub(crate) fn of(is_true: bool) -> Tree {
        if is_true { Tree::Always } else { Tree::Never }
    }

    /// Joins trees of which all must match.
    pub(crate) fn all(trees: impl IntoIterator<Item = Tree>) -> Tree {
        let mut kept = Vec::new();
        for tree in trees {
            match tree {
                Tree::Never => return Tree::Never,
                Tree::Always => {}
                tree => kept.push(tree),
            }
        }
        match kept.len() {
            0 => Tree::Always,
            1 => kept.remove(0),
            _ => Tree::All(kept.into()),
        }
    }

    /// Joins trees of which one must match.
    pub(crate) fn any(trees: impl IntoIterator<Item = Tree>) -> Tree {
        let mut kept = Vec::new();
        for tree in trees {
            match tree {
                Tree::Always => return Tree::Always,
                Tree::Never => {}
                tree => kept.push(tree),
            }
        }
        match kept.len() {
            0 => Tree::Never,
            1 => kept.remove(0),
            _ => Tree::Any(kept.into()),
        }
    }

    /// Returns true if an event matches. `lane` has the results of comparisons with its lane.
    pub(crate) fn matches(&self, candidate: &Candidate<'_>, lane: u64) -> bool {
        match self {
            Tree::Never => false,
            Tree::Always => true,
            Tree::All(trees) => trees.iter().all(|tree| tree.matches(candidate, lane)),
            Tree::Any(trees) => trees.iter().any(|tree| tree.matches(candidate, lane)),
            Tree::Leaf(leaf) => leaf.matches(candidate, lane),
        }
    }

    /// Returns true if an event of some lane at one of these times may match.
    pub(crate) fn may_match(&self, lane: u64, times: &RangeInclusive<i64>) -> bool {
        match self {
            Tree::Never => false,
            Tree::Always => true,
            Tree::All(trees) => trees.iter().all(|tree| tree.may_match(lane, times)),
            Tree::Any(trees) => trees.iter().any(|tree| tree.may_match(lane, times)),
            Tree::Leaf(leaf) => leaf.may_match(lane, times),
        }
    }
}
