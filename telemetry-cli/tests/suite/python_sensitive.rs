//! What the Python readers hide.

use std::path::Path;
use std::process::Command;

use crate::py::python;
use crate::run::{Folder, Run};
use crate::sensitive::{KEY, SHOP, TEXTS, shop, shop_of, told};

const SCRIPT: &str = include_str!("../data/sensitive.py");

/// The ways to read: pure Python, and the compiled package, where that is installed.
const WAYS: [&str; 2] = ["1", ""];

/// Returns what the script prints of a stream.
#[track_caller]
fn printed(python: &str, folder: &Folder, pure: &str, how: &str, stream: &str) -> String {
    let mut command = Command::new(python);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../codegen-python/python");
    command.args(["-B", "-X", "utf8", "script.py"]).arg(sources).args([how, stream]);
    command.current_dir(folder.path("")).env("TELEMETRY_EVENTS_PURE", pure);
    let run = crate::run::run(&mut command, &[]);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    assert_eq!(run.code, Some(0), "{stream}, {how}: {text}{}", run.stderr);
    text
}

/// A shop, a registry without marks before and after it, and what `scrub` makes of it.
fn folder() -> Folder {
    let unmarked = SHOP.replace(", sensitive = \"personal\"", "").replace(", sensitive = \"secret\"", "");
    let unmarked = shop_of(&telemetry_schema::parse(&unmarked).unwrap(), 8);
    let folder = Folder::new()
        .with("script.py", SCRIPT)
        .with("shop.toml", SHOP)
        .with("key", KEY)
        .with("shop.tel", shop())
        .with("before.tel", [unmarked.clone(), shop()].concat())
        .with("after.tel", [shop(), unmarked].concat());
    for line in [
        "py shop.toml -o shop_events.py",
        "scrub --personal hash --secret hash --key-file key shop.tel -o scrubbed.tel",
    ] {
        let run = folder.run(line);
        assert_eq!(run.code, Some(0), "{line}: {}", run.stderr);
    }
    let scrubbed = std::fs::read(folder.path("scrubbed.tel")).unwrap();
    folder.with("both.tel", [scrubbed, shop_of(&telemetry_schema::parse(SHOP).unwrap(), 8)].concat())
}

#[test]
fn python_hides_sensitive_values() {
    let Some(python) = python() else { return };
    let folder = folder();
    for pure in WAYS {
        for stream in ["shop.tel", "before.tel", "after.tel", "both.tel"] {
            let text = printed(&python, &folder, pure, "hide", stream);
            let told = told(text.as_bytes());
            assert!(told.is_empty(), "{stream} tells {told:?}:\n{text}");
            for shown in ["<personal>", "<secret>", "/books", "HiddenValue", "1999"] {
                assert!(text.contains(shown), "no `{shown}` of {stream}:\n{text}");
            }
        }
        let text = printed(&python, &folder, pure, "show", "shop.tel");
        for value in TEXTS {
            assert!(text.contains(value), "`{value}` is not shown:\n{text}");
        }
        assert!(!text.contains("HiddenValue"), "{text}");
        // Nothing is hidden again.
        let text = printed(&python, &folder, pure, "hide", "scrubbed.tel");
        assert!(!text.contains("HiddenValue") && told(text.as_bytes()).is_empty(), "{text}");
    }
}

#[test]
fn modules_as_commands_hide_sensitive_values() {
    let Some(python) = python() else { return };
    let folder = folder();
    for pure in WAYS {
        for form in ["", "--cnv", "--order stream"] {
            let run = command(&python, &folder, pure, &format!("{form} shop.tel"));
            let text = String::from_utf8_lossy(&run.stdout).into_owned() + &run.stderr;
            assert_eq!(run.code, Some(0), "{form}: {text}");
            assert!(told(text.as_bytes()).is_empty(), "{form}: {text}");
            let run = command(&python, &folder, pure, &format!("{form} --show-sensitive shop.tel"));
            assert!(!told(&run.stdout).is_empty(), "{form}: {}", run.stderr);
        }
        let run = command(&python, &folder, pure, "shop.tel");
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        assert!(text.contains("user:<personal>  page:/books  town:<personal>  plan:<personal>"), "{text}");
        // As `telemetry cnv` has it.
        let [python, own] = [
            command(&python, &folder, pure, "--cnv shop.tel"),
            folder.run("cnv --kind Visit --kind Payment --kind Known --kind Stock shop.tel"),
        ]
        .map(|run| String::from_utf8(run.stdout).unwrap());
        assert_eq!(python, own);
    }
}

/// The examples of docs/sensitive.md.
#[test]
fn examples_of_the_page_run() {
    let Some(python) = python() else { return };
    let page = include_str!("../../../docs/sensitive.md");
    let blocks: Vec<&str> =
        page.split("```python\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    let folder = folder();
    for block in blocks {
        for pure in WAYS {
            let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../codegen-python/python");
            let head = format!("import sys; sys.path.append({:?})\n", sources.to_str().unwrap());
            std::fs::write(folder.path("block.py"), head + block).unwrap();
            let mut command = Command::new(&python);
            command.args(["-B", "block.py"]).current_dir(folder.path(""));
            let run = crate::run::run(command.env("TELEMETRY_EVENTS_PURE", pure), &[]);
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            assert_eq!(run.code, Some(0), "{block}{}", run.stderr);
            assert_eq!(
                text,
                "0 <personal> True\n1 <personal> True\n2 <personal> True\n{'Ada Lovelace-Quux'}\n"
            );
        }
    }
}

/// Runs the generated module.
fn command(python: &str, folder: &Folder, pure: &str, args: &str) -> Run {
    let mut command = Command::new(python);
    command.args(["-B", "-X", "utf8", "-m", "shop_events"]).args(args.split_whitespace());
    command.current_dir(folder.path("")).env("TELEMETRY_EVENTS_PURE", pure);
    crate::run::run(&mut command, &[])
}
