//! Several versions of a registry in one database.

use telemetry_decode::{RawStr, Value};

use super::{check, loaded, rows};
use crate::streams::begun;

/// Returns a version of a registry, with the parameters of its event.
fn registry(version: [u32; 3], params: &str, doc: &str) -> String {
    let [major, median, minor] = version;
    format!(
        r#"
        [registry]
        name = "app"
        version = {{ major = {major}, median = {median}, minor = {minor} }}
        doc = "An application"
        [kinds]
        Any = {{ bit = 0, doc = "everything" }}
        [[event]]
        name = "Request"
        code = 1
        kind = "Any"
        doc = "{doc}"
        params = [{params}]
    "#
    )
}

fn run(session: u64, registry: &str, values: &[Value]) -> Vec<u8> {
    let registry =
        telemetry_schema::parse(registry).unwrap_or_else(|error| panic!("{}", error.render("", registry)));
    let (mut writer, lane) = begun(session, session, "", &registry);
    writer.event(lane, 1, session, values).unwrap();
    writer.end(session, session + 1).unwrap();
    writer.finish().unwrap()
}

const ID: &str = r#"{ name = "id", sort = "W", doc = "which" }"#;
const SIZE: &str = r#"{ name = "size", sort = "U", unit = "bytes", doc = "how much" }"#;
const WIDE: &str = r#"{ name = "size", sort = "u64", unit = "bytes", doc = "how much" }"#;
const NAMED: &str = r#"{ name = "size", sort = "S", doc = "small or large" }"#;

fn old() -> Vec<u8> {
    run(1, &registry([1, 0, 0], ID, "A request"), &[Value::Word(7)])
}

fn appended() -> Vec<u8> {
    let params = format!("{ID}, {SIZE}");
    run(2, &registry([1, 0, 1], &params, "A request came"), &[Value::Word(8), Value::Unsigned(100)])
}

/// Old rows have no value of an appended parameter, in any order of loading.
#[test]
fn appended_parameters_are_null_on_old_events() {
    for streams in
        [[("old.tel", old()), ("new.tel", appended())], [("new.tel", appended()), ("old.tel", old())]]
    {
        let folder = loaded(&streams);
        check(
            &folder.path("telemetry.db"),
            &[
                ("SELECT id, size, size IS NULL FROM EVENT_Request ORDER BY id", &["7||1", "8|100|0"]),
                ("SELECT id, size FROM NAMED_Request ORDER BY id", &["7|", "8|100"]),
                // The latest version describes it.
                ("SELECT doc FROM event_type WHERE name = 'Request'", &["A request came"]),
                ("SELECT count(*) FROM event_param", &["2"]),
                ("SELECT minor FROM registry ORDER BY minor", &["0", "1"]),
            ],
        );
    }
}

/// A parameter that became wider keeps its column. One that became something else gets a new
/// column.
#[test]
fn changed_parameters_do_not_mix() {
    let wide = registry([1, 1, 0], &format!("{WIDE}, {ID}"), "A request");
    let wide = run(3, &wide, &[Value::Unsigned(1 << 40), Value::Word(9)]);
    let named = registry([1, 2, 0], &format!("{ID}, {NAMED}"), "A request");
    let named = run(4, &named, &[Value::Word(10), Value::String(RawStr(b"large"))]);
    let folder = loaded(&[("b.tel", appended())]).with("c.tel", &wide).with("d.tel", &named);
    folder.check("sql_versions", &["sql c.tel", "sql d.tel"]);
    check(
        &folder.path("telemetry.db"),
        &[
            (
                "SELECT id, size, size__text FROM EVENT_Request ORDER BY id",
                &["8|100|", "9|1099511627776|", "10||large"],
            ),
            // The rows of each version.
            (
                "SELECT E.id, R.major || '.' || R.median || '.' || R.minor FROM EVENT_Request AS E
                 JOIN lane AS L ON L.session = E.session AND L.thread = E.thread
                 JOIN registry AS R ON R.fingerprint = L.fingerprint ORDER BY 1",
                &["8|1.0.1", "9|1.1.0", "10|1.2.0"],
            ),
            (
                "SELECT ident, column_name FROM event_param ORDER BY param_index",
                &["id|id", "size|size__text"],
            ),
        ],
    );
}

/// Docs may change without a version: `-r` takes those of the input.
#[test]
fn descriptions_are_rebuilt() {
    let params = format!("{ID}, {SIZE}");
    let reworded =
        run(5, &registry([1, 0, 1], &params, "A client asks"), &[Value::Word(1), Value::Unsigned(2)]);
    let folder = loaded(&[("a.tel", appended())]).with("b.tel", reworded);
    let doc = || rows(&folder.path("telemetry.db"), "SELECT doc FROM event_type WHERE name = 'Request'");
    assert_eq!(folder.run("sql b.tel").code, Some(0));
    assert_eq!(doc(), ["A request came"]);
    assert_eq!(folder.run("sql -r b.tel").code, Some(0));
    assert_eq!(doc(), ["A client asks"]);
    // A second load does not repeat descriptions, unlike `mpseventsql`.
    assert_eq!(rows(&folder.path("telemetry.db"), "SELECT count(*) FROM event_param"), ["2"]);
}
