//! The registry of the runtime's own events. Its file is `telemetry.toml`, here and in the
//! runtime's package, whose macro needs the file. A test keeps the two alike.

/// Its name, which no other registry may have.
pub const NAME: &str = "telemetry";

/// Its registry file.
pub const TOML: &str = include_str!("../telemetry.toml");

/// The bit of the kind `Label`.
pub const LABEL_KIND: u8 = 1;

/// The code of `Intern`, which gives a string its label.
pub const INTERN: u16 = 2;

/// The code of `LabelAddress`, which gives an address its name.
pub const LABEL_ADDRESS: u16 = 3;

/// The code of `Mark`, which marks a moment with a text.
pub const MARK: u16 = 5;

/// The code of `Process`, a sample of what the process uses.
pub const PROCESS: u16 = 8;

/// The bit of the kind `Usage`. Unlike the other kinds it is off unless it is named.
pub const USAGE_KIND: u8 = 4;

/// The code of `EventsLeftOut`, which tells what limits left out.
pub const EVENTS_LEFT_OUT: u16 = 11;

/// The bit of the kind `Sample`.
pub const SAMPLE_KIND: u8 = 5;

/// The code of `Sampled`, a sample of a thread.
pub const SAMPLED: u16 = 10;

/// The most bytes of the string of `Intern`.
pub const MAX_STRING: usize = 4096;

/// The code of `Stack`, which gives a call stack its number.
pub const STACK: u16 = 16;

/// The code of `Module`, a file of code in the process.
pub const MODULE: u16 = 17;

/// The most frames of `Stack`.
pub const MAX_FRAMES: usize = 64;

/// The most bytes of the path of `Module`.
pub const MAX_PATH: usize = 1024;

/// The most bytes of the build ID of `Module`.
pub const MAX_BUILD_ID: usize = 64;
