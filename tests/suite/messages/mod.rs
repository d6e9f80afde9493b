//! Messages that a program receives about its own events: each promise, tested in its own process.

mod from_c;
mod processes;
mod waiting;

use telemetry::messages::{Posted, memory_used};

use crate::heard::messages::{Everything, Gc, Low, Step};
use crate::heard::{self, Mode, Why};
use crate::support::process::{Numbers, Outcome, child};
use crate::support::stream::Owned;

/// Runs a test in a process that outputs nothing by itself.
fn quiet(test: &str, body: impl Fn() -> Numbers) -> Outcome {
    child(&format!("messages::{test}"), |process| process.env("TELEMETRY_CONTROL", "0"), body)
}

fn start(trace: u64) {
    heard::trace_start!(trace, Why::Full, 10 * trace, 100 * trace);
}

fn end(trace: u64) {
    heard::trace_end!(trace, trace, 9 * trace);
}

/// What is queued: traces with `+` for a begin, `-` for an end.
fn fetched() -> String {
    let messages = std::iter::from_fn(Gc::get).map(|message| match message {
        Gc::Begin(begin) => format!("+{}", begin.trace()),
        Gc::End(end) => format!("-{}", end.trace()),
    });
    messages.collect::<Vec<_>>().join(" ")
}

#[test]
fn posting_is_done_by_the_emitters_whether_or_not_anything_is_output() {
    let run = quiet("posting_is_done_by_the_emitters_whether_or_not_anything_is_output", || {
        start(1);
        end(1);
        assert!(Gc::enable() && Step::enable() && Low::enable());
        start(2);
        heard::step_begin!();
        heard::low!(7_u64);
        heard::step_end!(8);
        end(2);
        heard::unheard!(1_u64);
        assert_eq!((Gc::queued(), Step::queued(), Low::queued()), (2, 2, 1));
        assert_eq!(heard::REGISTRY.kinds_on(), 0);
        assert_eq!(telemetry::counters::total().emitted(), 0);
        // The stream has them too.
        telemetry::set("all");
        start(3);
        end(3);
        assert_eq!(fetched(), "+2 -2 +3 -3");
        assert!(matches!(Step::get(), Some(Step::Begin(_))));
        let Some(Step::End(end)) = Step::get() else { panic!("no end") };
        assert_eq!(end.begin(), 8);
        assert_eq!(Low::get().map(|low| low.0.get()), Some(7));
        assert_eq!((Gc::dropped(), Step::dropped(), Low::dropped()), (0, 0, 0));
        vec![]
    });
    assert_eq!(run.stream().by_name().into_iter().collect::<Vec<_>>(), [("TraceEnd", 1), ("TraceStart", 1)]);
}

#[test]
fn typed_accessors_for_every_parameter_of_both_events() {
    quiet("typed_accessors_for_every_parameter_of_both_events", || {
        Gc::enable();
        heard::trace_start!(0x10_usize, Why::Asked, 100_u64, 200_u64);
        heard::trace_end!(0x10_usize, 30_u64, 90_u64);
        let (begin, end) = (Gc::get().unwrap(), Gc::get().unwrap());
        // The data of the begin are known in both.
        for message in [&begin, &end] {
            assert_eq!((message.trace(), message.why()), (0x10, Why::Asked));
            assert_eq!((message.condemned_size(), message.not_condemned_size()), (100, 200));
        }
        let (Gc::Begin(begin), Gc::End(end)) = (begin, end) else { panic!("a begin and an end") };
        assert_eq!(begin.condemned_size(), 100);
        // The same parameter in both: the end's own value, and the begin's.
        assert_eq!((end.live_size(), end.condemned_size()), (30, 90));
        assert_eq!((end.why(), end.not_condemned_size()), (Why::Asked, 200));
        assert!(Posted::ticks(&begin) < Posted::ticks(&end));
        vec![]
    });
}

