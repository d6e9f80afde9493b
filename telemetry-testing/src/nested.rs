//! Settings of packages that tests build with cargo.

/// The profile of all packages in `target/tmp/target`. The packages that only builds use have
/// settings of their own, so that they are built once, whatever settings a program is built with.
pub const PROFILE: &str = "[profile.dev]\ndebug = false\nincremental = false\n\n\
    [profile.dev.build-override]\ndebug = false\ndebug-assertions = true\noverflow-checks = true\n";
