//! The tables of all registries that the lake has seen.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use telemetry_columns::{Column, ColumnType, Common, Source, Table, Tables};
use telemetry_decode::{KnownRegistry, Registry};

use crate::layout::Layout;

/// Registries in the order in which they were first seen. A further one adds tables and columns,
/// and never changes those before.
#[derive(Clone, Default)]
pub struct Catalog {
    layout: Layout,
    registries: Vec<KnownRegistry>,
    /// By index of the registry: the name of its text in the store.
    names: Vec<String>,
    /// The number of registries, and of times that marks became stricter.
    changes: u64,
    known: HashSet<u64>,
    has_sensitive_labels: bool,
    /// By name and major version of the registry.
    groups: BTreeMap<(String, u32), Tables>,
}

/// The columns that every table of events begins with.
const COMMON: usize = Common::ALL.len() + 1;

/// Names that a parameter's column cannot have, beside those of partitions.
const TAKEN: [&str; 3] = ["lane", "n", "host"];

/// The name of the table of spans.
pub const SPANS: &str = "span";

impl Catalog {
    /// Returns a catalog of no registries.
    pub fn new(layout: Layout) -> Catalog {
        Catalog { layout, ..Catalog::default() }
    }

    /// Returns how the tables are partitioned.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Adds a registry. Returns false if it is known. Of a known one, only stricter marks of
    /// sensitive parameters are taken, which the fingerprint does not cover.
    pub fn add(&mut self, known: &KnownRegistry) -> bool {
        let is_new = self.known.insert(known.fingerprint);
        self.has_sensitive_labels |= known.registry.sensitive_labels().is_some();
        if is_new {
            self.groups.entry(group_of(known)).or_default().add(known);
            self.registries.push(known.clone());
            self.names.push(format!("{:016x}", known.fingerprint));
            self.changes += 1;
        } else if known.registry.is_sensitive()
            && let Some(index) = self.registries.iter().position(|it| it.fingerprint == known.fingerprint)
            && self.registries[index].registry.take_sensitive(&known.registry)
        {
            let text = self.registries[index].registry.to_toml();
            self.names[index] = format!("{:016x}-{:08x}", known.fingerprint, crc32c::crc32c(text.as_bytes()));
            self.changes += 1;
        }
        is_new
    }

    /// Adds a registry whose text has this name in the store.
    pub fn add_stored(&mut self, name: &str, known: &KnownRegistry) {
        if self.add(known)
            && let Some(last) = self.names.last_mut()
        {
            name.clone_into(last);
        }
    }

    /// Returns the names of the texts in the store, by index of the registry. Objects of the store
    /// never change, so a text with stricter marks has another name.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns a number that is greater after each change.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns the registry with this fingerprint.
    pub fn registry(&self, fingerprint: u64) -> Option<&Registry> {
        let known = self.registries.iter().find(|known| known.fingerprint == fingerprint);
        known.map(|known| &known.registry)
    }

    /// Returns true if a sensitive parameter of some registry stands for labels.
    pub fn has_sensitive_labels(&self) -> bool {
        self.has_sensitive_labels
    }

    /// Returns the registries in their order.
    pub fn registries(&self) -> &[KnownRegistry] {
        &self.registries
    }

    /// Returns the tables, as `telemetry-columns` has them, that this registry shares with other
    /// versions.
    pub fn group(&self, known: &KnownRegistry) -> Option<(&(String, u32), &Tables)> {
        self.groups.get_key_value(&group_of(known))
    }

    /// Returns the index of the tables of a registry's major version.
    pub fn number(&self, key: &(String, u32)) -> usize {
        self.groups.range(..key).count()
    }

    /// Returns all tables of events of the lake.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        let of_group = |((_, major), tables): (&(String, u32), &Tables)| {
            tables.iter().map(|table| of(table, *major, self.layout)).collect::<Vec<_>>()
        };
        self.groups.iter().flat_map(of_group).collect()
    }
}

