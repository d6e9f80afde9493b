//! The value of one fact.

use std::collections::BTreeMap;
use std::fmt;

/// The value of a fact of a session or thread. Writers send facts as TOML.
///
/// [`Display`](fmt::Display) gives the value as in TOML: text has quotes there. With the feature
/// `serde`, it is serialized as it would be in JSON.
///
/// ```
/// use telemetry_decode::{Fact, Facts};
///
/// let mut facts = Facts::default();
/// facts.set("args", vec!["./cache", "--all"]);
/// let args = facts.get("args").and_then(Fact::as_list).unwrap_or_default();
/// assert_eq!(args[1].as_str(), Some("--all"));
/// assert_eq!(facts.get("args").unwrap().to_string(), r#"["./cache", "--all"]"#);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
#[non_exhaustive]
pub enum Fact {
    /// Text.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A float.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A date, a time, or both, as it is written in TOML.
    Date(String),
    /// Several values in their order.
    List(Vec<Fact>),
    /// Values with names.
    Table(BTreeMap<String, Fact>),
}

impl Fact {
    /// Returns the text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Fact::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number, if it is an integer.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Fact::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the values of a list.
    pub fn as_list(&self) -> Option<&[Fact]> {
        match self {
            Fact::List(values) => Some(values),
            _ => None,
        }
    }

    /// Returns the values of a table by their names.
    pub fn as_table(&self) -> Option<&BTreeMap<String, Fact>> {
        match self {
            Fact::Table(values) => Some(values),
            _ => None,
        }
    }

    fn to_toml(&self) -> toml::Value {
        match self {
            Fact::Text(text) => text.as_str().into(),
            Fact::Integer(number) => (*number).into(),
            Fact::Float(number) => (*number).into(),
            Fact::Bool(truth) => (*truth).into(),
            // A date that a program made up is text.
            Fact::Date(date) => date.parse().map_or_else(|_| date.as_str().into(), toml::Value::Datetime),
            Fact::List(values) => values.iter().map(Fact::to_toml).collect::<Vec<_>>().into(),
            Fact::Table(values) => {
                let values = values.iter().map(|(key, value)| (key.clone(), value.to_toml()));
                toml::Value::Table(values.collect())
            }
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_toml().fmt(f)
    }
}

macro_rules! from {
    ($($from:ty => |$value:ident| $fact:expr;)*) => {$(
        impl From<$from> for Fact {
            fn from($value: $from) -> Fact {
                $fact
            }
        }
    )*};
}

from! {
    &str => |text| Fact::Text(text.to_string());
    String => |text| Fact::Text(text);
    i64 => |number| Fact::Integer(number);
    i32 => |number| Fact::Integer(number.into());
    u32 => |number| Fact::Integer(number.into());
    f64 => |number| Fact::Float(number);
    bool => |truth| Fact::Bool(truth);
    BTreeMap<String, Fact> => |values| Fact::Table(values);
}

impl<T: Into<Fact>> From<Vec<T>> for Fact {
    fn from(values: Vec<T>) -> Fact {
        Fact::List(values.into_iter().map(Into::into).collect())
    }
}
