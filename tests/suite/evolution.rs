//! The README's and the tutorial's programs and commands, exactly as in the documents: in a package
//! outside of this workspace, with real cargo, real programs and the command. Then further steps.

use std::path::Path;
use std::process::Output;

use crate::support::package::Workspace;

/// The path of the tutorial.
const TUTORIAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/tutorial.md");

/// Fenced parts of a document, and the text between them.
enum Part<'a> {
    Text(&'a str),
    /// The language of the fence, and its content.
    Fence(&'a str, &'a str),
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for (index, part) in text.split("```").enumerate() {
        parts.push(match part.split_once('\n').filter(|_| index % 2 == 1) {
            Some((language, content)) => Part::Fence(language, content),
            None => Part::Text(part),
        });
    }
    parts
}

/// A package that goes through several versions.
struct Walk {
    package: Workspace,
    registry: String,
    program: String,
}

impl Walk {
    fn new(name: &str, registry: &str) -> Walk {
        let package = Workspace::alone(name);
        for left in ["events.lock", "cache-1.0.0", "1.0.0.tel", "1.0.1.tel", "1.1.0.tel"] {
            package.remove(left);
        }
        package.write("events.toml", registry);
        package.build_command();
        Walk { package, registry: registry.to_string(), program: String::new() }
    }

    /// Appends to the registry file.
    fn append(&mut self, text: &str) {
        self.registry = self.package.read("events.toml") + "\n" + text;
        self.package.write("events.toml", &self.registry);
    }

    /// Writes the program, or inserts a line before its `return`.
    fn program(&mut self, text: &str) {
        self.program = match text.contains("fn main") {
            true => text.to_string(),
            false => {
                let end = "        return Ok(());\n";
                self.program.replacen(end, &format!("{text}{end}"), 1)
            }
        };
        self.package.write("src/main.rs", &self.program);
    }

    /// Returns the output of a command line, and whether it succeeded.
    fn run(&self, line: &str) -> (String, bool) {
        let Output { stdout, stderr, status } = self.package.shell(line);
        let text = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
        (text, status.success())
    }

    /// Returns the output of a command line, which must succeed or fail as given.
    #[track_caller]
    fn says(&self, line: &str, succeeds: bool) -> String {
        let (text, success) = self.run(line);
        assert_eq!(success, succeeds, "{line}: {text}");
        text
    }
}

/// Checks every command and every line of its output.
#[test]
fn the_walk_of_the_tutorial() {
    let tutorial = std::fs::read_to_string(TUTORIAL).unwrap();
    let (before, section) = tutorial.split_once("## Versions\n").unwrap();
    let (section, behind) = section.split_once("\n## ").unwrap();
    let registry = parts(before).into_iter().find_map(|part| match part {
        Part::Fence("toml", text) if text.starts_with("[registry]") => Some(text),
        _ => None,
    });
    let mut walk = Walk::new("cache", registry.unwrap());
    tour(&mut walk, before);

    let mut fresh = format!("{before}## Versions\n");
    let mut lines = 0;
    for part in parts(section) {
        let (language, content) = match part {
            Part::Text(text) => {
                fresh += text;
                continue;
            }
            Part::Fence(language, content) => (language, content),
        };
        fresh += &format!("```{language}\n");
        match language {
            "toml" => walk.append(content),
            "rust,ignore" => walk.program(content),
            "console" => {
                for line in content.lines().filter_map(|line| line.strip_prefix("$ ")) {
                    let (said, _) = walk.run(line);
                    let said = said.lines().map(|line| as_in(content, line) + "\n").collect::<String>();
                    fresh += &format!("$ {line}\n{}", said.replace(" \n", "\n"));
                    lines += 1;
                }
                fresh += "```";
                continue;
            }
            other => panic!("what is `{other}`?"),
        }
        fresh += &format!("{content}```");
    }
    fresh += &format!("\n## {behind}");
    assert!(lines >= 10, "{lines} lines of commands");
    if tutorial != fresh && std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(Path::new(TUTORIAL), &fresh).unwrap();
    } else {
        let differs = tutorial.lines().zip(fresh.lines()).find(|(old, new)| old != new);
        assert!(
            tutorial == fresh,
            "docs/tutorial.md is out of date: run the test with UPDATE_DOCS=1; {differs:#?}"
        );
    }
    assert!(walk.package.read("events.lock").contains("registry cache 1.0.1"));
    further(&mut walk);
}

