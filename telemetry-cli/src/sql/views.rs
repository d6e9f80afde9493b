//! Views: labels and names beside numbers, and the events of all tables.

use rusqlite::Connection;
use telemetry_schema::{Count, Param, Sort, Type, TypeForm};

use super::schema::{Known, Schema};
use super::tables::{COMMON, Column, Table, literal, quoted};
use super::{glue, names};

/// Selects per compound, well below SQLite's own limit of 500.
const MAX_SELECTS: usize = 250;

impl Schema {
    /// Updates everything that follows from the registries and from which tables have rows.
    pub(super) fn settle(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if self.is_behind {
            glue::fill(connection, self)?;
            name(connection, self)?;
            self.is_behind = false;
        }
        all(connection, self)
    }
}

/// Makes `label`, and a view `NAMED_…` of every table of events.
fn name(connection: &Connection, schema: &Schema) -> rusqlite::Result<()> {
    connection.execute_batch(&format!("DROP VIEW IF EXISTS label; {}", label(schema)))?;
    for (index, table) in schema.tables.list.iter().enumerate() {
        let view = named_view(&table.name);
        connection
            .execute_batch(&format!("DROP VIEW IF EXISTS {view}; {}", named(schema, index, table, &view)))?;
    }
    Ok(())
}

/// Makes `event`, a view of all tables that have rows.
fn all(connection: &Connection, schema: &Schema) -> rusqlite::Result<()> {
    let mut selects = Vec::new();
    for (index, table) in schema.tables.list.iter().enumerate() {
        let has_rows = format!("SELECT EXISTS (SELECT 1 FROM {})", quoted(&table.name));
        if !connection.query_row(&has_rows, [], |row| row.get(0))? {
            continue;
        }
        // The latest form has the current name of the event. Several registries may have labels.
        let forms = schema.latest_first();
        let described = forms.iter().find_map(|known| Some((known, event_in(known, index)?)));
        let Some((known, event)) = described else { continue };
        let (registry, event) = (&known.registry, &known.registry.events[event]);
        let (registry_name, event_name) = (literal(&registry.name), literal(&event.name));
        let (kind, table) = (literal(&registry.kind_of(event).name), quoted(&table.name));
        selects.push(format!(
            "SELECT time_ns, session, thread, {kind} AS kind, {event_name} AS event, {registry_name} AS registry, \
             time, log_serial FROM {table}"
        ));
    }
    while selects.len() > MAX_SELECTS {
        let nested =
            selects.chunks(MAX_SELECTS).map(|some| format!("SELECT * FROM ({})", some.join(" UNION ALL ")));
        selects = nested.collect();
    }
    if selects.is_empty() {
        selects.push(
            "SELECT NULL AS time_ns, NULL AS session, NULL AS thread, NULL AS kind, NULL AS event, \
             NULL AS registry, NULL AS time, NULL AS log_serial WHERE 0"
                .to_string(),
        );
    }
    let view = format!("CREATE VIEW event AS {}", selects.join(" UNION ALL "));
    connection.execute_batch(&format!("DROP VIEW IF EXISTS event; {view}"))
}

/// Returns the names of addresses, from every table that has them.
fn label(schema: &Schema) -> String {
    let columns = "session, address, \"stringId\", time, time_ns, log_serial";
    let mut of = vec![format!("SELECT {columns}, NULL AS string, NULL AS alias FROM EVENT_Label")];
    if names::has_some(schema) {
        of.push(format!("SELECT {columns}, string, alias FROM name"));
    }
    // An alias has the latest name of its target.
    let alias = match of.len() {
        1 => "NULL",
        _ => {
            "(SELECT A.string FROM name AS A WHERE A.session IS L.session AND A.address = L.alias AND \
             A.string IS NOT NULL ORDER BY A.time DESC LIMIT 1)"
        }
    };
    format!(
        "CREATE VIEW label AS SELECT L.session, L.address, L.\"stringId\", coalesce(L.string, {}, {alias}) AS string, \
         L.time, L.time_ns, L.log_serial FROM ({}) AS L",
        names::string_of("L"),
        of.join(" UNION ALL ")
    )
}

/// Returns the view of a table: `NAMED_PoolInit` for `EVENT_PoolInit`.
fn named_view(table: &str) -> String {
    quoted(&table.replacen("EVENT_", "NAMED_", 1))
}

