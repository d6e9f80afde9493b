//! The mark of parameters whose values are not for everyone, and where events may go for that.

/// Why the values of a parameter are not for everyone. Tools hide both unless they are told
/// otherwise; `telemetry scrub` treats the two differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sensitive {
    /// It is about a person: a name, an address, what a user searched for.
    Personal,
    /// It gives access to something, or must not leave the program: a password, a token, a key.
    Secret,
}

impl Sensitive {
    /// Every word.
    pub const ALL: &[Sensitive] = &[Sensitive::Personal, Sensitive::Secret];

    /// Returns its word in a registry file.
    pub const fn name(self) -> &'static str {
        match self {
            Sensitive::Personal => "personal",
            Sensitive::Secret => "secret",
        }
    }

    /// Returns the text that tools show in place of a value.
    pub const fn shown(self) -> &'static str {
        match self {
            Sensitive::Personal => "<personal>",
            Sensitive::Secret => "<secret>",
        }
    }

    /// Returns the mark for a word.
    pub fn from_text(text: &str) -> Option<Sensitive> {
        Sensitive::ALL.iter().copied().find(|sensitive| sensitive.name() == text)
    }
}

/// Whether the events of a kind may go to sinks that send them over a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Network {
    /// Only if no parameter of the kind's events is sensitive.
    #[default]
    Unsensitive,
    /// In any case.
    Allow,
}

impl Network {
    /// Every word that a registry file may state. The default has none.
    pub const WORDS: &[&str] = &["allow"];

    /// Returns the policy for a word.
    pub fn from_text(text: &str) -> Option<Network> {
        (text == Network::WORDS[0]).then_some(Network::Allow)
    }

    /// Returns its word in a registry file. The default has none.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Network::Unsensitive => None,
            Network::Allow => Some(Network::WORDS[0]),
        }
    }
}