#[test]
fn every_sort_is_copied_into_the_message() {
    quiet("every_sort_is_copied_into_the_message", || {
        Everything::enable();
        let mode = Mode::Fast | Mode::Still;
        for text in [String::new(), "short".to_string(), "äöüßé and more".to_string()] {
            let (bytes, words) = (vec![1, 2, 3, 4, 5], [7_usize, 8, 9, 10]);
            heard::everything!(
                &bytes,
                -3,
                0.5,
                0.25,
                true,
                telemetry::Label(9),
                Why::Asked,
                mode,
                &text,
                &bytes,
                &words,
                &[1, 2, 3, 4],
                &[Why::Full]
            );
        }
        for text in ["", "short", "äöüß"] {
            let message = Everything::get().unwrap();
            assert_ne!(message.pointer(), 0);
            assert_eq!((message.signed(), message.real(), message.float()), (-3, 0.5, 0.25));
            assert_eq!(
                (message.flag(), message.label(), message.why()),
                (true, telemetry::Label(9), Why::Asked)
            );
            assert_eq!((message.mode(), message.text()), (mode, text));
            assert_eq!((message.bytes(), message.words()), (&[1, 2, 3, 4][..], &[7, 8, 9][..]));
            assert_eq!((message.quad(), message.whys()), (&[1, 2, 3, 4][..], &[Why::Full][..]));
            assert!(format!("{message:?}").contains(&format!("text: {text:?}")), "{message:?}");
        }
        vec![]
    });
}

#[test]
fn what_is_dropped_is_counted_and_emitted_as_an_event() {
    let run = child(
        "messages::what_is_dropped_is_counted_and_emitted_as_an_event",
        |process| process,
        || {
            Gc::enable();
            Step::enable();
            end(1);
            (1..=5).for_each(start);
            start(1);
            (1..=5).for_each(end);
            heard::step_begin!();
            std::thread::spawn(|| heard::step_end!(0)).join().unwrap();
            heard::step_end!(0);
            assert_eq!((Gc::dropped(), Gc::queued()), (4, 8));
            assert_eq!((Step::dropped(), Step::queued()), (1, 2));
            vec![]
        },
    );
    let told: Vec<_> = run.stream().own.into_iter().filter(|event| event.name == "MessagesDropped").collect();
    let text = |text: &str| Owned::Text(text.to_string());
    let expected = [
        ("Gc", 4, 1),   // NotBegun
        ("Gc", 2, 2),   // TooMany
        ("Gc", 3, 3),   // BegunTwice
        ("Gc", 5, 4),   // BeginDropped
        ("Step", 6, 1), // WrongThread
    ];
    let expected = expected.map(|(name, why, dropped)| {
        vec![text("heard"), text(name), Owned::Number(why), Owned::Number(dropped)]
    });
    assert_eq!(told.into_iter().map(|event| event.values).collect::<Vec<_>>(), expected);
}

#[test]
fn not_enabled_is_discarded_at_once_and_its_memory_returned() {
    quiet("not_enabled_is_discarded_at_once_and_its_memory_returned", || {
        start(1);
        end(1);
        assert_eq!((Gc::queued(), Gc::dropped(), memory_used()), (0, 0, 0));
        assert!(Gc::get().is_none());
        Gc::enable();
        (1..10_000).for_each(|trace| {
            start(trace);
            end(trace);
        });
        start(1);
        assert!(memory_used() > 500_000);
        Gc::disable();
        assert_eq!((Gc::queued(), Gc::dropped(), memory_used()), (0, 0, 0));
        end(1);
        assert!(Gc::get().is_none());
        vec![]
    });
}

#[test]
fn fetched_is_the_programs_until_dropped() {
    quiet("fetched_is_the_programs_until_dropped", || {
        Gc::enable();
        start(5);
        let begin = Gc::get().unwrap();
        (1..1000).for_each(|_| {
            end(5);
            start(5);
        });
        Gc::disable();
        assert_eq!((begin.trace(), begin.condemned_size()), (5, 50));
        std::thread::spawn(move || assert_eq!(begin.not_condemned_size(), 500)).join().unwrap();
        vec![]
    });
}