fn named(schema: &Schema, index: usize, table: &Table, view: &str) -> String {
    let mut columns = vec!["E.time_ns".to_string()];
    columns.push("coalesce(T.name, '#' || E.thread) AS thread_name".to_string());
    for (number, column) in table.columns().iter().enumerate() {
        columns.extend(named_column(schema, index, number, column));
    }
    columns.extend(COMMON.iter().filter(|name| **name != "time_ns").map(|name| format!("E.{name}")));
    format!(
        "CREATE VIEW {view} AS SELECT {} FROM {} AS E LEFT JOIN thread AS T ON T.session = E.session AND \
         T.thread = E.thread",
        columns.join(", "),
        quoted(&table.name)
    )
}

/// Returns a column in readable form, and the label of an address.
fn named_column(schema: &Schema, table: usize, number: usize, column: &Column) -> Vec<String> {
    let name = quoted(&column.name);
    let value = format!("E.{name}");
    let plain = vec![value.clone()];
    let forms = schema.latest_first();
    let param = forms.iter().find_map(|known| {
        let event = event_in(known, table)?;
        let place = known.places[event].columns.iter().position(|column| *column == number)?;
        let event = &known.registry.events[event];
        let is_marked = event.namings().any(|naming| naming.of == place || naming.by == place);
        Some((known, &event.params[place], is_marked))
    });
    let Some((known, param, is_marked)) = param else { return plain };
    if !param.numbers.is_empty() {
        return with_strings(schema, known, param, column);
    }
    if param.count != Count::One {
        return plain;
    }
    match param.sort {
        Sort::Pointer | Sort::Addr => {
            let label = quoted(&format!("{}__label", column.name));
            let sort = if param.sort == Sort::Pointer { 'P' } else { 'A' };
            vec![
                format!("printf('0x%x', {value}) AS {name}"),
                format!("{} AS {label}", names::of_column(schema, sort, &value)),
            ]
        }
        Sort::Word | Sort::U64 => {
            vec![format!("CASE WHEN {value} < 0 THEN printf('%u', {value}) ELSE {value} END AS {name}")]
        }
        // A label that gives or gets a name is a number.
        Sort::Label if !is_marked => vec![format!(
            "coalesce((SELECT I.string FROM EVENT_Intern AS I WHERE I.session IS E.session AND \
             I.\"stringId\" = {value} ORDER BY I.rowid DESC LIMIT 1), {value}) AS {name}"
        )],
        sort => match known.registry.ty(sort) {
            Some(ty) => vec![format!("{} AS {name}", named_value(ty, &value))],
            None => plain,
        },
    }
}

/// Returns a column of numbers that have strings, and a column of these strings. For an array it is
/// an array, in which a number without a string stands for itself.
fn with_strings(schema: &Schema, known: &Known, param: &Param, column: &Column) -> Vec<String> {
    let (name, strings) = (quoted(&column.name), quoted(&format!("{}__label", column.name)));
    let string_of = |value: &str| names::own_string(schema, known, param.number_space(), value);
    let string = match param.count {
        Count::One => string_of(&format!("E.{name}")),
        _ => string_of("J.value").map(|string| {
            format!("(SELECT json_group_array(coalesce({string}, J.value)) FROM json_each(E.{name}) AS J)")
        }),
    };
    let mut columns = vec![format!("E.{name}")];
    columns.extend(string.map(|string| format!("{string} AS {strings}")));
    columns
}

/// Returns the name of a value of an enum or flags, if it has one.
fn named_value(ty: &Type, value: &str) -> String {
    if ty.values.is_empty() {
        return value.to_string();
    }
    let names =
        ty.values.iter().map(|named| format!("WHEN {} THEN {}", named.number as i64, literal(&named.name)));
    let names = names.collect::<Vec<_>>().join(" ");
    if ty.form == TypeForm::Enum {
        return format!("CASE {value} {names} ELSE {value} END");
    }
    let masks: Vec<_> = ty.values.iter().map(|named| (named.number as i64, &named.name)).collect();
    let masks = masks.iter().filter(|(mask, _)| *mask != 0);
    let has = |mask: i64| format!("CASE WHEN {value} & {mask} = {mask} THEN");
    let words: Vec<_> = masks
        .clone()
        .map(|(mask, name)| format!("{} {} ELSE '' END", has(*mask), literal(&format!("|{name}"))))
        .collect();
    let known: Vec<_> = masks.map(|(mask, _)| format!("({} {mask} ELSE 0 END)", has(*mask))).collect();
    let rest = format!("({value} & ~({}))", known.join(" | "));
    format!(
        "CASE {value} {names} WHEN 0 THEN 0 ELSE substr({} || CASE WHEN {rest} <> 0 THEN printf('|0x%x', {rest}) \
         ELSE '' END, 2) END",
        words.join(" || ")
    )
}

/// Returns the index of the event of a registry that has this table.
fn event_in(known: &Known, table: usize) -> Option<usize> {
    known.places.iter().position(|place| place.table == table)
}
