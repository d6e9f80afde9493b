//! The code that remains of an emitter in a program, read from the compiler's assembly.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::OnceLock;

use crate::support::package::{OPTIMIZED, Workspace, said, target_dir};

/// The instructions of a function, without the compiler's directives.
type Function = Vec<String>;

/// A workspace for a variety, chosen as the documentation says.
fn workspace(variety: &str) -> Workspace {
    let workspace = Workspace::new("varieties", &["sites", "wrong"]);
    workspace.write(".cargo/config.toml", &format!("[env]\nTELEMETRY_VARIETY = {variety:?}\n"));
    for (package, text) in [("sites", include_str!("../programs/sites.rs")), ("wrong", WRONG)] {
        workspace.package(package, "2024", "telemetry-events.workspace = true");
        workspace.write(&format!("{package}/work.toml"), include_str!("../registries/work.toml"));
        workspace.write(&format!("{package}/heard.toml"), include_str!("../registries/heard.toml"));
        workspace.write(&format!("{package}/src/lib.rs"), text);
    }
    workspace
}

/// A type that is wrong in every variety.
const WRONG: &str = r#"#[telemetry::telemetry_event("work.toml")]
pub mod work {}
pub fn wrong() {
    work::fix!(0_u64, 0_u64, 0_u64, "level");
}
"#;

/// A command of cargo for a package, optimized. Other tests use other builds of the runtime. An
/// incremental build inlines least.
fn cargo(variety: &str, command: &str, package: &str) -> Command {
    let mut cargo = workspace(variety).cargo(command, "target");
    let settings = OPTIMIZED.iter().chain(&["profile.dev.incremental=true"]);
    cargo.args(settings.flat_map(|setting| ["--config", *setting])).args(["--package", package]);
    cargo
}

/// The functions of `sites` in a variety.
///
/// The varieties are built in turn in one target directory, so that common dependencies are built
/// once. Each variety builds the runtime again, so all tests share the results.
fn functions(variety: &str) -> &'static BTreeMap<String, Function> {
    static BUILT: OnceLock<BTreeMap<&str, BTreeMap<String, Function>>> = OnceLock::new();
    &BUILT.get_or_init(|| ["cool", "hot", "rash"].map(|variety| (variety, build(variety))).into())[variety]
}

fn build(variety: &str) -> BTreeMap<String, Function> {
    let file = target_dir("target").join(format!("{variety}.s"));
    let mut cargo = cargo(variety, "rustc", "sites");
    cargo.args(["--", "-C", "codegen-units=1", "--emit"]);
    let output = cargo.arg(format!("asm={}", file.display())).output().expect("cargo runs");
    assert!(output.status.success(), "{}", said(&output));
    parse(&std::fs::read_to_string(file).expect("assembly"))
}

/// The functions of an assembly file. Identical functions may be there once, with several names.
fn parse(assembly: &str) -> BTreeMap<String, Function> {
    let (mut functions, mut names) = (BTreeMap::<String, Function>::new(), Vec::new());
    let mut current = String::new();
    for line in assembly.lines().map(|line| line.split('#').next().unwrap_or_default().trim_end()) {
        if let Some((name, target)) = alias(line) {
            names.push((name.trim().to_owned(), target.trim().to_owned()));
            continue;
        }
        match line.strip_suffix(':') {
            Some(label) if !label.starts_with(".L") => current = label.to_owned(),
            Some(label) if label.starts_with(".Lfunc_end") => current.clear(),
            Some(label) if !current.is_empty() => {
                functions.entry(current.clone()).or_default().push(format!("{label}:"));
            }
            None if !current.is_empty() && line.starts_with('\t') && !line.starts_with("\t.") => {
                functions.entry(current.clone()).or_default().push(line.trim().replace('\t', " "));
            }
            _ => {}
        }
    }
    for (name, target) in names {
        if let Some(function) = functions.get(&target).cloned() {
            functions.insert(name, function);
        }
    }
    functions
}

/// Another name of a function.
fn alias(line: &str) -> Option<(&str, &str)> {
    match line.trim_start().strip_prefix(".set ") {
        Some(set) => set.split_once(','),
        None if line.starts_with('\t') => None,
        None => line.split_once('='),
    }
}

