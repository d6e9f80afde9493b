//! A column: its name, its type, and its meaning.

use std::borrow::Cow;

use telemetry_schema::{Count, Param, Registry, Sort, TypeValue};

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// The name, which no other column of the table has, whatever the case of letters.
    pub name: String,
    /// The type of its values.
    pub ty: ColumnType,
    /// True if some rows may have no value.
    pub is_nullable: bool,
    /// True for pointers and addresses, which are shown in hexadecimal.
    pub is_address: bool,
    /// Its meaning, from the latest version of the registry.
    pub doc: String,
    /// The unit of its numbers: `bytes`, `ns` and so on. Empty without one.
    pub unit: String,
    /// True for readings of something that changes over time.
    pub is_counter: bool,
    /// The parameter type as in the registry: `u64`, `[u32; 4]`, or the name of an enum. Empty for
    /// a common column.
    pub sort: String,
    /// The named numbers of an enum or of flags, from the latest version of the registry.
    pub values: Vec<TypeValue>,
    /// The origin of its values.
    pub source: Source,
}

/// The type of a column's values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ColumnType {
    /// True or false.
    Bool,
    /// A signed integer of 8 bits.
    I8,
    /// A signed integer of 16 bits.
    I16,
    /// A signed integer of 32 bits.
    I32,
    /// A signed integer of 64 bits.
    I64,
    /// An unsigned integer of 8 bits.
    U8,
    /// An unsigned integer of 16 bits.
    U16,
    /// An unsigned integer of 32 bits.
    U32,
    /// An unsigned integer of 64 bits.
    U64,
    /// A float of 32 bits.
    F32,
    /// A float of 64 bits.
    F64,
    /// Text in UTF-8.
    Utf8,
    /// Bytes.
    Binary,
    /// Text in UTF-8 that is often the same: the index of a text in a dictionary.
    Dictionary,
    /// Nanoseconds since 1970-01-01 UTC.
    Timestamp,
    /// Several values of a type.
    List(Box<ColumnType>),
}

/// The origin of a column's values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// The event itself, whatever its type.
    Common(Common),
    /// The parameter of this name.
    Param(String),
    /// The names of the numbers of this parameter: those of an enum or of flags, or the strings of
    /// labels.
    Names(String),
    /// The bytes of this parameter, for a string that is not UTF-8.
    Bytes(String),
    /// A side table: what the stream says beside its events.
    Side,
}

/// A column that every table of events has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Common {
    /// The id of the session.
    Session,
    /// The session's number for the thread.
    Thread,
    /// The number of the event in its lane.
    Position,
    /// Nanoseconds since the session's start.
    TimeNs,
    /// Nanoseconds since 1970-01-01 UTC.
    Time,
}

impl Common {
    /// All common columns in their order.
    pub const ALL: [Common; 5] =
        [Common::Session, Common::Thread, Common::Position, Common::TimeNs, Common::Time];

    /// Returns the name of the column.
    pub const fn name(self) -> &'static str {
        match self {
            Common::Session => "session",
            Common::Thread => "thread",
            Common::Position => "position",
            Common::TimeNs => "time_ns",
            Common::Time => "time",
        }
    }

    /// Returns the column.
    pub(crate) fn column(self) -> Column {
        let (ty, unit, doc) = match self {
            Common::Session => (ColumnType::U64, "", "the id of the session"),
            Common::Thread => (ColumnType::U32, "", "the session's number for the thread"),
            Common::Position => (ColumnType::U64, "", "the number of events before it in its lane"),
            Common::TimeNs => (ColumnType::I64, "ns", "the time since the session's start"),
            Common::Time => (ColumnType::Timestamp, "", "the time in UTC"),
        };
        Column {
            name: self.name().to_string(),
            ty,
            // Logs of other systems do not number their events.
            is_nullable: self == Common::Position,
            is_address: false,
            doc: doc.to_string(),
            unit: unit.to_string(),
            is_counter: false,
            sort: String::new(),
            values: Vec::new(),
            source: Source::Common(self),
        }
    }
}

impl Column {
    /// Returns a column for [`Table::of_columns`](crate::Table::of_columns). It has a value in each
    /// row, and no unit.
    pub fn new(name: impl Into<String>, ty: ColumnType, doc: impl Into<String>) -> Column {
        Column {
            name: name.into(),
            ty,
            is_nullable: false,
            is_address: false,
            doc: doc.into(),
            unit: String::new(),
            is_counter: false,
            sort: String::new(),
            values: Vec::new(),
            source: Source::Side,
        }
    }
}

impl ColumnType {
    /// Returns the type of a parameter's values.
    pub fn of(registry: &Registry, param: &Param) -> ColumnType {
        let one = ColumnType::of_sort(registry.repr(param.sort));
        match param.count {
            Count::One => one,
            Count::Fixed(_) | Count::UpTo(_) => ColumnType::List(Box::new(one)),
        }
    }

    fn of_sort(sort: Sort) -> ColumnType {
        match sort {
            Sort::Pointer | Sort::Addr | Sort::Word | Sort::Label | Sort::U64 => ColumnType::U64,
            Sort::U8 => ColumnType::U8,
            Sort::U16 => ColumnType::U16,
            Sort::U32 => ColumnType::U32,
            Sort::I8 => ColumnType::I8,
            Sort::I16 => ColumnType::I16,
            Sort::I32 => ColumnType::I32,
            // The repr of a named type is an integer.
            Sort::I64 | Sort::Named(_) => ColumnType::I64,
            Sort::F32 => ColumnType::F32,
            Sort::F64 => ColumnType::F64,
            Sort::Bool => ColumnType::Bool,
            Sort::String => ColumnType::Utf8,
            Sort::Bytes => ColumnType::Binary,
        }
    }

    /// Returns the word for the type at the end of a column's name, where columns of several types
    /// would have one name.
    pub fn word(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            ColumnType::Bool => "bool",
            ColumnType::I8 => "i8",
            ColumnType::I16 => "i16",
            ColumnType::I32 => "i32",
            ColumnType::I64 => "i64",
            ColumnType::U8 => "u8",
            ColumnType::U16 => "u16",
            ColumnType::U32 => "u32",
            ColumnType::U64 => "u64",
            ColumnType::F32 => "f32",
            ColumnType::F64 => "f64",
            ColumnType::Utf8 => "text",
            ColumnType::Binary => "binary",
            ColumnType::Dictionary => "names",
            ColumnType::Timestamp => "timestamp",
            ColumnType::List(items) => return Cow::Owned(format!("list_of_{}", items.word())),
        })
    }
}
