//! Tables and columns: those of every database, and those for registries.

use std::collections::{HashMap, HashSet};

use telemetry_columns::ColumnType;
use telemetry_columns::layout::{Layout, Slot, beside};
use telemetry_schema::{Event, Param, Registry};

use super::labels::{self, Role};
use crate::text::param;

/// The tables of every database. If the MPS has such a table, its columns come first and have the
/// MPS's names.
pub(super) const FIXED: &str = r#"
CREATE TABLE event_kind (name TEXT, description TEXT, enum INTEGER PRIMARY KEY, registry TEXT, bit INTEGER);
CREATE TABLE event_type (name TEXT, code INTEGER PRIMARY KEY, used INTEGER, kind INTEGER, registry TEXT,
    number INTEGER, always INTEGER, doc TEXT, table_name TEXT, FOREIGN KEY (kind) REFERENCES event_kind(enum));
CREATE TABLE event_param (type INTEGER, param_index INTEGER, sort TEXT, ident TEXT, doc TEXT, unit TEXT,
    column_name TEXT, counter INTEGER, FOREIGN KEY (type) REFERENCES event_type(code));
CREATE TABLE event_log (name TEXT, size INTEGER, modtime INTEGER, completed INTEGER,
    serial INTEGER PRIMARY KEY AUTOINCREMENT, events INTEGER, content TEXT, filter TEXT);
CREATE TABLE enum_value (registry TEXT, type TEXT, number INTEGER, name TEXT, doc TEXT);
CREATE TABLE registry (serial INTEGER PRIMARY KEY, name TEXT, major INTEGER, median INTEGER, minor INTEGER,
    fingerprint TEXT UNIQUE, text TEXT);
CREATE TABLE session (serial INTEGER PRIMARY KEY, id TEXT UNIQUE, program TEXT, started_ns INTEGER,
    start_ticks INTEGER, ticks_per_second REAL, ended INTEGER, facts TEXT);
CREATE TABLE thread (session INTEGER, thread INTEGER, name TEXT, tid INTEGER, facts TEXT,
    PRIMARY KEY (session, thread), FOREIGN KEY (session) REFERENCES session(serial));
CREATE TABLE lane (session INTEGER, thread INTEGER, fingerprint TEXT, bit INTEGER, kind INTEGER, events INTEGER,
    missing INTEGER, excluded INTEGER, lost_pool INTEGER, lost_reentrant INTEGER, lost_sink INTEGER, truncated INTEGER,
    state TEXT, PRIMARY KEY (session, thread, fingerprint, bit), FOREIGN KEY (session) REFERENCES session(serial));
CREATE TABLE loss (session INTEGER, thread INTEGER, kind INTEGER, from_ns INTEGER, until_ns INTEGER,
    missing INTEGER, lost_pool INTEGER, lost_reentrant INTEGER, lost_sink INTEGER, truncated INTEGER, fingerprint TEXT,
    bit INTEGER, FOREIGN KEY (session) REFERENCES session(serial));
CREATE TABLE EVENT_Intern ("stringId" INTEGER, "string" TEXT, time INTEGER, log_serial INTEGER, session INTEGER,
    thread INTEGER, time_ns INTEGER);
CREATE TABLE EVENT_Label ("address" INTEGER, "stringId" INTEGER, time INTEGER, log_serial INTEGER, session INTEGER,
    thread INTEGER, time_ns INTEGER);
CREATE INDEX EVENT_Intern_label ON EVENT_Intern (session, "stringId");
CREATE INDEX EVENT_Label_address ON EVENT_Label (session, "address", time);
"#;

/// The columns of every table of events, after those of the parameters.
pub(super) const COMMON: [&str; 5] = ["time", "log_serial", "session", "thread", "time_ns"];

/// The tables of events, in the order in which registries needed them. More registries only add to
/// it.
pub(super) struct Tables {
    pub(super) list: Vec<Table>,
    /// By the names of a registry and an event.
    of_events: HashMap<(String, String), usize>,
    /// In lower case, since SQLite ignores case.
    taken: HashSet<String>,
}

/// The table of an event, for all forms that it has had.
pub(super) struct Table {
    pub(super) name: String,
    /// The columns of parameters. A parameter with several classes has a column for each.
    layout: Layout<Class>,
}

/// The column of a parameter.
pub(super) type Column = Slot<Class>;

/// The way in which SQLite stores a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Integer,
    Real,
    Text,
    Blob,
}

