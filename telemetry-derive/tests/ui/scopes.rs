//! Wrong scopes: the error says what the macro takes, or which parameter is wrong.

#[telemetry::telemetry_event("registries/scopes.toml")]
pub mod events {}

#[telemetry::span(events::Step(1; 2))]
async fn no_key() {}

#[telemetry::span(Gc)]
fn no_module() {}

#[telemetry::span]
fn no_span() {}

#[telemetry::span(events::Task(1, "a"))]
const fn constant() {}

#[telemetry::span(events::Task(1, "a"))]
struct NoFunction;

#[telemetry::span(events::Nothing)]
fn no_such_span() {}

#[telemetry::span(events::Task(1))]
fn too_few() {}

fn main() {
    let _task = events::task_scope!();
    let _gc = events::gc_scope!(events::Why::Full, 1_usize, 0_usize);
    let _gc = events::gc_scope!(events::Why::Full, 1_usize, 0_usize; 1_u64, 0_usize);
    let _task = events::task_scope!("a", "a");
    events::task_scope!(1, "a");
}
