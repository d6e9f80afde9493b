//! Names of pointers and addresses that are not labels: a table filled from the events whose marks
//! say so.

use std::collections::HashSet;

use rusqlite::{Connection, params};
use telemetry_schema::{NameBy, Named, Naming};

use super::labels::{self, Role};
use super::schema::{Known, Schema};
use super::tables::quoted;

/// A name is the string, the label `stringId`, or the name of the address `alias`. `sort` is the
/// sort of the named value, if the registry tells pointers and addresses apart.
const TABLE: &str = r#"
CREATE TABLE name (session INTEGER, address INTEGER, sort TEXT, string TEXT, "stringId" INTEGER, alias INTEGER,
    time INTEGER, time_ns INTEGER, log_serial INTEGER);
CREATE INDEX name_address ON name (session, address, time);
"#;

/// Returns true if a registry has names that are not in the tables of labels.
pub(super) fn has_some(schema: &Schema) -> bool {
    schema.registries.iter().any(|known| marks(known).next().is_some())
}

/// Adds the names from the events of a log, or of all logs if this is the first that needs the
/// table.
pub(super) fn fill(connection: &Connection, schema: &Schema, serial: i64) -> rusqlite::Result<()> {
    if !has_some(schema) {
        return Ok(());
    }
    let is_there = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'name')";
    let is_there: bool = connection.query_row(is_there, [], |row| row.get(0))?;
    if !is_there {
        connection.execute_batch(TABLE)?;
    }
    let from = if is_there { serial } else { 0 };
    // Versions of a registry share tables.
    let mut done = HashSet::new();
    for known in &schema.registries {
        for (event, naming) in marks(known) {
            let insert = insert(schema, known, event, &naming);
            if done.insert(insert.clone()) {
                connection.execute(&insert, params![from])?;
            }
        }
    }
    Ok(())
}

/// Returns an expression for the name that a column's value has at the time of its event.
pub(super) fn of_column(schema: &Schema, sort: char, value: &str) -> String {
    let label = format!(
        "(SELECT {} FROM EVENT_Label AS L WHERE L.session IS E.session AND L.address = {value} AND \
         L.time <= E.time ORDER BY L.time DESC LIMIT 1)",
        string_of("L")
    );
    if !has_some(schema) {
        return label;
    }
    // A name that is not a label applies before the event that carries it. Outer columns occur only
    // in WHERE: not all versions of SQLite know them elsewhere.
    let alias = "SELECT A.string FROM name AS A WHERE A.session IS N.session AND A.address = N.alias AND \
                 A.string IS NOT NULL";
    let string = format!(
        "coalesce(N.string, {}, ({alias} AND A.time <= E.time ORDER BY A.time DESC LIMIT 1), \
         ({alias} ORDER BY A.time LIMIT 1))",
        string_of("N"),
    );
    let name = format!(
        "SELECT {string} FROM name AS N WHERE N.session IS E.session AND N.address = {value} AND \
         (N.sort IS NULL OR N.sort = '{sort}')"
    );
    format!(
        "coalesce(({name} AND N.time <= E.time ORDER BY N.time DESC LIMIT 1), \
         ({name} AND N.\"stringId\" IS NULL ORDER BY N.time LIMIT 1), {label})"
    )
}

/// Returns an expression for the string of the label in a row.
pub(super) fn string_of(table: &str) -> String {
    format!(
        "(SELECT I.string FROM EVENT_Intern AS I WHERE I.session IS {table}.session AND \
         I.\"stringId\" = {table}.\"stringId\" ORDER BY I.rowid DESC LIMIT 1)"
    )
}

/// Returns the marks of a registry that name pointers and addresses, by index of the event, except
/// those in the tables of labels.
fn marks(known: &Known) -> impl Iterator<Item = (usize, Naming)> + '_ {
    let events = known.registry.events.iter().enumerate();
    let others = events.filter(|(_, event)| labels::role(&known.registry, event).is_none());
    others.flat_map(|(index, event)| {
        let namings = event.namings().filter(|naming| !naming.named.is_number());
        namings.map(move |naming| (index, naming))
    })
}

/// Returns the statement that takes the names of a mark from the table of its event.
fn insert(schema: &Schema, known: &Known, event: usize, naming: &Naming) -> String {
    let (table, of, by) = columns(schema, known, event, naming);
    let sort = match naming.named {
        _ if !known.registry.names_apart() => "NULL",
        Named::Pointer => "'P'",
        _ => "'A'",
    };
    let name_param = &known.registry.events[event].params[naming.by];
    let (string, number, alias) = match naming.name {
        NameBy::Text => (format!("CAST(E.{by} AS TEXT)"), "NULL".to_string(), "NULL".to_string()),
        NameBy::Label => ("NULL".to_string(), format!("E.{by}"), "NULL".to_string()),
        NameBy::Number => match own_string(schema, known, name_param.number_space(), &format!("E.{by}")) {
            Some(string) => (string, "NULL".to_string(), "NULL".to_string()),
            None => ("NULL".to_string(), format!("E.{by}"), "NULL".to_string()),
        },
        NameBy::Pointer | NameBy::Addr => ("NULL".to_string(), "NULL".to_string(), format!("E.{by}")),
    };
    let is_name = if naming.name == NameBy::Text { format!("AND E.{by} <> ''") } else { String::new() };
    format!(
        "INSERT INTO name SELECT E.session, E.{of}, {sort}, {string}, {number}, {alias}, E.time, E.time_ns, \
         E.log_serial FROM {table} AS E WHERE E.log_serial >= ? AND E.{of} IS NOT NULL {is_name}"
    )
}

/// Returns an expression for the string of one of the registry's own numbers; none if the tables of
/// labels have those. `space` selects the numbers. `value` is an expression with the event's row
/// `E`.
pub(super) fn own_string(schema: &Schema, known: &Known, space: &str, value: &str) -> Option<String> {
    let mut events = known.registry.events.iter().enumerate();
    let (table, of, text) = events.find_map(|(index, event)| {
        let is_meant = |naming: &Naming| {
            naming.named == Named::Number && event.params[naming.of].number_space() == space
        };
        let naming = event.namings().find(is_meant)?;
        let is_label = labels::role(&known.registry, event).is_some_and(|(role, _)| role == Role::Intern);
        (!is_label).then(|| columns(schema, known, index, &naming))
    })?;
    Some(format!(
        "(SELECT CAST(S.{text} AS TEXT) FROM {table} AS S WHERE S.session IS E.session AND S.{of} = {value} \
         ORDER BY S.rowid DESC LIMIT 1)"
    ))
}

/// Returns the table of an event, and the columns of the named value and of the name.
fn columns(schema: &Schema, known: &Known, event: usize, naming: &Naming) -> (String, String, String) {
    let place = &known.places[event];
    let table = &schema.tables.list[place.table];
    let column = |param: usize| quoted(&table.columns()[place.columns[param]].name);
    (quoted(&table.name), column(naming.of), column(naming.by))
}
