//! The names of tables and columns. There is one rule for parameters of one name with different
//! types, and one for those with the name of a common column.

use telemetry_decode::names::RUNTIME_REGISTRY;

/// The columns of a table, each with the class that decides whether versions share it.
#[derive(Debug, Clone)]
pub struct Layout<C> {
    slots: Vec<Slot<C>>,
}

/// A column by its name.
#[derive(Debug, Clone)]
pub struct Slot<C> {
    /// The name of the column.
    pub name: String,
    /// The name of the parameter.
    pub param: String,
    /// The class of its values.
    pub class: C,
}

impl<C> Default for Layout<C> {
    fn default() -> Self {
        Layout { slots: Vec::new() }
    }
}

impl<C: PartialEq> Layout<C> {
    /// Adds a column under a name that is free.
    pub fn add(&mut self, name: &str, class: C) {
        self.slots.push(Slot { name: name.to_string(), param: name.to_string(), class });
    }

    /// Returns the index of the column for a parameter's values of a class. If there is none, makes
    /// one that is called `name`, or `name__word` if that name is taken.
    pub fn column(&mut self, param: &str, name: &str, class: C, word: &str) -> usize {
        let found = self.slots.iter().position(|slot| slot.param == param && slot.class == class);
        if let Some(index) = found {
            return index;
        }
        let is_taken = |name: &str| self.slots.iter().any(|slot| slot.name.eq_ignore_ascii_case(name));
        // Parameters do not end in an underscore or have two of them, so such a name is free.
        let name = if is_taken(name) { format!("{name}__{word}") } else { name.to_string() };
        self.slots.push(Slot { name, param: param.to_string(), class });
        self.slots.len() - 1
    }

    /// Returns the columns in the order in which they were added.
    pub fn slots(&self) -> &[Slot<C>] {
        &self.slots
    }
}

/// Returns the name of an event type's table.
pub(crate) fn table_name(registry: &str, event: &str, is_one_of_several: bool) -> String {
    match is_one_of_several || registry == RUNTIME_REGISTRY {
        true => format!("{registry}.{event}"),
        false => event.to_string(),
    }
}

/// Returns the name of a parameter's column, in a table with these common columns.
pub fn beside(common: &[&str], param: &str) -> String {
    match common.iter().any(|common| common.eq_ignore_ascii_case(param)) {
        // Parameters do not end in an underscore, so this name is free.
        true => format!("{param}_"),
        false => param.to_string(),
    }
}
