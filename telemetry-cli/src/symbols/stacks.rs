//! The stacks of all sessions, from the events `Stack` and `Module` of the runtime's registry, and
//! from the events of programs about code.

use std::sync::Arc;

use hashbrown::HashMap;
use telemetry_decode::{Event, Filter, Order, Session, Value};

use super::code::{self, Code};
use super::module::Module;
use super::perf_map;
use super::table::Table;
use crate::input::inputs::{Inputs, cannot_read};
use crate::term::ended::Failure;

/// The name of the runtime's registry.
const OWN: &str = telemetry_decode::names::RUNTIME_REGISTRY;

/// What a walk that reached the first function has for its end. Others end early.
const COMPLETE: u64 = 1;

/// The outermost frames of stacks that end early, by the number of their end.
const ENDS: [(u64, &str); 3] = [(2, "(no frame pointer)"), (3, "(more frames)"), (4, "(corrupt frame)")];

/// The functions of the C library that call the first function of a program or a thread. There may
/// be no frame pointers above them.
const FIRST: [&str; 4] = ["__libc_start_call_main", "__libc_start_main", "start_thread", "_start"];

/// The functions that find the place of the code, the innermost first. In C it is one.
const RUNTIMES: [&str; 3] = ["here", "stack", "telemetry_code_"];

/// All stacks of a stream.
#[derive(Default)]
pub(crate) struct Stacks {
    sessions: HashMap<u64, OfSession>,
}

#[derive(Default)]
struct OfSession {
    /// By number.
    stacks: HashMap<u64, Walked>,
    modules: Vec<Module>,
    /// The code that the program has compiled so far.
    code: Code,
    /// The functions at addresses that were asked for.
    names: HashMap<u64, Arc<[String]>>,
    compiled: Option<Table>,
}

/// A stack.
#[derive(Clone)]
struct Walked {
    /// The number of its end.
    end: u64,
    /// The addresses of the code, the innermost first.
    addresses: Box<[u64]>,
    /// The names of code that was compiled before, each with the index of its frame.
    compiled: Box<[(usize, Arc<str>)]>,
}

impl Stacks {
    /// Reads the stacks of inputs, if they can be read again.
    pub(crate) fn of(inputs: &Inputs) -> Result<Stacks, Failure> {
        let mut stacks = Stacks::default();
        if inputs.are_files() {
            let filter = Filter::default().registries([OWN]).kinds(["Label"]);
            let mut events = inputs.events(Order::Stream, filter)?;
            let code = code::events(events.registries());
            if !code.is_empty() {
                // Memory of code is used again, so that times count.
                let own = ["Stack", "Module"].map(|event| format!("{OWN}:{event}"));
                let names = own.iter().chain(&code).map(String::as_str);
                let filter = Filter::default().events(names);
                events = inputs.events(Order::Time, filter)?;
            }
            while let Some(event) = events.next().map_err(cannot_read)? {
                stacks.take(&event);
            }
        }
        Ok(stacks)
    }

    /// Reads the stacks of inputs, if they are needed.
    pub(crate) fn if_needed(are_needed: bool, inputs: &Inputs) -> Result<Stacks, Failure> {
        if are_needed { Stacks::of(inputs) } else { Ok(Stacks::default()) }
    }

    /// Takes a stack, a module or compiled code from an event, if it has one. A stack has the names
    /// of code from events before it.
    pub(crate) fn take(&mut self, event: &Event<'_>) {
        if code::is_about_code(event.schema()) {
            return self.sessions.entry(event.session().id).or_default().code.take(event);
        }
        if event.registry().name != OWN {
            return;
        }
        let number = |at: usize| event.value(at).and_then(|value| value.as_u64());
        match event.name() {
            "Stack" => {
                let Some(Value::Array(frames)) = event.value(2) else { return };
                let addresses: Box<[u64]> = frames.iter().filter_map(|frame| frame.as_u64()).collect();
                if let (Some(stack), Some(end)) = (number(0), number(1)) {
                    let session = self.sessions.entry(event.session().id).or_default();
                    let compiled = addresses.iter().enumerate();
                    let compiled = compiled
                        .filter_map(|(at, address)| Some((at, session.code.name(call(at, *address))?)));
                    let compiled = compiled.collect();
                    session.stacks.insert(stack, Walked { end, addresses, compiled });
                }
            }
            "Module" => {
                let (Some(base), Some(end)) = (number(0), number(1)) else { return };
                let (Some(Value::Bytes(id)), Some(Value::String(path))) = (event.value(2), event.value(3))
                else {
                    return;
                };
                let path = String::from_utf8_lossy(path.0).into_owned();
                let session = self.sessions.entry(event.session().id).or_default();
                let is_same =
                    |module: &Module| (module.base, module.end) == (base, end) && module.path == path;
                if !session.modules.iter().any(is_same) {
                    session.modules.push(Module::new(base, end, id.to_vec(), path));
                }
            }
            _ => {}
        }
    }

