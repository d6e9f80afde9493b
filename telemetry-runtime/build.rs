//! Passes the variety of the final program's build to the compiler.
//!
//! It comes from an environment variable and not from a cargo feature. The features of all users of
//! a library add up, and a library must not decide this for a program.

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