/// The commands of the tutorial before its walk through versions, with its first program.
fn tour(walk: &mut Walk, tutorial: &str) {
    let program = fences(tutorial, "rust,ignore").into_iter().find(|text| text.contains("fn main"));
    walk.program(program.expect("a whole program"));
    has_dependency(walk, tutorial);
    walk.says("rm -rf tables *.ring* *.tel *.db", true);
    let mut scripts = 0;
    // The clone is elsewhere, and the package is there already.
    let is_here = |script: &&str| !script.contains("cd ../telemetry") && !script.contains("cargo new");
    for script in fences(tutorial, "sh").into_iter().filter(is_here) {
        // A busy machine takes longer than a reader's.
        let script = format!("set -e\n{script}")
            .replace("sleep 1\n", "until telemetry control $! > /dev/null 2>&1; do sleep 0.05; done\n")
            .replace("\ntelemetry doctor ", "\n! telemetry doctor ");
        let said = walk.says(&script, true);
        assert!(!said.contains("error: "), "{script}: {said}");
        for (command, expected) in [
            ("spans cache.tel", "Eviction"),
            ("tail $!", "Miss"),
            ("recover cache", "recovered: "),
            ("doctor target", "TELEMETRY_CONTROL"),
        ] {
            assert!(!script.contains(command) || said.contains(expected), "{command}: {said}");
        }
        scripts += 1;
    }
    assert!(scripts >= 5, "{scripts} scripts");
}

/// The fences of a language.
fn fences<'a>(text: &'a str, wanted: &str) -> Vec<&'a str> {
    let fences = parts(text).into_iter().filter_map(|part| match part {
        Part::Fence(language, content) if language == wanted => Some(content),
        Part::Fence(..) | Part::Text(_) => None,
    });
    fences.collect()
}

/// The package's manifest has the dependency of a document, with the path of this clone.
#[track_caller]
fn has_dependency(walk: &Walk, text: &str) {
    let manifest = fences(text, "toml").into_iter().find(|text| text.starts_with("[dependencies]"));
    let line = manifest.and_then(|text| text.lines().find(|line| line.starts_with("telemetry-events =")));
    let line = line.expect("a dependency").replace("../telemetry", env!("CARGO_MANIFEST_DIR"));
    assert!(walk.package.read("Cargo.toml").lines().any(|known| known == line), "{line}");
}

/// The README's first program, pasted into a new package.
#[test]
fn the_first_program_of_the_readme() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let (_, section) = readme.split_once("## A first program\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let registry = fences(section, "toml").into_iter().find(|text| text.starts_with("[registry]"));
    let mut walk = Walk::new("first", registry.expect("a registry"));
    has_dependency(&walk, section);
    walk.program(fences(section, "rust,ignore")[0]);
    let [_, commands] = fences(section, "sh")[..] else { panic!("a new package, and the commands") };
    let said: Vec<String> = commands.lines().map(|line| walk.says(line, true)).collect();
    let [_, spans, counted, printed] = &said[..] else { panic!("{said:?}") };
    assert!(spans.contains("Lookup  cache     1,000"), "{spans}");
    assert!(counted.contains("LookupStart") && counted.contains("LookupEnd"), "{counted}");
    assert_eq!(printed.matches("LookupEnd").count(), 1000, "{printed}");
    assert!(printed.contains("size:999 bytes") && printed.contains("complete: 2,000 events"), "{printed}");
    assert!(readme.lines().count() <= 150, "the README is one to read");
}

/// The document's form of a line, if the two differ only in what changes between runs.
fn as_in(content: &str, line: &str) -> String {
    let lasting = lasting(line);
    let same = |known: &&str| self::lasting(known) == lasting;
    content.lines().find(same).unwrap_or(line).to_string()
}

