//! The typed decoders of every version in the archive.

use telemetry::decode::{Error, Order, Reader, Skipped};
use telemetry::telemetry_event;

/// The result of a typed decoder for a stream.
pub(super) struct Read {
    /// Session and event of all that was read, by time.
    pub(super) events: Vec<(u64, String)>,
    /// A summary of the other events, or the reason why the stream is refused.
    pub(super) account: String,
}

/// A program of one version.
pub(super) struct Program {
    pub(super) version: &'static str,
    pub(super) read: fn(&[u8]) -> Read,
}

macro_rules! programs {
    ($($version:literal $registry:literal $module:ident $path:literal,)*) => {
        $(
            #[telemetry_event($registry, decode, at = $path)]
            pub mod $module {}
        )*

        pub(super) const PROGRAMS: &[Program] = &[$(Program {
            version: $version,
            read: |stream| {
                let typed = |order| Reader::from_slice(stream).order(order).typed::<$module::Decoder>().unwrap();
                let (mut reader, mut events) = (typed(Order::Time), Vec::new());
                let ended = reader.for_each(|at| {
                    let text = format!("{:?}", at.event);
                    assert!(text.starts_with(at.event.name()));
                    events.push((at.session().id, text));
                });
                let mut account = match ended {
                    Ok(()) => passed_over(reader.skipped()),
                    Err(error) => error.to_string(),
                };
                for form in reader.other_forms() {
                    account += &format!("\n{form}; {} skipped", form.events);
                }
                // In stream order, generated code reads the bytes itself.
                let (mut again, mut count) = (typed(Order::Stream), 0);
                let ended = again.for_each(|at| {
                    let text = format!("{:?}", at.event);
                    assert!(events.contains(&(at.session().id, text.clone())), "{text}");
                    count += 1;
                });
                if ended.is_ok() {
                    assert_eq!((count, again.skipped()), (events.len(), reader.skipped()));
                }
                if let Err(error) = typed(Order::Stream).strict() {
                    let Error::Version(mismatch) = error else { panic!("{error}") };
                    assert_eq!(mismatch.events.len(), reader.other_forms().len());
                    account += "\nstrict: refused";
                }
                Read { events, account }
            },
        }),*];
    };
}

programs! {
    "1.0.0" "../tests/golden/registries/heap-1.0.0.toml" v1_0_0 "golden::readers::v1_0_0",
    "1.0.1" "../tests/golden/registries/heap-1.0.1.toml" v1_0_1 "golden::readers::v1_0_1",
    "1.0.2" "../tests/golden/registries/heap-1.0.2.toml" v1_0_2 "golden::readers::v1_0_2",
    "1.1.0" "../tests/golden/registries/heap-1.1.0.toml" v1_1_0 "golden::readers::v1_1_0",
    "1.1.1" "../tests/golden/registries/heap-1.1.1.toml" v1_1_1 "golden::readers::v1_1_1",
    "1.2.0" "../tests/golden/registries/heap-1.2.0.toml" v1_2_0 "golden::readers::v1_2_0",
    "1.2.1" "../tests/golden/registries/heap-1.2.1.toml" v1_2_1 "golden::readers::v1_2_1",
    "2.0.0" "../tests/golden/registries/heap-2.0.0.toml" v2_0_0 "golden::readers::v2_0_0",
}

fn passed_over(passed: Skipped) -> String {
    let Skipped { foreign, unknown, other_form, not_utf8, .. } = passed;
    let counts =
        [(foreign, "foreign"), (unknown, "unknown"), (other_form, "of other form"), (not_utf8, "not UTF-8")];
    let counts = counts.iter().filter(|(number, _)| *number > 0);
    let counts: Vec<String> = counts.map(|(number, what)| format!("{number} {what}")).collect();
    counts.join(", ")
}
