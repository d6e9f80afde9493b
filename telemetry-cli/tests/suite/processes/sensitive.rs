//! What `tail` hides of a running process.

use std::sync::mpsc::channel;
use std::time::Duration;

use super::programs::emit;
use super::{Program, Sockets};
use crate::run::{Run, run};
use crate::sensitive::{ACCOUNT, ARTICLE, CARD, CHANGE, LATITUDE, PIN, PLACE, RATE, TEXTS, told};
use crate::shop_events;

/// Emits an event of each type.
fn sell() {
    let [page, town] = ["/books", TEXTS[1]].map(telemetry::intern);
    shop_events::visit_start!(1_u32, TEXTS[0], page, town, shop_events::Plan::Gold);
    let (cart, places) = ([ARTICLE, 5], [LATITUDE, -0.158_5]);
    let token = TEXTS[2].as_bytes();
    shop_events::paid!(1_u32, 1_999_u64, CARD, PIN as u32, token, &cart, &places, RATE, CHANGE, true);
    shop_events::registered!(ACCOUNT as u32, TEXTS[3]);
    shop_events::reserved!(PLACE, 64_u64, TEXTS[4]);
    shop_events::visit_end!(1_u32);
}

/// Returns what `tail` prints until it has enough events.
#[track_caller]
fn tail(sockets: &Sockets, args: &str) -> (String, Run) {
    let (sender, receiver) = channel();
    let mut command = sockets.command(&format!("tail {args}"));
    std::thread::spawn(move || sender.send(run(&mut command, &[])));
    let run = receiver.recv_timeout(Duration::from_secs(60)).expect("an end of `tail` within a minute");
    (String::from_utf8_lossy(&run.stdout).into_owned() + &run.stderr, run)
}

#[test]
fn tail_hides_sensitive_values() {
    let sockets = Sockets::new();
    let program = Program::ready(&sockets, "processes::sensitive::tail_hides_sensitive_values", &[], sell);
    let pid = program.pid;
    // Blocks of a kind come together, so all events of a limit may be of one kind.
    for (kind, values) in [
        ("Visit", &[TEXTS[0]][..]),
        ("Payment", &[TEXTS[2], &CARD.to_string()]),
        ("Known", &[TEXTS[3]]),
        ("Stock", &[TEXTS[4]]),
    ] {
        for form in ["", "--json", "--json --json-strings"] {
            let (text, run) = tail(&sockets, &format!("{form} -n 4 {pid} {kind}"));
            assert_eq!(run.code, Some(0), "{text}");
            assert_eq!(told(text.as_bytes()), <[String; 0]>::default(), "{text}");
            assert!(text.contains("<personal>") || text.contains("<secret>"), "{text}");
        }
        let (text, run) =
            tail(&sockets, &format!("--json --json-strings --show-sensitive -n 4 {pid} {kind}"));
        assert_eq!(run.code, Some(0), "{text}");
        let told = told(text.as_bytes());
        assert!(values.iter().all(|value| told.iter().any(|told| told == value)), "{told:?}: {text}");
    }
    program.end();
}

/// Gives a sensitive string a number. Emits nothing of the registry that says that it is sensitive:
/// that one may come into use later.
fn intern_first() {
    let _ = telemetry::intern(TEXTS[1]);
    emit();
}

/// Labels come before the first event, and before the registries of all later ones.
#[test]
fn tail_hides_strings_before_their_registry_comes() {
    let sockets = Sockets::new();
    let test = "processes::sensitive::tail_hides_strings_before_their_registry_comes";
    let program = Program::ready(&sockets, test, &[], intern_first);
    for form in ["", "--json"] {
        for (shows, expected) in [("--show-sensitive", &[TEXTS[1]][..]), ("", &[])] {
            let (text, run) = tail(&sockets, &format!("{form} {shows} -n 4 {} all", program.pid));
            assert_eq!(run.code, Some(0), "{text}");
            assert!(text.contains("Intern"), "{text}");
            assert_eq!(told(text.as_bytes()), expected, "{text}");
            assert_eq!(text.contains("<secret>"), shows.is_empty(), "{text}");
        }
    }
    program.end();
}

/// It would print nothing, however long it waits.
#[test]
fn tail_refuses_a_condition_on_hidden_values() {
    let sockets = Sockets::new();
    let test = "processes::sensitive::tail_refuses_a_condition_on_hidden_values";
    let program = Program::ready(&sockets, test, &[], sell);
    let (text, run) = tail(&sockets, &format!("--where user=='Ada' {} Visit", program.pid));
    assert_eq!(run.code, Some(2), "{text}");
    assert!(text.contains("error: in --where: `user` is personal, so its values are hidden"), "{text}");
    program.end();
}
