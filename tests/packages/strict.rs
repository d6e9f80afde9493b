//! A program that denies all lints, and uses almost nothing of its registries.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unused, unreachable_pub, nonstandard_style, future_incompatible)]
#![deny(rust_2018_idioms, let_underscore, missing_debug_implementations, missing_copy_implementations)]
#![deny(unused_qualifications, unused_results, unused_lifetimes, single_use_lifetimes, trivial_numeric_casts)]
#![deny(trivial_casts, variant_size_differences, elided_lifetimes_in_paths, explicit_outlives_requirements)]
#![deny(absolute_paths_not_starting_with_crate, non_ascii_idents, meta_variable_misuse)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery, clippy::cargo)]
#![allow(clippy::cargo_common_metadata, clippy::multiple_crate_versions)]

#[telemetry::telemetry_event("registries/cache.toml")]
mod events {}

/// Decoders that are never called.
#[telemetry::telemetry_event("registries/names.toml", decode)]
mod names {}

#[telemetry::telemetry_event("registries/sorts.toml", at = "inner::sorts")]
#[cfg(any())]
mod not_compiled {}

mod inner {
    #[telemetry::telemetry_event("registries/sorts.toml", at = "inner::sorts", decode)]
    pub(crate) mod sorts {}
}

fn main() {
    events::hit!(1);
    inner::sorts::late!(2);
}
