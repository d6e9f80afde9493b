//! Call stacks of real programs: where their frames are, how they end, and hard places.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::support::package::Workspace;
use crate::support::process::{Outcome, Process};
use crate::support::stream::{Event, Owned, Stream};

const COMPLETE: i128 = 1;
const NO_FRAME_POINTER: i128 = 2;
const LIMIT: i128 = 3;
const CORRUPT: i128 = 4;

/// The program, whose own code has frame pointers.
fn program() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let workspace = Workspace::new("stacks", &["stacks"]);
        workspace.package("stacks", "2024", "telemetry-events.workspace = true\nlibc.workspace = true");
        workspace.write("stacks/stacks.toml", include_str!("../registries/stacks.toml"));
        workspace.write("stacks/src/main.rs", include_str!("../programs/stacks.rs"));
        workspace.compile_with(&["-Cforce-frame-pointers=yes"], "stacks")
    };
    BUILT.get_or_init(build).clone()
}

/// A stack: how it ends, and its frames.
type Stack = (i128, Vec<i128>);

/// What a program has recorded.
struct Recorded {
    /// By number.
    stacks: BTreeMap<i128, Stack>,
    /// The numbers in the program's events, in their order, each with the place that it is from.
    events: Vec<(i128, i128)>,
    /// The beginnings of functions.
    places: BTreeMap<i128, String>,
}

impl Recorded {
    fn of(stdout: &str, stream: &Stream) -> Recorded {
        let place = |line: &str| {
            let (name, at) = line.strip_prefix("place ")?.split_once('=')?;
            Some((at.parse().ok()?, name.to_owned()))
        };
        let mut stacks = BTreeMap::new();
        for event in stream.own.iter().filter(|event| event.name == "Stack") {
            let [Owned::Number(number), Owned::Number(end), Owned::Array(frames)] = &event.values[..] else {
                panic!("{event:?}")
            };
            let frames = frames.iter().map(number_of).collect();
            assert_eq!(stacks.insert(*number, (*end, frames)), None, "{number} comes once");
        }
        let events = stream.events.iter().map(|event| match &event.values[..] {
            [Owned::Number(which), Owned::Number(stack)] => (*which, *stack),
            [Owned::Number(stack)] => (-1, *stack),
            other => panic!("{other:?}"),
        });
        Recorded { stacks, events: events.collect(), places: stdout.lines().filter_map(place).collect() }
    }

    /// Runs the program with an argument.
    fn run(argument: &str) -> (Recorded, Outcome) {
        let run = Process::new(program()).arg(argument).run().succeeded();
        (Recorded::of(&run.stdout, &run.stream()), run)
    }

    /// The functions of a stack that print their places, the emitter's first, up to one that does
    /// not.
    fn functions(&self, stack: i128) -> Vec<&str> {
        let (_, frames) = &self.stacks[&stack];
        frames.iter().map_while(|frame| self.function(*frame)).collect()
    }

    /// The function at a place, if it prints its place.
    fn function(&self, frame: i128) -> Option<&str> {
        let (at, name) = self.places.range(..=frame).next_back()?;
        // None of them is as long.
        (frame - at < 4096).then_some(name.as_str())
    }

    /// The stacks of the events from a place.
    fn at(&self, place: i128) -> Vec<i128> {
        self.events.iter().filter(|(which, _)| *which == place).map(|(_, stack)| *stack).collect()
    }

    fn end(&self, stack: i128) -> i128 {
        self.stacks[&stack].0
    }
}

fn number_of(value: &Owned) -> i128 {
    match value {
        Owned::Number(number) => *number,
        other => panic!("{other:?}"),
    }
}

fn starts_with(recorded: &Recorded, stack: i128, functions: &[&str]) {
    let found = recorded.functions(stack);
    assert!(found.starts_with(functions), "{found:?}, expected {functions:?}");
}

#[test]
fn frames_are_in_the_functions_that_call() {
    let (recorded, run) = Recorded::run("");
    assert_eq!(recorded.events.len(), 15);
    for (place, functions) in
        [(1, &["inner", "middle", "outer", "main"][..]), (2, &["inner", "middle", "main"]), (3, &["main"])]
    {
        let stacks = recorded.at(place);
        assert_eq!(stacks.len(), 3);
        assert!(stacks.iter().all(|stack| *stack == stacks[0] && *stack > 0), "{stacks:?}");
        starts_with(&recorded, stacks[0], functions);
    }
    assert!(recorded.at(-1).iter().all(|stack| recorded.functions(*stack).contains(&"main")));
    let is_module = |event: &&Event| event.name == "Module";
    let (stream, program) = (run.stream(), program());
    let paths: Vec<_> = stream.own.iter().filter(is_module).map(|event| event.values[3].clone()).collect();
    let program = program.canonicalize().expect("the program");
    assert!(paths.contains(&Owned::Text(program.display().to_string())), "{paths:?}");
}

