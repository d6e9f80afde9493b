//! No query tells the value of a sensitive parameter, unless it is told to.

use telemetry_decode::writer::Lane;
use telemetry_decode::{EnumValue, RawStr, Value};

use crate::program::tables;
use crate::run::Folder;
use crate::streams::{START, begun, runtime_registry};

const SHOP: &str = include_str!("../../../tests/registries/shop.toml");
const USER: &str = "Ada Lovelace-Quux";
const TOWN: &str = "Marylebone-Quux";
/// A number that no signed one of 64 bits can be.
const CARD: u64 = 14_929_123_456_789_012_345;

/// Makes a run of a shop: a visit and a payment.
fn shop() -> Vec<u8> {
    let registry = telemetry_schema::parse(SHOP).unwrap();
    let (mut writer, lane) = begun(9, START, "shop", &registry);
    let labels = Lane { thread: 0, registry: writer.registry(9, &runtime_registry()).unwrap(), ..lane };
    for (label, text) in [(1, "/books"), (2, TOWN)] {
        let values = [Value::Label(label), Value::String(RawStr(text.as_bytes()))];
        writer.event(labels, 2, 10 * label, &values).unwrap();
    }
    let user = Value::String(RawStr(USER.as_bytes()));
    let plan = Value::Named(EnumValue::new(2));
    writer.event(lane, 1, 100, &[Value::Unsigned(7), user, Value::Label(1), Value::Label(2), plan]).unwrap();
    let cart = [5].map(Value::Unsigned);
    let places = [51.5, -0.1].map(Value::F64);
    let paid = [
        Value::Unsigned(7),
        Value::Word(1_999),
        Value::Unsigned(CARD),
        Value::Unsigned(1),
        Value::Bytes(USER.as_bytes()),
        Value::Array((&cart[..]).into()),
        Value::Array((&places[..]).into()),
        Value::F32(0.5),
        Value::Signed(-5),
        Value::Bool(true),
    ];
    writer.event(lane, 3, 200, &paid).unwrap();
    writer.event(lane, 2, 700, &[Value::Unsigned(7)]).unwrap();
    writer.end(9, 9_000).unwrap();
    writer.finish().unwrap()
}

/// Returns whether a text tells a sensitive value.
fn tells(text: &str) -> bool {
    let bytes: String = USER.bytes().map(|byte| format!("{byte:02x}")).collect();
    [USER, TOWN, &bytes, &CARD.to_string()].iter().any(|value| text.contains(value))
}

#[test]
fn queries_hide_sensitive_values() {
    let folder = Folder::new().with("shop.tel", shop());
    for sql in [
        "SELECT * FROM VisitStart",
        "SELECT user, user__name, plan FROM VisitStart WHERE user__name = '<personal>'",
        "SELECT * FROM Paid",
        "SELECT max(card), min(token) FROM Paid",
        "SELECT * FROM span",
        "SELECT * FROM label",
        "SELECT * FROM telemetry.Intern",
        "SELECT * FROM name",
    ] {
        for form in ["", "--json", "--csv"] {
            let file = folder.query(sql, &format!("{form} shop.tel"));
            let pipe = folder.query_on(sql, &format!("{form} -"), "shop.tel");
            assert_eq!((file.code, pipe.code), (Some(0), Some(0)), "{sql}: {}{}", file.stderr, pipe.stderr);
            assert!(!tells(&(file.stdout.clone() + &file.stderr)), "{sql} {form}: {}", file.stdout);
            assert_eq!(pipe.stdout, file.stdout, "{sql} {form}");
        }
    }
    let hidden = folder
        .query("SELECT user, user__name, page__name, card__name FROM VisitStart, Paid", "--csv shop.tel");
    assert_eq!(
        hidden.stdout, "user,user__name,page__name,card__name\n0,<personal>,/books,<secret>\n",
        "{}",
        hidden.stderr
    );
    let told = folder.query("SELECT 1 FROM Paid", "--where card>5 shop.tel");
    assert_eq!(told.code, Some(2), "{}", told.stderr);
    assert!(told.stderr.contains("`card` is secret, so its values are hidden"), "{}", told.stderr);
}

/// So the search above finds what there is.
#[test]
fn queries_show_sensitive_values_if_they_are_told_to() {
    let folder = Folder::new().with("shop.tel", shop());
    let sql = "SELECT user, town__name, card FROM VisitStart, Paid";
    let row = format!("user,town__name,card\n{USER},{TOWN},{CARD}\n");
    let file = folder.query(sql, "--csv --show-sensitive shop.tel");
    let pipe = folder.query_on(sql, "--csv --show-sensitive -", "shop.tel");
    assert_eq!(file.stdout, row, "{}", file.stderr);
    assert_eq!(pipe.stdout, row, "{}", pipe.stderr);
    let told =
        folder.query("SELECT count(*) AS n FROM Paid", "--csv --show-sensitive --where card>5 shop.tel");
    assert_eq!(told.stdout, "n\n1\n", "{}", told.stderr);
}

/// Files have the values or not, and columns have the type of what is there.
#[test]
fn files_have_what_their_command_has_shown() {
    for (option, wanted) in [("--show-sensitive", CARD.to_string()), ("", "0".to_owned())] {
        let folder = Folder::new().with("shop.tel", shop());
        if !tables(&folder, &format!("shop.tel {option}")) {
            return;
        }
        let told = folder.query("SELECT card FROM Paid", "--csv tables");
        assert_eq!(told.stdout, format!("card\n{wanted}\n"), "{}", told.stderr);
    }
}
