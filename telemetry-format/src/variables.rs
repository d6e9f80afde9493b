//! The variables of the environment that telemetry reads.

/// The variables that a runtime reads when its program starts.
pub const VARIABLES: [&str; 18] = [
    "TELEMETRY_CONTROL",
    "TELEMETRY_RECORD",
    "TELEMETRY_TRIGGER",
    "TELEMETRY_FILENAME",
    "TELEMETRY_BUFFER",
    "TELEMETRY_LATENCY",
    "TELEMETRY_POLICY",
    "TELEMETRY_SAMPLE",
    "TELEMETRY_SAMPLING",
    "TELEMETRY_RING",
    "TELEMETRY_TRACEBACK",
    "TELEMETRY_SOCKET",
    "TELEMETRY_BACK_CHANNEL",
    "TELEMETRY_CLOCK",
    "TELEMETRY_FACTS",
    "TELEMETRY_SENSITIVE",
    "TELEMETRY_SIGNALS",
    "TELEMETRY_SUMMARY",
];

/// The variables that are read when a program is built.
pub const BUILD_VARIABLES: [&str; 2] = ["TELEMETRY_VARIETY", "TELEMETRY_ATTACH"];