#[test]
fn an_event_that_is_off_has_no_stack() {
    // The first event is off, but until the runtime starts, all seem to be on.
    let run = Process::new(program()).env("TELEMETRY_CONTROL", "Left").run().succeeded();
    let recorded = Recorded::of(&run.stdout, &run.stream());
    assert_eq!((recorded.at(-1).len(), recorded.events.len()), (3, 3));
    let used: BTreeSet<i128> = recorded.at(-1).into_iter().collect();
    assert!(used.iter().eq(recorded.stacks.keys()), "{used:?}, {:?}", recorded.stacks);
}

#[test]
fn threads_share_their_stacks() {
    let (recorded, _) = Recorded::run("threads");
    assert_eq!(recorded.events.len(), 4000);
    assert_eq!(recorded.stacks.len(), 1, "{:?}", recorded.stacks);
    starts_with(&recorded, 1, &["inner", "middle", "outer"]);
}

#[test]
fn a_long_stack_says_that_it_is_cut() {
    let (recorded, _) = Recorded::run("deep");
    let [(64, stack)] = recorded.events[..] else { panic!("{:?}", recorded.events) };
    assert_eq!((recorded.end(stack), recorded.stacks[&stack].1.len()), (LIMIT, 64));
    starts_with(&recorded, stack, &["inner", "middle", "outer", "deep", "deep"]);
}

/// Code without frame pointers has anything in their register.
#[test]
fn what_leads_astray_ends_a_stack() {
    let (recorded, _) = Recorded::run("astray");
    assert_eq!(recorded.at(7).len(), 64 + 8 + 4000);
    let mut ends = BTreeSet::new();
    for stack in recorded.at(7) {
        ends.insert(recorded.end(stack));
        // The frames before the wrong one are right.
        starts_with(&recorded, stack, &["inner", "middle", "outer"]);
    }
    assert!(ends.contains(&NO_FRAME_POINTER) && ends.contains(&CORRUPT), "{ends:?}");
    assert!(ends.contains(&COMPLETE), "0 is the end of a chain");
}

/// On its own stack, with the frames of what it interrupts behind its own.
#[test]
fn a_signal_handler_emits_its_stack() {
    let (recorded, _) = Recorded::run("signal");
    let stacks = recorded.at(8);
    starts_with(&recorded, stacks[0], &["inner", "middle", "outer", "handler"]);
    starts_with(&recorded, recorded.at(1)[0], &["inner", "middle", "outer", "main"]);
}

/// A timer interrupts the thread anywhere, most often in its loop.
#[test]
fn a_sample_has_the_stack_of_what_it_interrupts() {
    let process = Process::new(program()).arg("sampled").env("TELEMETRY_SAMPLING", "wall:1000 stacks");
    let run = process.run().succeeded();
    let stream = run.stream();
    let recorded = Recorded::of(&run.stdout, &stream);
    let sampled = stream.own.iter().filter(|event| event.name == "Sampled");
    let stacks: Vec<i128> = sampled.map(|event| number_of(&event.values[0])).collect();
    let is_right = |stack: &&i128| {
        // What the loop calls, if it is not inlined, is left out.
        let (_, frames) = &recorded.stacks[*stack];
        let functions: Vec<&str> = frames.iter().filter_map(|frame| recorded.function(*frame)).collect();
        let from = functions.iter().position(|name| *name == "spin_inner").unwrap_or(functions.len());
        functions[from..].starts_with(&["spin_inner", "spin_outer", "main"])
    };
    let right = stacks.iter().filter(|stack| **stack > 0).filter(is_right).count();
    assert!(stacks.len() >= 20 && right >= stacks.len() / 2, "{right} of {}", stacks.len());
}

#[test]
fn an_allocator_emits_who_allocates() {
    let (recorded, _) = Recorded::run("allocator");
    let stacks = recorded.at(9);
    assert!(stacks.len() >= 100, "{}", stacks.len());
    let allocate = |stack: &&i128| {
        let (_, frames) = &recorded.stacks[*stack];
        let of = |frame: &i128| recorded.places.range(..=*frame).next_back().map(|(_, name)| name.as_str());
        frames.iter().any(|frame| of(frame) == Some("allocate"))
    };
    assert!(stacks.iter().filter(allocate).count() >= 100);
}

#[test]
fn a_forked_child_keeps_the_stacks() {
    let (recorded, run) = Recorded::run("fork");
    let files = std::fs::read_dir(run.dir()).expect("a directory").map(|entry| entry.expect("a file").path());
    let is_child = |path: &PathBuf| *path != run.path() && path.extension().is_some_and(|end| end == "tel");
    let children: Vec<_> = files.filter(is_child).collect();
    assert_eq!(children.len(), 1, "{children:?}");
    let child = Recorded::of(&run.stdout, &Stream::read(&children[0]));
    assert_eq!((recorded.events.len(), child.events.len()), (1, 2));
    let before = recorded.at(1)[0];
    assert_eq!(
        child.stacks[&before], recorded.stacks[&before],
        "the parent's stack is in the child's stream"
    );
    // The call in the child is at another place of `main`, so it is another stack.
    starts_with(&child, child.at(1)[0], &["inner", "middle", "outer", "main"]);
    starts_with(&child, child.at(2)[0], &["inner", "middle", "main"]);
}
