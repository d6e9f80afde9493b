//! Marks of events that begin, end or move a range of memory.

/// The mark of an event: `range = { begin = "segment", base = "base", size = "size" }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// What happens to the range.
    pub action: RangeAction,
    /// What the range is, in `snake_case`: `segment`.
    pub what: String,
    /// The roles that parameters of the event have, as indices into
    /// [`Event::params`](crate::Event::params), in the order of [`RangeRole::ALL`], each at most
    /// once.
    pub roles: Vec<(RangeRole, usize)>,
}

/// What happens to a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RangeAction {
    /// It begins. Without a base, the thing has no memory of its own, but an owner.
    Begin,
    /// It ends.
    End,
    /// It is elsewhere from now on.
    Move,
}

/// The role of a parameter in a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RangeRole {
    /// The identity of the range, by which its end finds it. Without one, that is the base.
    Key,
    /// The first address; of a move the new one.
    Base,
    /// The size in bytes.
    Size,
    /// The first address after it.
    Limit,
    /// The first address before a move.
    From,
    /// The old and new first addresses of moves, in turn.
    Moves,
    /// The thing that the range belongs to.
    Owner,
}

impl Range {
    /// Returns the index of the parameter that has a role.
    pub fn param(&self, role: RangeRole) -> Option<usize> {
        self.roles.iter().find(|(other, _)| *other == role).map(|(_, param)| *param)
    }
}

impl RangeAction {
    /// Every action.
    pub const ALL: &[RangeAction] = &[RangeAction::Begin, RangeAction::End, RangeAction::Move];

    /// Returns its key in a registry file.
    pub const fn name(self) -> &'static str {
        match self {
            RangeAction::Begin => "begin",
            RangeAction::End => "end",
            RangeAction::Move => "move",
        }
    }

    /// Returns the roles of which an event needs one set. Other roles are not allowed, but
    /// [`RangeAction::allows`].
    pub const fn needs(self) -> &'static [&'static [RangeRole]] {
        use RangeRole::{Base, From, Key, Limit, Moves, Size};
        match self {
            RangeAction::Begin => &[&[Base, Size], &[Base, Limit], &[Key]],
            RangeAction::End => &[&[Base, Size], &[Base, Limit], &[Base], &[Key]],
            RangeAction::Move => &[&[From, Base], &[Moves]],
        }
    }

    /// Returns the optional roles.
    pub const fn allows(self) -> &'static [RangeRole] {
        match self {
            RangeAction::Begin => &[RangeRole::Key, RangeRole::Owner],
            RangeAction::End => &[RangeRole::Key],
            RangeAction::Move => &[],
        }
    }
}

impl RangeRole {
    /// Every role.
    pub const ALL: &[RangeRole] = &[
        RangeRole::Key,
        RangeRole::Base,
        RangeRole::Size,
        RangeRole::Limit,
        RangeRole::From,
        RangeRole::Moves,
        RangeRole::Owner,
    ];

    /// Returns the key that names its parameter.
    pub const fn name(self) -> &'static str {
        match self {
            RangeRole::Key => "key",
            RangeRole::Base => "base",
            RangeRole::Size => "size",
            RangeRole::Limit => "limit",
            RangeRole::From => "from",
            RangeRole::Moves => "moves",
            RangeRole::Owner => "owner",
        }
    }
}
