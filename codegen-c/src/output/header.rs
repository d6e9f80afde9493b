//! The header of a registry.

use telemetry_schema::Registry;

use crate::output::{emitters, types};
use crate::text::comment::{MARK, block, sentence};

const PROLOGUE: &str = include_str!("prologue.h.in");

/// Returns the header.
pub(crate) fn header(registry: &Registry) -> String {
    let guard = format!("TELEMETRY_EVENTS_{}_H", registry.name.to_uppercase());
    let title = format!("Registry {} {}: {}", registry.name, registry.version, sentence(&registry.doc));
    let made = format!("{MARK} from the registry file: change that, and generate this again.");
    let mut out = block(&[title, String::new(), made]);
    out += &format!("#ifndef {guard}\n#define {guard}\n\n");
    out += PROLOGUE;
    for ty in &registry.types {
        out += &types::declaration(registry, ty);
    }
    // Not before the types: an operator of C++ cannot be a function of C.
    out += "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
    out += &emitters::switches(registry);
    for (bit, (index, event)) in
        registry.events.iter().enumerate().filter(|(_, event)| event.used).enumerate()
    {
        out += &match event.counter {
            Some(counter) => emitters::counter(registry, event, counter.form, counter.per),
            None => emitters::emitter(registry, event, index, bit),
        };
    }
    out += "\n#ifdef __cplusplus\n} // extern \"C\"\n#endif\n\n#endif\n";
    out
}
