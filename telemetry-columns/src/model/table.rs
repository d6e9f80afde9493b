//! The table of an event type, for all versions of its registry.

use telemetry_schema::{Event, Param, Registry, Sort, Version};

use crate::model::column::{Column, ColumnType, Common, Source};
use crate::model::layout::{Layout, beside};
use crate::model::place::ParamPlace;

/// The table of an event type. All versions of a registry share it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Table {
    /// The name, which no other table has: that of the event type, or `registry.Event`.
    pub name: String,
    /// The name of the registry. Empty for a side table, as are event type and kind.
    pub registry: String,
    /// The name of the event type.
    pub event: String,
    /// The name of its kind, from the latest version.
    pub kind: String,
    /// Its meaning, from the latest version.
    pub doc: String,
    /// The codes of the event type in all versions, each once.
    pub codes: Vec<u16>,
    /// The common columns, and then those of the parameters.
    pub columns: Vec<Column>,
    /// The names of the columns after the common ones.
    layout: Layout<(Role, ColumnType)>,
    /// The latest version.
    version: Version,
    /// The number of versions.
    forms: usize,
    /// By column: the number of versions that have it.
    uses: Vec<usize>,
}

/// The part of a parameter that a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Value,
    Names,
    Bytes,
}

impl Role {
    /// Returns the name of a parameter's column.
    fn name(self, param: &str) -> String {
        match self {
            Role::Value => beside(&Common::ALL.map(Common::name), param),
            // Parameters do not have two underscores, so these names are free.
            Role::Names => format!("{param}__name"),
            Role::Bytes => format!("{param}__bytes"),
        }
    }
}

impl Table {
    pub(crate) fn new(name: String, registry: &Registry, event: &Event) -> Table {
        Table {
            name,
            registry: registry.name.clone(),
            event: event.name.clone(),
            kind: registry.kind_of(event).name.clone(),
            doc: event.doc.clone(),
            codes: Vec::new(),
            columns: Common::ALL.map(Common::column).into(),
            layout: Layout::default(),
            version: registry.version,
            forms: 0,
            uses: vec![0; Common::ALL.len()],
        }
    }

    /// Makes a table of the caller's own columns, for [`Rows`](crate::Rows) and
    /// [`Batch::new`](crate::Batch::new). It is of no registry.
    pub fn of_columns(name: impl Into<String>, doc: impl Into<String>, columns: Vec<Column>) -> Table {
        Table {
            name: name.into(),
            registry: String::new(),
            event: String::new(),
            kind: String::new(),
            doc: doc.into(),
            codes: Vec::new(),
            uses: vec![1; columns.len()],
            columns,
            layout: Layout::default(),
            version: Version::default(),
            forms: 1,
        }
    }

    /// Returns a column by its name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Adds the columns of a version. Returns the columns of each parameter.
    pub(crate) fn add(&mut self, registry: &Registry, event: &Event) -> Vec<ParamPlace> {
        let is_latest = registry.version >= self.version;
        if is_latest {
            self.version = registry.version;
            self.kind.clone_from(&registry.kind_of(event).name);
            self.doc.clone_from(&event.doc);
        }
        if !self.codes.contains(&event.code) {
            self.codes.push(event.code);
        }
        self.forms += 1;
        let places = event.params.iter().map(|param| {
            let ty = ColumnType::of(registry, param);
            let names = has_names(param).then(|| names_type(&ty));
            let bytes = (ty == ColumnType::Utf8).then_some(ColumnType::Binary);
            let mut place = |role, ty| self.place((registry, param), role, ty, is_latest);
            ParamPlace {
                value: place(Role::Value, ty),
                names: names.map(|ty| place(Role::Names, ty)),
                bytes: bytes.map(|ty| place(Role::Bytes, ty)),
            }
        });
        let places = places.collect();
        for (column, uses) in self.columns.iter_mut().zip(&self.uses).skip(Common::ALL.len()) {
            // Names may be unknown, and bytes are those of texts that are not UTF-8.
            column.is_nullable = *uses < self.forms || !matches!(column.source, Source::Param(_));
        }
        places
    }

    /// Returns the index of a parameter's column, which is made if there is none.
    fn place(
        &mut self,
        (registry, param): (&Registry, &Param),
        role: Role,
        ty: ColumnType,
        is_latest: bool,
    ) -> usize {
        let name = role.name(&param.name);
        let index = self.layout.column(&param.name, &name, (role, ty.clone()), &ty.word());
        let column = index + Common::ALL.len();
        if column == self.columns.len() {
            let name = self.layout.slots()[index].name.clone();
            self.columns.push(describe(name, (registry, param), role, ty));
            self.uses.push(0);
        } else if is_latest {
            let name = self.columns[column].name.clone();
            self.columns[column] = describe(name, (registry, param), role, ty);
        }
        self.uses[column] += 1;
        column
    }
}

/// Returns true if a parameter's numbers have names: an enum, flags, labels, or a number with the
/// mark `numbers`.
pub(crate) fn has_names(param: &Param) -> bool {
    let is_marked = !param.numbers.is_empty() && param.has_numbers();
    is_marked || matches!(param.sort, Sort::Named(_) | Sort::Label)
}

/// Returns the type of the names of a type's numbers.
fn names_type(ty: &ColumnType) -> ColumnType {
    match ty {
        ColumnType::List(_) => ColumnType::List(Box::new(ColumnType::Dictionary)),
        _ => ColumnType::Dictionary,
    }
}

fn describe(name: String, (registry, param): (&Registry, &Param), role: Role, ty: ColumnType) -> Column {
    let of = param.name.clone();
    let (source, doc) = match role {
        Role::Value => (Source::Param(of), param.doc.clone()),
        Role::Names => (Source::Names(of), format!("the name of `{}`", param.name)),
        Role::Bytes => (Source::Bytes(of), format!("the bytes of `{}` if they are not UTF-8", param.name)),
    };
    let is_value = role == Role::Value;
    let values = registry.ty(param.sort).filter(|_| is_value).map(|ty| ty.values.clone());
    Column {
        name,
        ty,
        is_nullable: !is_value,
        is_address: is_value && matches!(param.sort, Sort::Pointer | Sort::Addr),
        doc,
        unit: if is_value { param.unit.clone() } else { String::new() },
        is_counter: is_value && param.is_counter,
        sort: registry.sort_text(param),
        values: values.unwrap_or_default(),
        source,
    }
}
