//! Tables and columns: those of every database, and those for registries.

use std::collections::{HashMap, HashSet};

use telemetry_schema::{Count, Event, Param, Registry, Sort};

use super::labels::{self, Role};
use crate::text::param;

/// The tables of every database. If the MPS has such a table, its columns come first and have the
/// MPS's names.
pub(super) const FIXED: &str = r#"
CREATE TABLE event_kind (name TEXT, description TEXT, enum INTEGER PRIMARY KEY, registry TEXT, bit INTEGER);
CREATE TABLE event_type (name TEXT, code INTEGER PRIMARY KEY, used INTEGER, kind INTEGER, registry TEXT,
    number INTEGER, always INTEGER, doc TEXT, table_name TEXT, FOREIGN KEY (kind) REFERENCES event_kind(enum));
CREATE TABLE event_param (type INTEGER, param_index INTEGER, sort TEXT, ident TEXT, doc TEXT, unit TEXT,
    column_name TEXT, FOREIGN KEY (type) REFERENCES event_type(code));
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
    /// The columns of parameters.
    pub(super) columns: Vec<Column>,
}

/// The column of a parameter.
pub(super) struct Column {
    pub(super) name: String,
    param: String,
    pub(super) class: Class,
}

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
    /// Returns the class of a parameter's values.
    pub(super) fn of(param: &Param) -> Class {
        if param.count != Count::One {
            return Class::Text;
        }
        match param.sort {
            Sort::Pointer | Sort::Addr | Sort::Word | Sort::Label | Sort::Bool | Sort::Named(_) => {
                Class::Integer
            }
            Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => Class::Integer,
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => Class::Integer,
            Sort::F32 | Sort::F64 => Class::Real,
            Sort::String => Class::Text,
            Sort::Bytes => Class::Blob,
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
        let column = |name: &str, class| Column { name: name.to_string(), param: name.to_string(), class };
        let table = |role: Role, columns| Table { name: role.table().to_string(), columns };
        let list = vec![
            table(Role::Intern, vec![column("stringId", Class::Integer), column("string", Class::Text)]),
            table(Role::Label, vec![column("address", Class::Integer), column("stringId", Class::Integer)]),
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
            _ => self.list[table].column(param, &param::name(registry, &param.name)),
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
        self.list.push(Table { name, columns: Vec::new() });
        self.list.len() - 1
    }
}

impl Table {
    /// Returns the column of a parameter. A parameter with several classes has a column for each.
    fn column(&mut self, param: &Param, called: &str) -> usize {
        let class = Class::of(param);
        let found =
            self.columns.iter().position(|column| column.param == param.name && column.class == class);
        if let Some(column) = found {
            return column;
        }
        // Parameters do not end in an underscore or have two of them, so both names are free.
        let is_common = COMMON.iter().any(|common| common.eq_ignore_ascii_case(called));
        let mut name = if is_common { format!("{called}_") } else { called.to_string() };
        if self.columns.iter().any(|column| column.name.eq_ignore_ascii_case(&name)) {
            name = format!("{name}__{}", class.name().to_ascii_lowercase());
        }
        self.columns.push(Column { name, param: param.name.clone(), class });
        self.columns.len() - 1
    }

    /// Returns the statement that makes the table.
    pub(super) fn create(&self) -> String {
        let params = self.columns.iter().map(Column::declared);
        let common = COMMON.iter().map(|name| format!("{name} INTEGER"));
        let columns: Vec<_> = params.chain(common).collect();
        format!("CREATE TABLE {} ({})", quoted(&self.name), columns.join(", "))
    }
}

impl Column {
    /// Returns the column for `CREATE TABLE` and `ALTER TABLE`.
    pub(super) fn declared(&self) -> String {
        format!("{} {}", quoted(&self.name), self.class.name())
    }
}

/// Puts a name in double quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Puts text in single quotes.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
