//! Marks of events that can be replayed: what is done again, and which parameters say with what.

use crate::{Event, Sort};

/// The mark of an event: `replay = { action = "alloc", pointer = "block", size = "size" }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// What is done again.
    pub action: ReplayAction,
    /// The roles that parameters of the event have, as indices into [`Event::params`](crate::Event::params); in the order of
    /// [`ReplayRole::ALL`], each at most once.
    pub roles: Vec<(ReplayRole, usize)>,
}

/// What is done again for an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplayAction {
    /// Memory was allocated.
    Alloc,
    /// Memory was freed.
    Free,
    /// Memory was allocated in the place of other memory, whose content it has; they may be the same.
    Realloc,
    /// Something that only the program's own replayer knows how to do.
    Custom,
}

/// What a parameter says to a replayer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReplayRole {
    /// Where the memory was that a reallocation gave up.
    Old,
    /// Where the memory is that was allocated, or is freed. 0 is no memory: the allocation failed.
    Pointer,
    /// Its size in bytes, as it was asked for.
    Size,
    /// What its address is a multiple of: a power of two.
    Align,
}

impl Replay {
    /// The index of the parameter that has a role.
    pub fn param(&self, role: ReplayRole) -> Option<usize> {
        self.roles.iter().find(|(other, _)| *other == role).map(|(_, param)| *param)
    }
}

impl Event {
    /// What the mark `replay` says, in short: `alloc pointer=block size=size`. Empty without one.
    pub fn replay_text(&self) -> String {
        let Some(replay) = &self.replay else { return String::new() };
        let roles = replay.roles.iter().map(|(role, param)| {
            let param = self.params.get(*param).map_or("", |param| param.name.as_str());
            format!(" {}={param}", role.name())
        });
        replay.action.name().to_string() + &roles.collect::<String>()
    }
}

impl ReplayAction {
    /// Every action.
    pub const ALL: &[ReplayAction] =
        &[ReplayAction::Alloc, ReplayAction::Free, ReplayAction::Realloc, ReplayAction::Custom];

    /// How the relation writes it.
    pub const fn name(self) -> &'static str {
        match self {
            ReplayAction::Alloc => "alloc",
            ReplayAction::Free => "free",
            ReplayAction::Realloc => "realloc",
            ReplayAction::Custom => "custom",
        }
    }

    /// The action of a name.
    pub fn from_text(text: &str) -> Option<ReplayAction> {
        ReplayAction::ALL.iter().copied().find(|action| action.name() == text)
    }

    /// The roles without which it cannot be replayed.
    pub const fn needs(self) -> &'static [ReplayRole] {
        match self {
            ReplayAction::Alloc => &[ReplayRole::Pointer, ReplayRole::Size],
            ReplayAction::Free => &[ReplayRole::Pointer],
            ReplayAction::Realloc => &[ReplayRole::Old, ReplayRole::Pointer, ReplayRole::Size],
            ReplayAction::Custom => &[],
        }
    }

    /// The roles that there may be besides.
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

    /// The key that names its parameter.
    pub const fn name(self) -> &'static str {
        match self {
            ReplayRole::Old => "old",
            ReplayRole::Pointer => "pointer",
            ReplayRole::Size => "size",
            ReplayRole::Align => "align",
        }
    }

    /// True for sorts that a parameter of this role may have.
    pub const fn takes(self, sort: Sort) -> bool {
        match self {
            ReplayRole::Old | ReplayRole::Pointer => matches!(sort, Sort::Pointer | Sort::Addr),
            ReplayRole::Size | ReplayRole::Align => {
                matches!(sort, Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64)
            }
        }
    }

    /// Those sorts in words.
    pub(crate) const fn sorts(self) -> &'static str {
        match self {
            ReplayRole::Old | ReplayRole::Pointer => "`pointer` or `addr`",
            ReplayRole::Size | ReplayRole::Align => "`word` or an unsigned integer",
        }
    }
}
