//! `telemetry init`, followed to the letter: a new package, and the steps that the command prints.

use crate::support::package::Workspace;

/// Returns the lines of code of a step: those that are indented.
fn step(said: &str, number: u32) -> Vec<&str> {
    let (_, rest) =
        said.split_once(&format!("\n{number}. ")).unwrap_or_else(|| panic!("no step {number}: {said}"));
    let lines = rest.lines().skip(2).take_while(|line| !line.is_empty());
    lines.map(|line| line.strip_prefix("    ").expect("an indented line")).collect()
}

#[test]
fn the_steps_of_init() {
    let package = Workspace::alone("starter");
    package.build_command();
    package.remove("events.toml");
    package.remove("starter.tel");
    // As `cargo new` leaves it.
    let manifest = package.read("Cargo.toml");
    let is_dependency = |line: &&str| line.starts_with("telemetry-events");
    let bare: String =
        manifest.lines().filter(|line| !is_dependency(line)).map(|line| format!("{line}\n")).collect();
    package.write("Cargo.toml", &bare);
    package.write("src/main.rs", "fn main() {\n    println!(\"Hello, world!\");\n}\n");

    let run = |line: &str| {
        let output = package.shell(line);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{line}: {said}{}", String::from_utf8_lossy(&output.stderr));
        said
    };
    let said = run("telemetry init");
    let dependency = step(&said, 1).join("\n");
    package
        .write("Cargo.toml", &bare.replace("[dependencies]\n", &format!("[dependencies]\n{dependency}\n")));
    let (module, emitters) = (step(&said, 2).join("\n"), step(&said, 3).join("\n    "));
    package.write("src/main.rs", &format!("{module}\n\nfn main() {{\n    {emitters}\n}}\n"));
    let said: Vec<String> = step(&said, 4).into_iter().map(run).collect();
    let [_, stats, spans] = &said[..] else { panic!("{said:?}") };
    assert!(stats.contains("WorkStart") && stats.contains("WorkEnd"), "{stats}");
    assert!(spans.contains("Work"), "{spans}");
    // A second run changes nothing.
    let again = package.shell("telemetry init");
    assert_eq!(again.status.code(), Some(2));
}