/// A line without the time of an event and without the number of blocks, which depends on time.
fn lasting(line: &str) -> &str {
    let is_time = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    match line.trim_start().split_once(' ') {
        Some((time, rest)) if line.starts_with("   ") && is_time(time) => rest,
        Some(("complete:", verdict)) => verdict.split(';').next().unwrap_or_default(),
        _ => line,
    }
}

/// Steps after the tutorial: an appended parameter, a median change, and changes that are refused
/// whatever the version.
fn further(walk: &mut Walk) {
    let released = walk.package.read("events.lock");
    let edit = |walk: &Walk, old: &str, new: &str| {
        let registry = walk.package.read("events.toml");
        assert_eq!(registry.matches(old).count(), 1, "{old}");
        walk.package.write("events.toml", &registry.replace(old, new));
    };
    walk.says("cp target/debug/cache cache-1.0.1", true);

    // A parameter is appended, and the meaning of another event changes.
    edit(
        walk,
        "doc = \"hash of the key\" }",
        "doc = \"hash of the key\" }, { name = \"depth\", sort = \"u8\" }",
    );
    edit(
        walk,
        "unit = \"bytes\", doc = \"bytes that it frees\"",
        "unit = \"pages\", doc = \"bytes that it frees\"",
    );
    walk.program = walk.program.replace("miss!(17)", "miss!(17, 3)");
    walk.package.write("src/main.rs", &walk.program);
    let refused = walk.says("cargo build -q", false);
    for part in [
        "has no `since`",
        "`unit` of parameter `size` of event `Evicted` is `pages`, was `bytes`",
        "demands 1.1.0",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
    assert!(walk.says("telemetry check --fix", true).contains("since = \"1.1.0\""));
    walk.says(
        "cargo build -q && TELEMETRY_CONTROL=all TELEMETRY_FILENAME=1.1.0.tel target/debug/cache",
        true,
    );

    let new_on_old = walk.says("target/debug/cache 1.0.1.tel", true);
    assert!(new_on_old.contains("Miss(Miss { hash: 17, depth: None })"), "{new_on_old}");
    assert!(!new_on_old.contains("Evicted(") && new_on_old.contains("other_form: 1"), "{new_on_old}");
    let old_on_new = walk.says("./cache-1.0.1 1.1.0.tel", true);
    assert!(old_on_new.contains("Miss(Miss { hash: 17 })"), "{old_on_new}");
    assert!(old_on_new.contains("Refused(") && old_on_new.contains("other_form: 1"), "{old_on_new}");
    let new_on_new = walk.says("target/debug/cache 1.1.0.tel", true);
    assert!(new_on_new.contains("depth: Some(3)") && new_on_new.contains("Evicted("), "{new_on_new}");
    for stream in ["1.0.0", "1.0.1", "1.1.0"] {
        let text = walk.says(&format!("telemetry print {stream}.tel"), true);
        assert!(text.contains("Evicted") && text.contains("complete"), "{text}");
    }
    // The reviewer of the median change sees what it breaks.
    let witness = walk.says("telemetry check --witness witness.tel", true);
    assert!(witness.contains("written now") && witness.contains("read by 1.0.1"), "{witness}");
    let decoded = walk.says("./cache-1.0.1 witness.tel", true);
    assert!(decoded.contains("other_form: 2"), "{decoded}");

    // The code of another event: refused for every version, by the macro and by the command.
    edit(walk, "name = \"Refused\"", "name = \"Grown\"");
    edit(
        walk,
        "{ name = \"size\", sort = \"W\", unit = \"bytes\", doc = \"its size\" }",
        "{ name = \"by\", sort = \"u64\" }",
    );
    walk.program = walk.program.replace("refused!(4096_u64)", "grown!(1)");
    walk.package.write("src/main.rs", &walk.program);
    let expected = "event `Grown` has the code `0x0004`, which belongs to `Refused`";
    for line in ["cargo build -q", "telemetry check --fix", "telemetry release"] {
        let text = walk.says(line, false);
        assert!(text.contains(expected), "{line}: {text}");
    }
    assert_eq!(walk.package.read("events.lock"), released);
}
