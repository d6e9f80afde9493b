//! Passes the variety of the final program's build to the compiler, and whether users may attach to
//! it unasked.
//!
//! They come from environment variables and not from cargo features. The features of all users of
//! a library add up, and a library must not decide this for a program.

fn main() {
    println!("cargo::rerun-if-env-changed=TELEMETRY_VARIETY");
    println!("cargo::rustc-check-cfg=cfg(telemetry_variety, values(\"cool\", \"hot\", \"rash\"))");
    println!("cargo::rustc-check-cfg=cfg(loom)");
    println!("cargo::rustc-check-cfg=cfg(telemetry_usdt)");
    println!("cargo::rerun-if-env-changed=TELEMETRY_ATTACH");
    println!("cargo::rustc-check-cfg=cfg(telemetry_attach, values(\"on\", \"off\"))");
    let attach = std::env::var("TELEMETRY_ATTACH").unwrap_or_else(|_| "on".into());
    match attach.as_str() {
        "on" | "off" => println!("cargo::rustc-cfg=telemetry_attach=\"{attach}\""),
        other => println!("cargo::error=TELEMETRY_ATTACH is `{other}`, expected `on` or `off`"),
    }
    let variety = std::env::var("TELEMETRY_VARIETY").unwrap_or_else(|_| "cool".into());
    match variety.as_str() {
        "cool" | "hot" | "rash" => println!("cargo::rustc-cfg=telemetry_variety=\"{variety}\""),
        other => println!("cargo::error=TELEMETRY_VARIETY is `{other}`, expected `cool`, `hot` or `rash`"),
    }
}
