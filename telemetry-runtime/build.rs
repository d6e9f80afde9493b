//! Hands the variety that the final program's build chose to the compiler.
//!
//! An environment variable, not a cargo feature: features of all users of a library add up, and a
//! library has no business to decide this for a program.

fn main() {
    println!("cargo::rerun-if-env-changed=TELEMETRY_VARIETY");
    println!("cargo::rustc-check-cfg=cfg(telemetry_variety, values(\"cool\", \"hot\", \"rash\"))");
    println!("cargo::rustc-check-cfg=cfg(loom)");
    let variety = std::env::var("TELEMETRY_VARIETY").unwrap_or_else(|_| "cool".into());
    match variety.as_str() {
        "cool" | "hot" | "rash" => println!("cargo::rustc-cfg=telemetry_variety=\"{variety}\""),
        other => println!("cargo::error=TELEMETRY_VARIETY is `{other}`, expected `cool`, `hot` or `rash`"),
    }
}
