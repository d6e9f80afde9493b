//! The scopes: for each span a macro that emits the begin, and emits the end when the value that it
//! returns is dropped.

use std::collections::HashSet;
use std::ops::Range;

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use syn::{Ident, Path};
use telemetry_schema::{Event, Param, Registry, Span, snake_case};

use crate::output::messages::Heard;
use crate::parts::docs;
use crate::parts::names::{exported, ident};
use crate::parts::signature::{Signature, passed, signature};
use crate::parts::sorts::Argument;

/// What a scope needs of an emitter.
pub(crate) struct ScopeEmitter<'e> {
    pub(crate) event: &'e Event,
    pub(crate) index: usize,
    pub(crate) name: &'e Ident,
    pub(crate) bit: &'e Literal,
    pub(crate) params: &'e [Ident],
    pub(crate) arguments: &'e [Argument],
    /// The arguments of the record.
    pub(crate) passes: &'e [TokenStream],
    pub(crate) heard: Option<&'e Heard>,
}

/// The output.
pub(crate) struct Scopes {
    /// The macros, in the module.
    pub(crate) macros: Option<TokenStream>,
    /// What they call, in `__emit`.
    pub(crate) begins: Option<TokenStream>,
}

/// One span, and the emitters of its two events.
struct Scope<'s> {
    span: &'s Span,
    name: Ident,
    begin: &'s ScopeEmitter<'s>,
    end: &'s ScopeEmitter<'s>,
    /// Which parameter is the key, in the begin and in the end.
    keys: Option<(usize, usize)>,
}

