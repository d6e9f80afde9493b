//! Marks of events that can be replayed: the action, and the parameters for it.

use crate::model::sort::Sort;

/// The mark of an event: `replay = { action = "alloc", pointer = "block", size = "size" }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// The action.
    pub action: ReplayAction,
    /// The roles that parameters of the event have, as indices into
    /// [`Event::params`](crate::Event::params), in the order of [`ReplayRole::ALL`], each at most
    /// once.
    pub roles: Vec<(ReplayRole, usize)>,
}

/// The action that a replayer performs for an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplayAction {
    /// Memory was allocated.
    Alloc,
    /// Memory was freed.
    Free,
    /// Memory was reallocated: its content moved to new memory, which may be in the same place.
    Realloc,
    /// An action that only the program's own replayer can perform.
    Custom,
}

/// The role of a parameter in a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReplayRole {
    /// The memory that a reallocation freed.
    Old,
    /// The memory that was allocated or freed. 0 means that the allocation failed.
    Pointer,
    /// Its requested size in bytes.
    Size,
    /// Its alignment, a power of two.
    Align,
}

impl Replay {
    /// Returns the index of the parameter that has a role.
    pub fn param(&self, role: ReplayRole) -> Option<usize> {
        self.roles.iter().find(|(other, _)| *other == role).map(|(_, param)| *param)
    }
}

impl ReplayAction {
    /// Every action.
    pub const ALL: &[ReplayAction] =
        &[ReplayAction::Alloc, ReplayAction::Free, ReplayAction::Realloc, ReplayAction::Custom];

    /// Returns its word in a registry file.
    pub const fn name(self) -> &'static str {
        match self {
            ReplayAction::Alloc => "alloc",
            ReplayAction::Free => "free",
            ReplayAction::Realloc => "realloc",
            ReplayAction::Custom => "custom",
        }
    }

    /// Returns the action for a word.
    pub fn from_text(text: &str) -> Option<ReplayAction> {
        ReplayAction::ALL.iter().copied().find(|action| action.name() == text)
    }

    /// Returns the roles without which it cannot be replayed.
    pub const fn needs(self) -> &'static [ReplayRole] {
        match self {
            ReplayAction::Alloc => &[ReplayRole::Pointer, ReplayRole::Size],
            ReplayAction::Free => &[ReplayRole::Pointer],
            ReplayAction::Realloc => &[ReplayRole::Old, ReplayRole::Pointer, ReplayRole::Size],
            ReplayAction::Custom => &[],
        }
    }

    /// Returns the optional roles.
    pub const fn allows(self) -> &'static [ReplayRole] {
        match self {
            ReplayAction::Alloc | ReplayAction::Realloc => &[ReplayRole::Align],
            ReplayAction::Free => &[ReplayRole::Size],
            ReplayAction::Custom => &[],
        }
    }
}

impl ReplayRole {
    /// Every role.
    pub const ALL: &[ReplayRole] =
        &[ReplayRole::Old, ReplayRole::Pointer, ReplayRole::Size, ReplayRole::Align];

    /// Returns the key that names its parameter.
    pub const fn name(self) -> &'static str {
        match self {
            ReplayRole::Old => "old",
            ReplayRole::Pointer => "pointer",
            ReplayRole::Size => "size",
            ReplayRole::Align => "align",
        }
    }

    /// Returns true for types that a parameter of this role may have.
    pub const fn takes(self, sort: Sort) -> bool {
        match self {
            ReplayRole::Old | ReplayRole::Pointer => matches!(sort, Sort::Pointer | Sort::Addr),
            ReplayRole::Size | ReplayRole::Align => {
                matches!(sort, Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64)
            }
        }
    }

    /// Returns those types in words.
    pub(crate) const fn sorts(self) -> &'static str {
        match self {
            ReplayRole::Old | ReplayRole::Pointer => "`pointer` or `addr`",
            ReplayRole::Size | ReplayRole::Align => "`word` or an unsigned integer",
        }
    }
}