/// The place of an event of a registry.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Index of the table.
    pub(super) table: usize,
    /// Index of the column, by parameter.
    pub(super) columns: Vec<usize>,
}

impl Class {
    /// Returns the class of the values of a type.
    pub(super) fn of(ty: &ColumnType) -> Class {
        match ty {
            ColumnType::F32 | ColumnType::F64 => Class::Real,
            // A list is text for `json_each`.
            ColumnType::Utf8 | ColumnType::List(_) => Class::Text,
            ColumnType::Binary => Class::Blob,
            _ => Class::Integer,
        }
    }

    /// Returns the class in the name of a column.
    fn word(self) -> &'static str {
        match self {
            Class::Integer => "integer",
            Class::Real => "real",
            Class::Text => "text",
            Class::Blob => "blob",
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Class::Integer => "INTEGER",
            Class::Real => "REAL",
            Class::Text => "TEXT",
            Class::Blob => "BLOB",
        }
    }
}

impl Tables {
    /// Returns the tables of a database without registries: those of labels.
    pub(super) fn new() -> Tables {
        let table = |role: Role, columns: [(&str, Class); 2]| {
            let mut layout = Layout::default();
            columns.into_iter().for_each(|(name, class)| layout.add(name, class));
            Table { name: role.table().to_string(), layout }
        };
        let list = vec![
            table(Role::Intern, [("stringId", Class::Integer), ("string", Class::Text)]),
            table(Role::Label, [("address", Class::Integer), ("stringId", Class::Integer)]),
        ];
        let fixed = ["event_kind", "event_type", "event_param", "event_log"];
        let names = list.iter().map(|table: &Table| table.name.as_str()).chain(fixed);
        let taken = names.map(str::to_ascii_lowercase).collect();
        Tables { list, of_events: HashMap::new(), taken }
    }

    /// Adds tables and columns for the events of a registry. Returns the place of each, by index.
    pub(super) fn add(&mut self, registry: &Registry) -> Vec<Place> {
        registry.events.iter().map(|event| self.place(registry, event)).collect()
    }

    fn place(&mut self, registry: &Registry, event: &Event) -> Place {
        let role = labels::role(registry, event);
        let table = match role {
            Some((role, _)) => role as usize,
            None => self.table(registry, event),
        };
        let columns = event.params.iter().enumerate().map(|(index, param)| match role {
            // The two parameters of a label have fixed columns, whatever their names.
            Some((_, naming)) if index == naming.of => 0,
            Some((_, naming)) if index == naming.by => 1,
            _ => self.list[table].column(registry, param),
        });
        Place { table, columns: columns.collect() }
    }

    fn table(&mut self, registry: &Registry, event: &Event) -> usize {
        let owner = (registry.name.clone(), event.name.clone());
        if let Some(table) = self.of_events.get(&owner) {
            return *table;
        }
        let mut name = format!("EVENT_{}", event.name);
        if self.taken.contains(&name.to_ascii_lowercase()) {
            // Events have no underscore in their names, so this name is free.
            name = format!("EVENT_{}_{}", registry.name, event.name);
        }
        self.taken.insert(name.to_ascii_lowercase());
        self.of_events.insert(owner, self.list.len());
        self.list.push(Table { name, layout: Layout::default() });
        self.list.len() - 1
    }
}

impl Table {
    /// Returns the columns of parameters.
    pub(super) fn columns(&self) -> &[Column] {
        self.layout.slots()
    }

    /// Returns the index of a parameter's column.
    fn column(&mut self, registry: &Registry, param: &Param) -> usize {
        let name = beside(&COMMON, &param::name(registry, &param.name));
        let class = Class::of(&ColumnType::of(registry, param));
        self.layout.column(&param.name, &name, class, class.word())
    }

    /// Returns the statement that makes the table.
    pub(super) fn create(&self) -> String {
        let params = self.columns().iter().map(declared);
        let common = COMMON.iter().map(|name| format!("{name} INTEGER"));
        let columns: Vec<_> = params.chain(common).collect();
        format!("CREATE TABLE {} ({})", quoted(&self.name), columns.join(", "))
    }
}

/// Returns a column for `CREATE TABLE` and `ALTER TABLE`.
pub(super) fn declared(column: &Column) -> String {
    format!("{} {}", quoted(&column.name), column.class.name())
}

/// Puts a name in double quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Puts text in single quotes.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