    /// Returns the functions of a stack of a session, the innermost first. What is not a function
    /// is in parentheses.
    pub(crate) fn frames(&mut self, session: &Session, stack: u64) -> Vec<String> {
        let none = || vec!["(not recorded)".to_string()];
        let pid = session.facts.number("pid");
        let Some(session) = self.sessions.get_mut(&session.id) else { return none() };
        let Some(walked) = session.stacks.get(&stack).cloned() else { return none() };
        let Walked { end, addresses, compiled } = walked;
        let mut frames = Vec::new();
        for (at, address) in addresses.iter().enumerate() {
            if let Some((_, name)) = compiled.iter().find(|(of, _)| *of == at) {
                frames.push(name.to_string());
                continue;
            }
            let names = session.functions(call(at, *address), pid);
            let own = if at == 0 { emitters(&names) } else { 0 };
            frames.extend_from_slice(&names[own..]);
        }
        let is_first = frames.last().is_some_and(|name| FIRST.contains(&name.as_str()));
        if end != COMPLETE && !is_first {
            let text =
                ENDS.iter().find(|(number, _)| *number == end).map_or("(unknown end)", |(_, text)| text);
            frames.push(text.to_string());
        }
        frames
    }

    /// Returns the function that a session's program has compiled at a place of code, as text like
    /// `0x4010`; without one the place. `at` is the number of its frame.
    pub(crate) fn name_of_place(&self, session: u64, at: usize, place: &str) -> String {
        let address = place.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let code = self.sessions.get(&session).map(|session| &session.code);
        let name = address.and_then(|address| code?.name(call(at, address)));
        name.map_or_else(|| place.to_string(), |name| name.to_string())
    }
}

/// Returns an address in the function of a frame. A call may be the last instruction of its
/// function, so that the place where it goes on is behind that.
fn call(at: usize, address: u64) -> u64 {
    if at == 0 { address } else { address.wrapping_sub(1) }
}

/// Returns how many of the functions at the first place are those of the emitter, which are inlined
/// into the function that emits. That one is the last.
fn emitters(names: &[String]) -> usize {
    let runtimes = names.iter().take_while(|name| RUNTIMES.contains(&last_part(name))).count();
    if runtimes == 0 {
        return 0;
    }
    // The emitter itself follows. In Rust it may consist of several functions.
    let more = names[runtimes..].iter().skip(1).take_while(|name| name.contains("::__emit::")).count();
    (runtimes + 1 + more).min(names.len() - 1)
}

/// Returns the name of a function without its module.
fn last_part(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

impl OfSession {
    /// Returns the functions at an address, the innermost first.
    fn functions(&mut self, address: u64, pid: Option<u64>) -> Arc<[String]> {
        if let Some(names) = self.names.get(&address) {
            return names.clone();
        }
        let mut names = Vec::new();
        // The last one: a module may have taken the place of another.
        let is_in = |module: &&Module| (module.base..module.end).contains(&address);
        match self.modules.iter().rfind(is_in) {
            Some(module) => module.functions(address, |name| names.push(name)),
            None => {
                let compiled =
                    self.compiled.get_or_insert_with(|| pid.map_or_else(Table::default, perf_map::of));
                names.push(compiled.name(address).map_or_else(|| format!("{address:#x}"), str::to_string));
            }
        }
        let names: Arc<[String]> = names.into();
        self.names.insert(address, names.clone());
        names
    }
}

#[cfg(test)]
mod tests {
    use super::emitters;

    #[test]
    fn the_functions_of_the_emitter_are_left_out() {
        let walk = "telemetry_runtime::own::stacks";
        let (here, stack) = (format!("{walk}::walk::here"), format!("{walk}::stack"));
        let table: [(&[&str], &[&str]); 8] = [
            // Without debug information there is one function.
            (&["app::work"], &["app::work"]),
            (&["here"], &["here"]),
            // With that of lines alone, what was inlined has short names.
            (&["here", "stack", "reached", "app::work"], &["app::work"]),
            (&["here", "stack", "reached", "inner", "app::work"], &["inner", "app::work"]),
            (&[&here, &stack, "app::events::__emit::reached", "app::work"], &["app::work"]),
            (
                &[
                    &here,
                    &stack,
                    "a::events::__emit::reached",
                    "a::events::__emit::reached::{closure#0}",
                    "a::b",
                ],
                &["a::b"],
            ),
            // In C.
            (&["telemetry_code_", "heap_alloc_", "my_malloc"], &["my_malloc"]),
            (&["reached", "work"], &["reached", "work"]),
        ];
        for (names, left) in table {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            assert_eq!(names[emitters(&names)..], *left, "{names:?}");
        }
    }
}
