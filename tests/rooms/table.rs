//! The rooms of each crate, in their order.

use super::{ALL, Room};

/// Crates without rooms.
pub(crate) const SMALL: &[&str] = &[
    "telemetry-format",
    "telemetry-std",
    "telemetry-tracing",
    "telemetry-testing",
    "xtask",
    "telemetry-python",
    "telemetry-query",
    "fleet/telemetry-fleet",
    "fleet/telemetry-lake",
    "fuzz",
];

/// Crates, and their rooms.
pub(crate) const CRATES: &[(&str, &[Room])] = &[
    ("telemetry-schema", SCHEMA),
    ("telemetry-derive", DERIVE),
    ("codegen-c", C),
    ("codegen-python", PYTHON),
    ("telemetry-runtime", RUNTIME),
    ("telemetry-decode", DECODE),
    ("telemetry-foreign", FOREIGN),
    ("telemetry-columns", COLUMNS),
    ("telemetry-filter", FILTER),
    ("telemetry-report", REPORT),
    ("telemetry-cli", CLI),
];

const DECODE: &[Room] = &[
    ("report", &[]),
    ("bytes", &["report"]),
    ("values", &[]),
    ("lanes", &["report"]),
    ("sessions", &["values", "lanes"]),
    ("registry", &["values", "sessions"]),
    ("decode", ALL),
    ("logs", ALL),
    ("order", ALL),
    ("typed", &["report", "values", "sessions", "registry", "decode", "order"]),
    ("write", &["bytes", "values", "lanes", "sessions"]),
    ("recover", &["report", "bytes", "values", "lanes", "sessions", "registry", "decode", "write"]),
    ("scrub", &["bytes", "values", "sessions", "registry", "decode", "write"]),
    (
        "read",
        &[
            "report", "bytes", "values", "lanes", "sessions", "registry", "decode", "logs", "order", "typed",
            "recover", "scrub",
        ],
    ),
    ("replay", &["report", "registry", "typed", "read"]),
    ("checking", &["report", "values", "sessions", "registry", "decode"]),
    ("changes", &["values", "sessions", "registry", "decode"]),
];

const RUNTIME: &[Room] = &[
    ("sys", &[]),
    ("sync", &["sys"]),
    ("model", &["sys"]),
    ("run", &["sys", "sync"]),
    ("memory", &["sys", "sync", "model", "run"]),
    ("store", &["sys", "sync", "run", "memory"]),
    ("control", &["sys", "model", "run", "memory"]),
    ("emit", &["sys", "sync", "model", "run", "memory", "store", "control"]),
    ("count", &["sys", "model", "run", "memory", "control", "emit"]),
    ("own", &["sys", "sync", "model", "run", "memory", "store", "control", "emit", "count"]),
    ("sinks", &["sys", "run", "own"]),
    ("messages", &["sys", "sync", "model", "run", "memory", "own"]),
    ("triggers", &["sys", "model", "run", "memory", "store", "control", "emit", "own"]),
    (
        "drain",
        &["sys", "model", "run", "memory", "store", "control", "emit", "count", "own", "sinks", "triggers"],
    ),
    (
        "postmortem",
        &["sys", "sync", "model", "run", "memory", "control", "emit", "own", "messages", "triggers", "drain"],
    ),
    ("socket", ALL),
    ("process", ALL),
];

const FOREIGN: &[Room] = &[
    ("common", &[]),
    ("ghc", &["common"]),
    ("mono", &["common"]),
    ("mps", &["common"]),
    ("formats", &["common", "ghc", "mono", "mps"]),
    ("timeline", &["common", "mono"]),
    ("perfetto", &["common", "timeline"]),
    ("chrome", &["common", "timeline"]),
    ("ctf", &["common", "timeline"]),
    ("flame", &["common"]),
    ("perf", &["common"]),
];

const COLUMNS: &[Room] = &[
    ("model", &[]),
    ("batch", ALL),
    ("side", ALL),
    ("arrow", &["model", "batch"]),
    ("parquet", &["model", "batch"]),
];

const FILTER: &[Room] = &[("syntax", &[]), ("test", &[]), ("fit", &["syntax", "test"]), ("condition", ALL)];

const REPORT: &[Room] = &[
    ("figures", &[]),
    ("stats", &["figures"]),
    ("spans", &["figures"]),
    ("stacks", &["stats"]),
    ("census", &[]),
    ("gather", &["figures", "stats", "spans", "stacks", "census"]),
    ("document", ALL),
    ("page", ALL),
];

const CLI: &[Room] = &[
    ("text", &[]),
    ("term", &["text"]),
    ("process", &["text", "term"]),
    ("input", &["text", "term"]),
    ("git", &["term"]),
    ("registry", &["text", "term", "git"]),
    ("sql", &["text", "term", "input"]),
    ("witness", &["text", "term"]),
    ("symbols", &["text", "term", "input"]),
    ("stats", &["text", "term", "input", "symbols"]),
    ("spans", &["text", "term", "input"]),
    ("rules", &["text", "term", "input", "spans"]),
    ("compare", &["text", "term", "input", "symbols", "stats", "spans"]),
    ("commands", ALL),
];

const SCHEMA: &[Room] = &[
    ("text", &[]),
    ("model", &["text"]),
    ("version", &["text", "model"]),
    ("check", &["text", "model", "version"]),
    ("load", ALL),
];

const C: &[Room] = &[("text", &[]), ("output", ALL)];

const PYTHON: &[Room] = &[("text", &[]), ("output", ALL)];

const DERIVE: &[Room] = &[("input", &[]), ("parts", &[]), ("output", ALL)];
