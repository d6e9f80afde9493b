//! The censuses: for each a macro that emits the begin, evaluates what emits the rows, and emits
//! the end.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Ident, Path};
use telemetry_schema::{CensusStep, Param, Registry};

use crate::output::messages::Heard;
use crate::output::scopes::ScopeEmitter;
use crate::parts::docs;
use crate::parts::names::exported;

/// One census, and the emitters of its begin and end.
struct Counting<'c> {
    what: &'c str,
    name: Ident,
    begin: &'c ScopeEmitter<'c>,
    end: &'c ScopeEmitter<'c>,
    /// The names of the emitters of its rows.
    rows: Vec<String>,
}

/// Generates the macros of all censuses that have one begin and one end, with emitters. An emitter
/// of the same name takes precedence.
pub(crate) fn censuses(registry: &Registry, at: &Path, used: &[ScopeEmitter<'_>]) -> Option<TokenStream> {
    let mut seen = HashSet::new();
    let whats = used.iter().filter_map(|emitter| Some(emitter.event.census.as_ref()?.what.as_str()));
    let counted: Vec<Counting<'_>> = whats
        .filter(|what| seen.insert(*what))
        .filter_map(|what| counting(what, used))
        .filter(|counting| used.iter().all(|emitter| *emitter.name != counting.name))
        .collect();
    let macros = counted.iter().map(|counting| macro_(registry, at, counting));
    (!counted.is_empty()).then(|| quote!(__emit::rt::censuses! { $ #(#macros)* }))
}

fn counting<'c>(what: &'c str, used: &'c [ScopeEmitter<'c>]) -> Option<Counting<'c>> {
    let of = |step: CensusStep| {
        used.iter().filter(move |emitter| {
            emitter.event.census.as_ref().is_some_and(|census| census.step == step && census.what == what)
        })
    };
    let only = |step| {
        let mut all = of(step);
        all.next().filter(|_| all.next().is_none())
    };
    Some(Counting {
        what,
        name: format_ident!("{what}_census"),
        begin: only(CensusStep::Begin)?,
        end: only(CensusStep::End)?,
        rows: of(CensusStep::Row).map(|emitter| emitter.name.to_string()).collect(),
    })
}

/// Generates the input of the runtime's `censuses!`, which makes the macro.
fn macro_(registry: &Registry, at: &Path, counting: &Counting<'_>) -> TokenStream {
    let Counting { name, begin, end, .. } = counting;
    let ScopeEmitter { event, bit, name: begin_name, heard, .. } = begin;
    let (always, end_name) = (event.always, end.name);
    let channel = heard.map(|Heard { channel, .. }| quote!(|| [crate::#at::__emit::channels::#channel]));
    let exported = exported(at, name);
    let doc = doc(registry, counting);
    let wrong = format!("wrong arguments of `{name}!`\nhelp: write {}", call(counting));
    quote! {
        { [crate::#at] #doc #exported #name #always #bit #channel #begin_name #end_name #wrong }
    }
}

/// Returns the parameters that take an argument.
fn passed<'c>(emitter: &'c ScopeEmitter<'_>) -> impl Iterator<Item = &'c Param> {
    emitter.event.params.iter().filter(|param| param.role.is_none())
}

/// Returns how the macro is called.
fn call(counting: &Counting<'_>) -> String {
    let Counting { name, begin, end, rows, .. } = counting;
    let names = |emitter: &ScopeEmitter<'_>| -> Vec<String> {
        passed(emitter).map(|param| param.name.clone()).collect()
    };
    let (begins, ends) = (names(begin).join(", "), names(end).join(", "));
    let ends = if ends.is_empty() { ends } else { format!("; {ends}") };
    let rows: Vec<_> = rows.iter().map(|row| format!("{row}!(...);")).collect();
    format!("{name}!({begins}{ends} => {{ {} }})", rows.join(" ")).replace("( =>", "(=>")
}

fn doc(registry: &Registry, counting: &Counting<'_>) -> String {
    let Counting { what, begin, end, .. } = counting;
    let mut text = format!(
        "A census of `{what}`: `{}`.\n\nEmits `{}`, evaluates what stands after `=>`, and emits `{}`. While `{}` is \
         off, it does nothing.",
        call(counting),
        begin.event.name,
        end.event.name,
        begin.event.name
    );
    let params = || passed(begin).chain(passed(end));
    if params().next().is_some() {
        text += "\n";
    }
    for param in params() {
        text += &format!("\n- `{}`: {}", param.name, docs::param(registry, param));
    }
    text
}
