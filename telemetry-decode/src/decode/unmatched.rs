//! The names of a filter that select nothing in the stream.

use super::decoder::Decoder;
use crate::registry::condition::Misfit;
use crate::registry::filter::{Filter, Selector};
use crate::report::completeness::Unmatched;
use crate::report::error::{Error, Result};

/// A number and a name by which something can be selected, and the name of its registry.
type Candidate<'c> = (&'c str, u64, &'c str);

impl Decoder {
    /// Returns the names of the filter that match nothing in the stream. If each matches, returns
    /// the names that exclude each other.
    pub(super) fn unmatched(&self) -> Vec<Unmatched> {
        let sessions = &self.state.sessions;
        let registries = || self.state.registries.iter().map(|known| (known.fingerprint, &known.registry));
        let kinds = registries().flat_map(|(_, registry)| {
            registry.kinds.iter().map(|kind| (registry.name.as_str(), kind.bit.into(), kind.name.as_str()))
        });
        let events = registries().flat_map(|(_, registry)| {
            registry
                .events
                .iter()
                .map(|event| (registry.name.as_str(), event.code.into(), event.name.as_str()))
        });
        // A preset has no number.
        let presets = registries().flat_map(|(_, registry)| {
            registry.presets.iter().map(|preset| (registry.name.as_str(), u64::MAX, preset.name.as_str()))
        });
        let threads = sessions.iter().flat_map(|session| session.threads());
        let threads = threads.map(|(number, facts)| (*number, facts.text("name").unwrap_or_default()));
        let threads = threads.chain(self.lanes.iter().map(|lane| (lane.key.thread, "")));
        let threads = threads.map(|(number, name)| ("", number.into(), name));
        let programs = sessions
            .iter()
            .map(|session| ("", session.id, session.facts.text("program").unwrap_or_default()));
        let names = registries().map(|(fingerprint, registry)| ("", fingerprint, registry.name.as_str()));
        let filter = &self.filter;
        let mut unmatched = [
            missing("kind", &filter.kinds, kinds),
            missing("event", &filter.events, events.chain(presets)),
            missing("thread", &filter.threads, threads),
            missing("session", &filter.sessions, programs),
            missing("registry", &filter.registries, names),
        ]
        .concat();
        if let Err(misfit) = self.check_condition() {
            unmatched.push(Unmatched { what: misfit.what, nearest: misfit.nearest });
        }
        if unmatched.is_empty() {
            unmatched.extend(self.excluding());
        }
        unmatched
    }

    /// Checks the condition of the filter against the registries that are known.
    pub(crate) fn check_condition(&self) -> Result<(), Misfit> {
        let Some(condition) = &self.filter.condition else { return Ok(()) };
        let registries: Vec<_> = self.state.registries.iter().map(|known| &known.registry).collect();
        condition.0.check(&registries)
    }

    /// Refuses a condition that would tell hidden values, during a pass that finds the registries.
    /// A later registry might show them, but a process may never send one. Other misfits may fit a
    /// later registry.
    pub(crate) fn check_hidden(&mut self) -> Result<()> {
        if !self.state.hiding.has_news {
            return Ok(());
        }
        match self.check_condition() {
            // The next block is refused as well.
            Err(misfit) if misfit.is_hidden => Err(Error::Filter(misfit.text)),
            _ => {
                self.state.hiding.has_news = false;
                Ok(())
            }
        }
    }

    /// Returns the kinds, events and registries of the filter if no event passes all of them.
    fn excluding(&self) -> Option<Unmatched> {
        let Filter { events, kinds, registries, .. } = &self.filter;
        let lists = [(" named", events), (" of kind", kinds), (" of registry", registries)];
        let is_one = lists.iter().filter(|(_, names)| !names.is_empty()).count() < 2;
        let known = &self.state.registries;
        let passes =
            || known.iter().any(|known| (0..known.registry.events.len()).any(|event| known.wants(event)));
        if is_one || known.is_empty() || passes() {
            return None;
        }
        let mut what = "event".to_string();
        for (relation, names) in lists.iter().filter(|(_, names)| !names.is_empty()) {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            what += &format!("{relation} {}", names.join(" or "));
        }
        Some(Unmatched { what, nearest: None })
    }
}

/// Returns the names that no candidate has, each with the most similar name.
fn missing<'c>(
    what: &str,
    names: &[Selector],
    candidates: impl Iterator<Item = Candidate<'c>> + Clone,
) -> Vec<Unmatched> {
    let matches = |name: &&Selector| {
        candidates.clone().any(|(registry, number, text)| match registry {
            "" => name.is(number, text),
            registry => name.is_of(registry, number, text),
        })
    };
    let unmatched = |name: &Selector| {
        let text = name.to_string();
        let bare = text.split_once(':').map_or(text.as_str(), |(_, rest)| rest);
        let texts = candidates.clone().map(|(.., text)| text).filter(|text| !text.is_empty());
        let nearest = telemetry_schema::nearest(bare, texts).map(str::to_string);
        Unmatched { what: format!("{what} `{text}`"), nearest }
    };
    names.iter().filter(|name| !matches(name)).map(unmatched).collect()
}