/// Returns the lake's table of spans.
pub fn of_spans(layout: Layout) -> Arc<Table> {
    let sides = Tables::sides();
    let spans = sides.iter().find(|side| side.name == SPANS).expect("telemetry-columns has it");
    let own = |column: &Column| {
        let mut own = column.clone();
        own.ty = signed(&column.ty);
        own
    };
    let columns = of_host(layout).into_iter().chain(spans.columns.iter().map(own)).collect();
    Arc::new(Table::of_columns(SPANS, spans.doc.clone(), columns))
}

/// Returns the first column of a table whose rows have their host.
fn of_host(layout: Layout) -> Option<Column> {
    let is_in_rows = layout.has_host_in_rows();
    is_in_rows.then(|| Column::new("host", ColumnType::Dictionary, "the host"))
}

fn group_of(known: &KnownRegistry) -> (String, u32) {
    (known.registry.name.clone(), known.registry.version.major)
}

/// Returns the lake's table for a table of `telemetry-columns`.
///
/// Major versions of a registry share nothing, so those from 2 on have names of their own. Numbers
/// are signed and have 32 or 64 bits, because Delta has no others.
pub fn of(table: &Table, major: u32, layout: Layout) -> Arc<Table> {
    let mut name = format!("{}_{}", table.registry, table.event);
    if major > 1 {
        name += &format!("_m{major}");
    }
    let mut columns: Vec<Column> = Vec::with_capacity(table.columns.len() + 2);
    columns.extend(of_host(layout));
    for column in &table.columns {
        let name = match &column.source {
            Source::Common(Common::Position) => "n".to_owned(),
            Source::Common(_) => column.name.clone(),
            source => free_name(&columns, &base(source, &column.name, layout)),
        };
        let mut own = column.clone();
        (own.name, own.ty) = (name, signed(&column.ty));
        // Events of segments are numbered, always.
        own.is_nullable = !matches!(column.source, Source::Common(_));
        columns.push(own);
        if column.source == Source::Common(Common::Session) {
            columns.push(Column::new("lane", ColumnType::I32, "the number of the lane in its session"));
        }
    }
    debug_assert!(columns.len() >= COMMON);
    Arc::new(Table::of_columns(name, table.doc.clone(), columns))
}

/// Returns the type in the lake of a type of `telemetry-columns`.
pub fn signed(ty: &ColumnType) -> ColumnType {
    match ty {
        ColumnType::I8 | ColumnType::I16 | ColumnType::U8 | ColumnType::U16 => ColumnType::I32,
        ColumnType::U32 | ColumnType::U64 => ColumnType::I64,
        ColumnType::List(items) => ColumnType::List(Box::new(signed(items))),
        other => other.clone(),
    }
}

/// Returns the name of a parameter's column before versions are told apart.
fn base(source: &Source, name: &str, layout: Layout) -> String {
    let is_taken = |param: &str| {
        let of_partitions = layout.columns().into_iter().map(|(name, ..)| name);
        TAKEN.into_iter().chain(of_partitions).any(|taken| taken.eq_ignore_ascii_case(param))
    };
    match source {
        Source::Param(param) => match name.strip_prefix(param.as_str()) {
            // It is called like a common column of `telemetry-columns`.
            Some("_") => name.to_owned(),
            _ if is_taken(param) => format!("{param}_"),
            _ => param.clone(),
        },
        Source::Names(param) => format!("{param}__name"),
        Source::Bytes(param) => format!("{param}__bytes"),
        _ => name.to_owned(),
    }
}

/// Returns the name, or `name_v2` and so on if earlier versions have a column of the name with
/// another type.
fn free_name(columns: &[Column], name: &str) -> String {
    let is_free = |name: &String| !columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
    let versions = (2..).map(|version| format!("{name}_v{version}"));
    std::iter::once(name.to_owned()).chain(versions).find(is_free).unwrap_or_default()
}