/// The instructions that a function executes if the event is off: the path from its start to its
/// return without a call. The return does not count, because an empty function has one too.
fn off_path(function: &Function) -> Vec<&str> {
    let label = |name: &str| function.iter().position(|line| line.strip_suffix(':') == Some(name));
    let mut ways = vec![(0, vec![])];
    while let Some((at, mut way)) = ways.pop() {
        let Some(line) = function.get(at) else { continue };
        let (operation, target) = line.split_once(' ').unwrap_or((line, ""));
        if line.ends_with(':') {
            ways.push((at + 1, way));
            continue;
        }
        if operation.starts_with("ret") {
            return way;
        }
        way.push(line.as_str());
        match operation {
            "call" | "callq" => {}
            "jmp" | "jmpq" => ways.extend(label(target).map(|at| (at, way))),
            jump if jump.starts_with('j') => {
                ways.extend(label(target).map(|at| (at, way.clone())));
                ways.push((at + 1, way));
            }
            _ => ways.push((at + 1, way)),
        }
    }
    panic!("no way through it without a call: {function:#?}")
}

/// The branches on the path of a function if the event is off.
fn branches(function: &Function) -> usize {
    let jumps = |line: &&str| line.starts_with('j') && !line.starts_with("jmp");
    off_path(function).into_iter().filter(jumps).count()
}

#[test]
fn of_a_message_one_branch_more_and_nothing_on_the_others() {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("SKIPPED: this test reads the assembly of x86-64 only");
        return;
    }
    for (variety, plain) in [("cool", 1), ("hot", 1), ("rash", 0)] {
        let functions = functions(variety);
        let (messaged, unheard) = (&functions["messaged"], &functions["unheard"]);
        assert_eq!(branches(unheard), plain, "{variety}: {unheard:#?}");
        assert_eq!(branches(messaged), plain + 1, "{variety}: {messaged:#?}");
        // Two loads, a test and a branch for each, and one moved argument.
        assert!(off_path(messaged).len() <= 4 * (plain + 1) + 1, "{variety}: {messaged:#?}");
    }
}

#[test]
fn of_sites_that_are_off_or_compiled_out() {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("SKIPPED: this test reads the assembly of x86-64 only");
        return;
    }
    let check = |variety: &str, compiled_in: &[&str], compiled_out: &[&str]| {
        let functions = functions(variety);
        assert!(
            matches!(&functions["empty"][..], [ret] if ret.starts_with("ret")),
            "{:?}",
            functions["empty"]
        );
        for site in compiled_in {
            let off = off_path(&functions[*site]);
            assert!(off.len() <= 6, "{site} in {variety}: {off:#?}");
            assert!(off.len() + 1 < functions[*site].len(), "{site} emits nothing in {variety}");
        }
        for site in compiled_out {
            assert_eq!(functions[*site], functions["empty"], "{site} in {variety}");
        }
    };
    check("cool", &["always", "embedded", "critical", "text", "unheard"], &[]);
    check("hot", &["always", "embedded", "text", "unheard"], &["critical", "costly"]);
    check("rash", &[], &["always", "embedded", "critical", "costly", "text", "unheard"]);

    // Code that is compiled out is still type-checked.
    let output = cargo("rash", "build", "wrong").output().expect("cargo runs");
    let text = said(&output);
    assert!(
        !output.status.success() && text.contains("error[E0277]: parameter `level` takes `u32`, not `&str`"),
        "{text}"
    );
    assert!(text.contains("--> wrong/src/lib.rs:4:37"), "{text}");

    let output = cargo("warm", "build", "sites").output().expect("cargo runs");
    let expected = "TELEMETRY_VARIETY is `warm`, expected `cool`, `hot` or `rash`";
    assert!(!output.status.success() && said(&output).contains(expected), "{}", said(&output));
}

#[test]
fn assembly_is_understood() {
    let functions = parse(
        "\t.text\none:\n.Lfunc_begin0:\n\t.cfi_startproc\n\tpushq\t%rax\n\ttestb\t$1, (%rdi) # a remark\n\
         \tje\t.LBB0_2\n\tcallq\tother\n.LBB0_2:\n\tpopq\t%rax\n\tretq\n.Lfunc_end0:\n\tnop\n\
         two = one\n\t.set three, one\n",
    );
    assert_eq!(functions.keys().collect::<Vec<_>>(), ["one", "three", "two"]);
    assert_eq!(functions["two"], functions["three"]);
    let off = ["pushq %rax", "testb $1, (%rdi)", "je .LBB0_2", "popq %rax"];
    assert_eq!(off_path(&functions["one"]), off);
}
