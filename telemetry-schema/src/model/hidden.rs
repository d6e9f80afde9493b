//! Registries as tools show them, without the values of sensitive parameters.

use std::collections::BTreeMap;

use crate::model::naming::{Named, Naming};
use crate::model::registry::{Event, Param, Registry, Type, TypeForm, TypeValue};
use crate::model::sensitive::{Network, Sensitive};
use crate::model::sort::Sort;

impl Event {
    /// Returns true if a parameter is sensitive.
    pub fn is_sensitive(&self) -> bool {
        self.params.iter().any(|param| param.sensitive.is_some())
    }
}

impl Registry {
    /// Returns true if a parameter of an event is sensitive.
    pub fn is_sensitive(&self) -> bool {
        self.events.iter().any(Event::is_sensitive)
    }

    /// Returns the strictest mark of the parameters that stand for interned strings. Those that
    /// tell strings for a sensitive number count, too.
    pub fn sensitive_labels(&self) -> Option<Sensitive> {
        if !self.is_sensitive() {
            return None;
        }
        let mut marked = self.clone();
        marked.mark_numbered();
        let params = marked.events.iter().flat_map(|event| &event.params);
        params.filter(|param| param.sort == Sort::Label).filter_map(|param| param.sensitive).max()
    }

    /// Returns why the values of a parameter are hidden. `None` if they are not: the parameter is
    /// not sensitive, or this is not the registry that [`Registry::hidden`] returned.
    pub fn hidden_as(&self, param: &Param) -> Option<Sensitive> {
        let sensitive = param.sensitive?;
        let value = self.ty(param.sort)?.values.first()?;
        (value.name == sensitive.shown()).then_some(sensitive)
    }

    /// Takes the stricter mark of each parameter from another registry with the same fingerprint,
    /// which does not cover these marks. Returns true if one became stricter.
    pub fn take_sensitive(&mut self, other: &Registry) -> bool {
        let mut is_stricter = false;
        for (event, other) in self.events.iter_mut().zip(&other.events) {
            for (param, other) in event.params.iter_mut().zip(&other.params) {
                is_stricter |= other.sensitive > param.sensitive;
                param.sensitive = param.sensitive.max(other.sensitive);
            }
        }
        is_stricter
    }

    /// Marks the parameters of events that tell strings of interned labels, as a stream needs in
    /// which a sensitive parameter stands for such strings.
    pub fn mark_interned(&mut self) {
        for event in &mut self.events {
            let namings: Vec<Naming> = event.namings().collect();
            for naming in namings.iter().filter(|naming| naming.named == Named::Label) {
                for param in [naming.of, naming.by] {
                    event.params[param].sensitive.get_or_insert(Sensitive::Secret);
                }
            }
        }
    }

    /// Marks the parameters that tell strings for numbers which a sensitive parameter has, with the
    /// strictest mark of these numbers.
    pub fn mark_numbered(&mut self) {
        // What tells a string may be a number itself. Each round marks one more, or is the last.
        loop {
            let mut spaces: BTreeMap<String, Sensitive> = BTreeMap::new();
            let params = self.events.iter().flat_map(|event| &event.params);
            for param in params.filter(|param| param.has_numbers()) {
                let Some(sensitive) = param.sensitive else { continue };
                let strictest = spaces.entry(param.number_space().to_string()).or_insert(sensitive);
                *strictest = sensitive.max(*strictest);
            }
            let mut is_done = true;
            for event in self.events.iter_mut().filter(|_| !spaces.is_empty()) {
                let namings: Vec<Naming> = event.namings().collect();
                for naming in namings.iter().filter(|naming| naming.named == Named::Number) {
                    let sensitive = spaces.get(event.params[naming.of].number_space()).copied();
                    let mark = &mut event.params[naming.by].sensitive;
                    is_done &= sensitive <= *mark;
                    *mark = sensitive.max(*mark);
                }
            }
            if is_done {
                return;
            }
        }
    }

    /// Returns the kinds of events with a sensitive parameter, retired ones too: a mask of their
    /// bits.
    pub fn sensitive_kinds(&self) -> u64 {
        let events = self.events.iter().filter(|event| event.is_sensitive());
        events.fold(0, |mask, event| mask | 1 << (self.kind_of(event).bit & 63))
    }

