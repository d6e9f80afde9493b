//! Reads arbitrary text as words of control, line by line; `!` before a line takes its words away.
//! The text of the words that remain restores them: it names the same events.
#![no_main]

use libfuzzer_sys::fuzz_target;
use memory::registry::Registry;
use model::registry_def::{EventInfo, Kind, Preset, RegistryDef};
use telemetry_format::own;
use words::Words;

#[path = "../../telemetry-runtime/src/control/words.rs"]
mod words;

/// What the words of the runtime need of its other files.
#[path = "."]
mod model {
    #[path = "../../telemetry-runtime/src/model/registry_def.rs"]
    #[expect(dead_code, reason = "this needs a part of it")]
    pub(crate) mod registry_def;
}

mod memory {
    pub(crate) mod registry {
        use crate::model::registry_def::RegistryDef;

        pub(crate) struct Registry(pub(crate) RegistryDef);

        impl Registry {
            pub(crate) fn def(&self) -> &RegistryDef {
                &self.0
            }

            pub(crate) fn is_own(&self) -> bool {
                self.0.name == telemetry_format::own::NAME
            }
        }
    }
}

mod sys {
    /// Memory of the program's allocator, in place of the system's.
    pub(crate) struct Mapped(Vec<u8>);

    impl Mapped {
        pub(crate) fn new(len: usize) -> Option<Mapped> {
            Some(Mapped(vec![0; len]))
        }

        pub(crate) fn bytes(&self) -> &[u8] {
            &self.0
        }

        pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
            &mut self.0
        }
    }
}

/// A registry of a program, and one like the runtime's own.
static REGISTRIES: [Registry; 2] = [Registry(PROGRAM), Registry(OWN)];

const PROGRAM: RegistryDef = RegistryDef {
    name: "cache",
    version: [1, 0, 0],
    fingerprint: 1,
    text: "",
    kinds: &[kind("Lookup", 0), kind("Evict", 5), kind("Rare", 63)],
    presets: &[Preset { name: "churn", events: &[2, 3] }],
    types: &[],
    events: &[event("Miss", 1, 0), event("Evicted", 2, 1), event("Grown", 3, 1), event("Cleared", 4, 2)],
};

const OWN: RegistryDef = RegistryDef {
    name: own::NAME,
    kinds: &[kind("Label", 0), kind("Usage", own::USAGE_KIND)],
    presets: &[],
    events: &[event("Labeled", 1, 0), event("Used", 2, 1)],
    ..PROGRAM
};

const fn kind(name: &'static str, bit: u8) -> Kind {
    Kind { name, bit, inherits: false, slots: 0..0 }
}

const fn event(name: &'static str, code: u16, kind: u8) -> EventInfo {
    EventInfo { name, code, kind, params: &[] }
}

fuzz_target!(|text: &str| {
    let mut words = Words::NONE;
    for line in text.lines() {
        match line.strip_prefix('!') {
            Some(line) => words.change(line, false),
            None => words.change(line, true),
        };
    }
    check_each(&words);
    let said = words.to_text();
    let mut again = Words::of("all");
    again.change("all", false);
    // A few more bytes than the words had may be too many.
    if again.change(&said, true) {
        assert_eq!(again.to_text(), said);
        assert_eq!(named(&again), named(&words), "{said}");
    }
});

/// Returns the kinds of each registry with an event that is named, and the events.
fn named(words: &Words) -> Vec<(u64, Vec<bool>)> {
    let of_registry = |registry: &Registry| {
        let events = registry.def().events.iter();
        (words.kinds(registry), events.map(|event| words.name(registry, event)).collect())
    };
    REGISTRIES.iter().map(of_registry).collect()
}

/// Checks that each word is known if it names something.
fn check_each(words: &Words) {
    for (word, _) in words.iter() {
        // Without `*:` it may lose a sign.
        let alone = Words::of(&format!("*:{word}"));
        for registry in &REGISTRIES {
            let names = alone.kinds(registry) != Words::NONE.kinds(registry);
            assert!(!names || words::is_known(registry, word), "{word}");
        }
    }
}
