//! A lock file beside a registry file, in packages that real cargo builds: which changes fail to
//! compile, and when cargo looks again.

use telemetry_schema::version::Lock;

use crate::support::package::{Workspace, said};
use crate::support::process::Process;

const CACHE: &str = include_str!("../packages/cache.toml");

/// The text of the lock file for a registry.
fn released(registry: &str) -> String {
    Lock::of(&telemetry_schema::parse(registry).expect("a valid registry"), None).to_text()
}

/// A package with two registry files in one directory, and a program that emits an event of each.
struct Package {
    workspace: Workspace,
}

impl Package {
    fn new() -> Package {
        let workspace = Workspace::new("locks", &["locked"]);
        workspace.package("locked", "2024", "telemetry-events.workspace = true");
        let main = "use telemetry::telemetry_event;\n\n\
                    #[telemetry_event(\"registries/cache.toml\")]\npub mod cache {}\n\n\
                    #[telemetry_event(\"registries/other.toml\")]\npub mod other {}\n\n\
                    fn main() {\n    cache::hit!(1);\n    other::hit!(2);\n}\n";
        workspace.write("locked/src/main.rs", main);
        let package = Package { workspace };
        package.remove("cache.lock");
        package.write("cache.toml", CACHE);
        package.write("other.toml", &CACHE.replace("\"cache\"", "\"other\""));
        package
    }

    fn write(&self, file: &str, text: &str) {
        self.workspace.write(&format!("locked/registries/{file}"), text);
    }

    fn remove(&self, file: &str) {
        self.workspace.remove(&format!("locked/registries/{file}"));
    }

    /// Builds, which must succeed: true if the package was compiled.
    fn is_compiled(&self) -> bool {
        self.workspace.build(&[]).contains("Compiling locked")
    }

    /// Builds, which must fail. Returns the output of cargo.
    fn refused(&self) -> String {
        let output = self.workspace.cargo("build", "target").output().expect("cargo runs");
        let text = said(&output);
        assert!(!output.status.success(), "{text}");
        text
    }
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

#[test]
fn a_wrong_bump_does_not_compile() {
    let package = Package::new();
    package.is_compiled();
    // A new lock file matches the registry as it is, so nothing is missed until cargo compiles the
    // crate again. A change of the registry makes it do that.
    package.write("cache.lock", &released(CACHE));
    assert!(!package.is_compiled());

    let event = "\n[[event]]\nname = \"Full\"\ncode = 3\nkind = \"Lookup\"\ndoc = \"No room is left\"\n";
    let added = CACHE.to_string() + event;
    package.write("cache.toml", &added);
    let text = package.refused();
    has(
        &text,
        &[
            "event `Full` is new",
            "--> locked/registries/cache.toml:",
            "`event-added` demands a higher minor",
            "the version is 1.0.0, but what changed since 1.0.0 demands 1.0.1 or higher",
            "`telemetry check --fix`",
        ],
    );
    assert_eq!(text.matches("error: could not compile").count(), 1, "{text}");
    assert!(text.contains("due to 1 previous error"), "the calls of emitters are fine: {text}");

    let raised = added.replace("minor = 0", "minor = 1");
    package.write("cache.toml", &raised);
    assert!(package.is_compiled());
    let stream = Process::new(package.workspace.program("locked")).run().succeeded().stream();
    assert_eq!(stream.versions, ["cache 1.0.1", "other 1.0.0"]);

    // A changed lock file is read.
    package.write("cache.lock", &released(&raised));
    assert!(package.is_compiled());
    package.write("cache.lock", &released(&raised.replace("minor = 1", "minor = 2")));
    has(&package.refused(), &["the version is 1.0.1, below 1.0.2 as released"]);
    package.write("cache.lock", &released(&raised).replace("docs=", "docs =0"));
    has(&package.refused(), &["the lock was edited or damaged", "--> locked/registries/cache.lock:"]);

    // The code of another event is refused, whatever the version and whatever is allowed.
    package.write("cache.lock", &released(&raised));
    let reused = raised
        .replace("name = \"Full\"\ncode = 3", "name = \"Empty\"\ncode = 3\nparams = [{ name = \"a\", sort = \"u8\" }, { name = \"b\", sort = \"u8\" }]")
        .replace("major = 1", "major = 2");
    package.write("cache.toml", &reused);
    has(&package.refused(), &["event `Empty` has the code `0x0003`, which belongs to `Full`"]);

    // An allowed change, with a reason, compiles.
    let retyped = raised.replacen("\"u64\"", "\"i64\"", 1);
    package.write("cache.toml", &retyped);
    has(
        &package.refused(),
        &["`sort` of parameter `key` of event `Hit` is `i64`, was `u64`", "demands 1.1.0 or higher"],
    );
    let allow = "\n[[allow]]\nchange = \"param-retyped\"\nevent = \"Hit\"\nparam = \"key\"\nreason = \"no key is that large\"\n";
    package.write("cache.toml", &(retyped + allow));
    assert!(package.is_compiled());
    package.write("cache.toml", &(raised + allow));
    has(&package.refused(), &["this allow of `param-retyped` matches no change since 1.0.1"]);

    // Without a lock file nothing is compared.
    package.remove("cache.lock");
    package.write("cache.toml", &reused);
    assert!(package.is_compiled());
}
