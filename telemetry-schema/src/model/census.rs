//! Marks of events that are a census: how much there is of each class, at one moment.

/// The mark of an event: `census = { row = "heap", class = "type_name", value = "bytes" }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Census {
    /// The place of the event in the census.
    pub step: CensusStep,
    /// What is counted, in `snake_case`: `heap`.
    pub what: String,
    /// The roles that parameters of the event have, as indices into
    /// [`Event::params`](crate::Event::params), in the order of [`CensusRole::ALL`], each at most
    /// once.
    pub roles: Vec<(CensusRole, usize)>,
}

/// The place of an event in a census.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CensusStep {
    /// A census begins.
    Begin,
    /// The amount of a class. Amounts of the same class in one census add up.
    Row,
    /// It is complete.
    End,
}

/// The role of a parameter in a census.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CensusRole {
    /// The class.
    Class,
    /// The amount.
    Value,
}

impl Census {
    /// Returns the index of the parameter that has a role.
    pub fn param(&self, role: CensusRole) -> Option<usize> {
        self.roles.iter().find(|(other, _)| *other == role).map(|(_, param)| *param)
    }
}

impl CensusStep {
    /// Every step.
    pub const ALL: &[CensusStep] = &[CensusStep::Begin, CensusStep::Row, CensusStep::End];

    /// Returns its key in a registry file.
    pub const fn name(self) -> &'static str {
        match self {
            CensusStep::Begin => "begin",
            CensusStep::Row => "row",
            CensusStep::End => "end",
        }
    }

    /// Returns the roles of which an event needs one set. Other roles are not allowed.
    pub const fn needs(self) -> &'static [&'static [CensusRole]] {
        match self {
            CensusStep::Begin | CensusStep::End => &[&[]],
            CensusStep::Row => &[&[CensusRole::Class, CensusRole::Value]],
        }
    }
}

impl CensusRole {
    /// Every role.
    pub const ALL: &[CensusRole] = &[CensusRole::Class, CensusRole::Value];

    /// Returns the key that names its parameter.
    pub const fn name(self) -> &'static str {
        match self {
            CensusRole::Class => "class",
            CensusRole::Value => "value",
        }
    }
}
