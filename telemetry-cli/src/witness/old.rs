//! The released registry, rebuilt from its lock.

use std::fmt::Write;

use telemetry_schema::version::{Lock, LockEvent, LockParam, LockType, State};
use telemetry_schema::{Clock, Registry, TypeForm, parse_embedded};

/// Rebuilds the registry of a lock, without docs and spans, which do not affect how bytes are read.
pub(super) fn registry(lock: &Lock) -> Option<Registry> {
    let mut out = String::new();
    let version = lock.version;
    let _ = writeln!(
        out,
        "[registry]\nname = \"{}\"\nversion = {{ major = {}, median = {}, minor = {} }}\ndoc = \"-\"\n[kinds]",
        lock.registry, version.major, version.median, version.minor
    );
    for kind in &lock.kinds {
        let clock = if kind.clock == Clock::Inherit { ", clock = \"inherit\"" } else { "" };
        let _ = writeln!(out, "{} = {{ bit = {}, doc = \"-\"{clock} }}", kind.name, kind.bit);
    }
    lock.types.iter().for_each(|ty| append_type(&mut out, ty));
    for event in &lock.events {
        if event.state.is_listed() {
            append_event(&mut out, event);
        }
    }
    parse_embedded(&out).ok()
}

fn append_type(out: &mut String, ty: &LockType) {
    let repr = ty.repr.name().unwrap_or_default();
    let _ = writeln!(out, "[types.{}]\nrepr = \"{repr}\"\nflags = {}", ty.name, ty.form == TypeForm::Flags);
    let _ = writeln!(out, "[types.{}.values]", ty.name);
    for value in &ty.values {
        let _ = writeln!(out, "{} = {}", value.name, value.number);
    }
}

fn append_event(out: &mut String, event: &LockEvent) {
    let LockEvent { code, name, kind, always, state, params, .. } = event;
    let used = *state == State::Used;
    let _ = writeln!(
        out,
        "[[event]]\nname = \"{name}\"\ncode = {code}\nkind = \"{kind}\"\nalways = {always}\nused = {used}\ndoc = \"-\""
    );
    let params: Vec<String> = params.iter().map(param).collect();
    let _ = writeln!(out, "params = [{}]", params.join(", "));
}

fn param(param: &LockParam) -> String {
    let mut out = format!("{{ name = \"{}\", sort = \"{}\"", param.name, param.sort);
    if let Some(max) = param.max {
        let _ = write!(out, ", max = {max}");
    }
    if param.align > 1 {
        let _ = write!(out, ", align = {}", param.align);
    }
    if !param.unit.is_empty() {
        let _ = write!(out, ", unit = {:?}", param.unit);
    }
    out + " }"
}
