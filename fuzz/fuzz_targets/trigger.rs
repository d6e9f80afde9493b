//! Reads arbitrary text as triggers. A trigger is the same again if it is written from what was
//! understood.
#![no_main]

use libfuzzer_sys::fuzz_target;

use parse::{Action, Number, Operator, Test, Trigger, Wanted, When};

#[path = "../../telemetry-runtime/src/triggers/parse.rs"]
mod parse;

/// What the triggers of the runtime need of its other files.
#[path = "."]
mod sys {
    #[path = "../../telemetry-runtime/src/sys/user_signal_names.rs"]
    pub(crate) mod user_signal_names;
}

mod own {
    pub(crate) mod switches {
        use std::time::Duration;

        pub(crate) const MAX_TIME: Duration = Duration::from_secs(24 * 60 * 60);
    }
}

fuzz_target!(|text: &str| {
    for trigger in parse::triggers(text) {
        match trigger {
            Ok(trigger) => check(&trigger),
            Err(why) => assert!(!why.is_empty()),
        }
    }
});

fn check(trigger: &Trigger) {
    let Trigger { when, rest, action } = trigger;
    assert!(*rest <= own::switches::MAX_TIME);
    let when = match when {
        When::Every(period) => format!("every {}ns", period.as_nanos()),
        When::Signal(index) => format!("signal {}", sys::user_signal_names::NAMES[*index]),
        When::Event { event, test: None } => event.clone(),
        When::Event { event, test: Some(Test { param, operator, value }) } => {
            format!("{event}.{param}{}{}", sign(*operator), wanted(value))
        }
    };
    if when.ends_with(':') {
        // The space behind it would make it the end of the condition.
        return;
    }
    let action = match action {
        Action::Snapshot(path) => format!("snapshot {}", path.to_str().expect("a part of a text")),
        Action::Flush => "flush".to_string(),
        Action::Set(words, time) => format!("set {words} for {}ns", time.as_nanos()),
    };
    let text = format!("{when} at most every {}ns: {action}", rest.as_nanos());
    assert_eq!(parse::trigger(&text).as_ref(), Ok(trigger), "{text}");
}

fn sign(operator: Operator) -> &'static str {
    match operator {
        Operator::Less => "<",
        Operator::AtMost => "<=",
        Operator::Greater => ">",
        Operator::AtLeast => ">=",
        Operator::Equal => "==",
        Operator::Unequal => "!=",
    }
}

fn wanted(value: &Wanted) -> String {
    let number = match value {
        Wanted::Number(number) => *number,
        Wanted::Name(name) => return name.clone(),
    };
    assert!(number.is(Operator::Equal, number) && !number.is(Operator::Unequal, number));
    match number {
        Number::Whole(whole) => whole.to_string(),
        // The text of infinity is a name. Numbers beyond all others are infinite, too.
        Number::Float(f64::INFINITY) => "1e999".to_string(),
        Number::Float(f64::NEG_INFINITY) => "-1e999".to_string(),
        Number::Float(float) => format!("{float:?}"),
    }
}