/// Generates the scopes of all spans that can have one: both events have emitters, and the key, if
/// there is one, can be kept until the end. An emitter of the same name takes precedence.
pub(crate) fn scopes(registry: &Registry, at: &Path, used: &[ScopeEmitter<'_>]) -> Scopes {
    let mut names: HashSet<String> = used.iter().map(|emitter| emitter.name.to_string()).collect();
    let scopes: Vec<Scope<'_>> = registry
        .spans
        .iter()
        .filter_map(|span| scope(span, used))
        .filter(|scope| names.insert(scope.name.to_string()))
        .collect();
    if scopes.is_empty() {
        return Scopes { macros: None, begins: None };
    }
    let macros = scopes.iter().map(|scope| macro_(registry, at, scope));
    let begins = scopes.iter().map(begin);
    Scopes {
        macros: Some(quote!(__emit::scopes! { $ #(#macros)* })),
        begins: Some(quote! {
            /// The typed halves of the scopes.
            pub enum begin {}

            impl begin {
                #(#begins)*
            }
        }),
    }
}

fn scope<'s>(span: &'s Span, used: &'s [ScopeEmitter<'s>]) -> Option<Scope<'s>> {
    let emitter = |index| used.iter().find(|emitter| emitter.index == index);
    let (begin, end) = (emitter(span.begin)?, emitter(span.end)?);
    let keys = match &span.key {
        None => None,
        Some(key) => {
            let is_key = |param: &Param| param.name == *key;
            let at = |emitter: &ScopeEmitter<'_>| emitter.event.params.iter().position(is_key);
            let keys = (at(begin)?, at(end)?);
            // A text would have to be copied, and copies allocate.
            if begin.event.params[keys.0].sort.is_run() {
                return None;
            }
            Some(keys)
        }
    };
    let name = format_ident!("{}_scope", snake_case(&span.name));
    Some(Scope { span, name, begin, end, keys })
}

/// Generates the input of the runtime's `scopes!`, which makes the macro.
fn macro_(registry: &Registry, at: &Path, scope: &Scope<'_>) -> TokenStream {
    let Scope { span, name, begin, end, keys } = scope;
    let ScopeEmitter { event, bit, params, arguments, heard, .. } = begin;
    let channel = heard.map(|Heard { channel, .. }| quote!(|| [crate::#at::__emit::channels::#channel]));
    let always = event.always;
    let exported = exported(at, name);
    let opens = arguments.iter().filter_map(|argument| argument.check.open());
    let zeros = opens.map(|_| Literal::u8_unsuffixed(0));
    let end_name = end.name;
    // A parameter of both events would be two arguments of one name.
    let named = |param: &Ident| {
        if params.contains(param) { format_ident!("end_{param}") } else { param.clone() }
    };
    let ends = |range: Range<usize>| -> Vec<Ident> {
        passed(&end.params[range.clone()], &end.arguments[range]).map(|(name, _)| named(name)).collect()
    };
    let count = end.params.len();
    let (before, key, after) = match *keys {
        Some((_, at)) => (ends(0..at), quote!(key key), ends(at + 1..count)),
        None => (ends(0..count), quote!(_key), Vec::new()),
    };
    let params = passed(params, arguments).map(|(name, _)| name);
    let method = ident(&snake_case(&span.name));
    let extra: Vec<&Param> = rest(end.event, keys.map(|(_, at)| at)).collect();
    let doc = doc(registry, scope, &extra);
    let wrong = docs::wrong_scope(registry, (event, end.event), &extra, name);
    quote! {
        {
            [crate::#at] #doc #exported #name #method
            #always #bit #channel [#(#params)*] [#(#zeros)*]
            #end_name [#(#before)* #(#after)*] [#(#before)*] [#key] [#(#after)*]
            #wrong
        }
    }
}

/// Returns the parameters of the end that a scope takes: all but the key.
fn rest(end: &Event, key: Option<usize>) -> impl Iterator<Item = &Param> {
    let is_taken = move |(at, param): &(usize, &Param)| Some(*at) != key && param.role.is_none();
    end.params.iter().enumerate().filter(is_taken).map(|(_, param)| param)
}

fn doc(registry: &Registry, scope: &Scope<'_>, extra: &[&Param]) -> String {
    let Scope { span, begin, end, .. } = scope;
    let (begin, end) = (begin.event, end.event);
    let mut text = format!(
        "{}\n\nEmits `{}`, and `{}` when the value that it returns is dropped.",
        docs::sentence(&span.doc),
        begin.name,
        end.name
    );
    if !extra.is_empty() {
        text += &format!(
            " After a `;` it takes the other arguments of `{}`, which are evaluated at the end.",
            end.name
        );
    }
    let begins = || begin.params.iter().filter(|param| param.role.is_none());
    if begins().next().is_some() || !extra.is_empty() {
        text += "\n";
    }
    for param in begins().chain(extra.iter().copied()) {
        text += &format!("\n- `{}`: {}", param.name, docs::param(registry, param));
    }
    text
}

/// Generates the typed half: it emits the begin, and returns the key.
fn begin(scope: &Scope<'_>) -> TokenStream {
    let Scope { span, begin, keys, .. } = scope;
    let ScopeEmitter { name: event, params, arguments, passes, .. } = begin;
    let name = ident(&snake_case(&span.name));
    let is_keyed = format_ident!("{name}_is_keyed");
    let has_key = keys.is_some();
    let names = passed(params, arguments).map(|(name, _)| name);
    let shown = passed(params, arguments).map(|(_, argument)| &argument.shown);
    let lowered = arguments.iter().map(|argument| &argument.lowered);
    let Signature { generics, takes, bounds } = signature(params, arguments);
    let (key, ty) = match *keys {
        Some((at, _)) => {
            let (param, ty) = (&params[at], &arguments[at].record_ty);
            (quote!(#param), quote!(#ty))
        }
        None => (quote!(rt::OnThread::new()), quote!(rt::OnThread)),
    };
    quote! {
        #[cfg(not(rust_analyzer))]
        #[inline(always)]
        pub fn #name #generics (#takes) -> #ty #bounds {
            #(let #params = #lowered;)*
            record::#event(#(#passes),*);
            #key
        }

        #[cfg(rust_analyzer)]
        pub fn #name(#(#names: #shown),*) {}

        pub const #is_keyed: bool = #has_key;
    }
}
