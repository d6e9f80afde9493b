//! The inputs, as all commands open them. The files are those of the command `telemetry`.

#[path = "../../telemetry-cli/src/input/fit.rs"]
mod fit;
#[path = "../../telemetry-cli/src/input/inputs.rs"]
pub(crate) mod inputs;
#[path = "../../telemetry-cli/src/input/opening.rs"]
pub(crate) mod opening;
#[path = "../../telemetry-cli/src/input/perf.rs"]
mod perf;
#[path = "../../telemetry-cli/src/input/verdict.rs"]
pub(crate) mod verdict;