    /// Returns the kinds that sinks over a network do not get, as a mask of their bits: those of
    /// events with a sensitive parameter, unless the kind says `network = "allow"`. A parameter is
    /// sensitive too if it tells a string for a number that is sensitive. If
    /// [`Registry::withholds_labels`] is true, the same holds for all that tell strings of labels.
    pub fn withheld_kinds(&self) -> u64 {
        self.withheld().0
    }

    /// Returns true if sinks over a network do not get the strings of interned labels: a sensitive
    /// parameter of a kind that they do not get stands for such strings.
    pub fn withholds_labels(&self) -> bool {
        self.withheld().1
    }

    fn withheld(&self) -> (u64, bool) {
        if !self.is_sensitive() {
            return (0, false);
        }
        let mut marked = self.clone();
        marked.mark_numbered();
        let kinds = self.kept_back(marked.sensitive_kinds());
        let is_label = |param: &Param| param.sort == Sort::Label && param.sensitive.is_some();
        let has_label = marked.events.iter().any(|event| {
            kinds & 1 << (marked.kind_of(event).bit & 63) != 0 && event.params.iter().any(is_label)
        });
        if !has_label {
            return (kinds, false);
        }
        marked.mark_interned();
        (self.kept_back(marked.sensitive_kinds()), true)
    }

    /// Removes the kinds that may go over a network from a mask.
    fn kept_back(&self, kinds: u64) -> u64 {
        let allowed = self.kinds.iter().filter(|kind| kind.network == Network::Allow);
        kinds & !allowed.fold(0, |mask, kind| mask | 1 << (kind.bit & 63))
    }

    /// Returns the registry as tools show it: each sensitive parameter has a type with one value,
    /// the number 0, whose name is [`Sensitive::shown`]. It has no other mark, and the marks of
    /// events that refer to it are gone. A parameter is sensitive too if it tells strings for
    /// numbers that a sensitive parameter has. Events are not decoded with this registry.
    #[must_use]
    pub fn hidden(&self) -> Registry {
        let mut hidden = self.clone();
        hidden.mark_numbered();
        for event in &mut hidden.events {
            let is_hidden: Vec<bool> = event.params.iter().map(|param| param.sensitive.is_some()).collect();
            let hides = |param: usize| is_hidden.get(param).copied().unwrap_or(false);
            for param in &mut event.params {
                param.names = param.names.filter(|named| !hides(*named));
                let Some(sensitive) = param.sensitive else { continue };
                hide(param, Sort::Named(hidden_type(&mut hidden.types, sensitive)));
            }
            event.replay = event.replay.take().filter(|mark| !mark.roles.iter().any(|(_, at)| hides(*at)));
            event.range = event.range.take().filter(|mark| !mark.roles.iter().any(|(_, at)| hides(*at)));
            event.census = event.census.take().filter(|mark| !mark.roles.iter().any(|(_, at)| hides(*at)));
            event.time = event.time.filter(|time| !hides(*time));
        }
        hidden
    }
}

/// Makes a parameter one value of a type, without marks.
fn hide(param: &mut Param, sort: Sort) {
    let plain = Param::new(std::mem::take(&mut param.name), sort);
    let (sensitive, since, doc) = (param.sensitive, param.since, std::mem::take(&mut param.doc));
    *param = Param { doc, sensitive, since, ..plain };
}

/// Returns the index of the type of hidden values, and adds it if needed. Its name is not that of a
/// type of the registry, and no value of one is called as its value is.
fn hidden_type(types: &mut Vec<Type>, sensitive: Sensitive) -> usize {
    let shown = sensitive.shown();
    let is_it = |ty: &Type| ty.values.first().is_some_and(|value| value.name == shown);
    if let Some(index) = types.iter().position(is_it) {
        return index;
    }
    let mut name = match sensitive {
        Sensitive::Personal => "HiddenPersonal".to_string(),
        Sensitive::Secret => "HiddenSecret".to_string(),
    };
    while types.iter().any(|ty| ty.name == name) {
        name.push('X');
    }
    let doc = format!("A value that is {} is hidden", sensitive.name());
    let value = TypeValue { name: shown.to_string(), number: 0, doc: String::new() };
    types.push(Type { name, doc, repr: Sort::U8, form: TypeForm::Enum, values: vec![value] });
    types.len() - 1
}
