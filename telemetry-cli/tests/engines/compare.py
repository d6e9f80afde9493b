"""Parquet files as other engines read them, compared with `telemetry sql` and `telemetry stats`.

Usage: compare.py TELEMETRY STREAM...

For each stream, every engine counts the rows of every file, and the values, sum, least and greatest
value of every column of integers. Sums are compared modulo 2^64, because engines differ there.
"""

import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

WORD = 1 << 64


def with_duckdb(path, columns):
    import duckdb

    parts = [f'count("{c}"), sum("{c}"), min("{c}"), max("{c}")' for c in columns]
    row = duckdb.sql(f"SELECT {', '.join(['count(*)', *parts])} FROM '{path}'").fetchall()[0]
    return row[0], dict(zip(columns, fours(row[1:])))


def with_polars(path, columns):
    import polars

    frame = polars.read_parquet(path)
    found = {}
    for name in columns:
        column = frame[name].cast(polars.Int64)
        found[name] = (len(column) - column.null_count(), column.sum(), column.min(), column.max())
    return frame.height, found


def with_pandas(path, columns):
    import pandas

    frame = pandas.read_parquet(path, engine="pyarrow", dtype_backend="pyarrow")
    found = {}
    for name in columns:
        column = frame[name].dropna().astype("int64")
        least, greatest = (int(column.min()), int(column.max())) if len(column) else (None, None)
        found[name] = (len(column), int(column.sum()), least, greatest)
    return len(frame), found


def with_datafusion(path, columns):
    import datafusion

    context = datafusion.SessionContext()
    context.register_parquet("t", str(path))
    parts = []
    for c in columns:
        # In two halves: this engine refuses a sum that is too large.
        number = f'CAST("{c}" AS BIGINT)'
        halves = f"sum({number} >> 32), sum({number} & 4294967295)"
        parts.append(f"count({number}), {halves}, min({number}), max({number})")
    rows = context.sql(f"SELECT {', '.join(['count(*)', *parts])} FROM t").collect()
    row = [column[0].as_py() for column in rows[0].columns]
    found = {}
    for index, name in enumerate(columns):
        count, high, low, least, greatest = row[1 + index * 5 : 6 + index * 5]
        found[name] = (count, (high or 0) * (1 << 32) + (low or 0), least, greatest)
    return row[0], found


def with_chdb(path, columns):
    import chdb

    parts = []
    for c in columns:
        # Without values, this engine has zeros.
        least = f"if(count(`{c}`) = 0, NULL, toInt64(min(`{c}`)))"
        greatest = f"if(count(`{c}`) = 0, NULL, toInt64(max(`{c}`)))"
        parts.append(f"count(`{c}`), sum(toInt64(`{c}`)), {least}, {greatest}")
    query = f"SELECT {', '.join(['count(*)', *parts])} FROM file('{path}', Parquet)"
    settings = "FORMAT JSONCompact SETTINGS output_format_json_quote_64bit_integers = 1"
    row = json.loads(str(chdb.query(f"{query} {settings}")))["data"][0]
    row = [None if cell is None else int(cell) for cell in row]
    return row[0], dict(zip(columns, fours(row[1:])))


ENGINES = {
    "DuckDB": with_duckdb,
    "Polars": with_polars,
    "pandas": with_pandas,
    "DataFusion": with_datafusion,
    "chdb": with_chdb,
}


def fours(row):
    return [tuple(row[at : at + 4]) for at in range(0, len(row), 4)]


def modulo(found):
    rows, columns = found
    words = {name: (n, int(total or 0) % WORD, low, high) for name, (n, total, low, high) in columns.items()}
    return rows, words


def integers(path):
    """The columns of integers, by the file's own schema."""
    import pyarrow.parquet
    import pyarrow.types

    schema = pyarrow.parquet.read_schema(path)
    return [field.name for field in schema if pyarrow.types.is_integer(field.type)]


def compare(telemetry, stream, folder):
    def run(*args):
        done = subprocess.run([telemetry, *args], capture_output=True, text=True)
        assert done.returncode in (0, 1), f"{args}: {done.stderr}"
        return done.stdout

    run("parquet", "-d", str(folder / "tables"), stream)
    run("sql", "-o", str(folder / "events.db"), stream)
    stats = json.loads(run("stats", "--json", stream))
    database = sqlite3.connect(folder / "events.db")
    database.text_factory = bytes
    checked = rows_of_events = 0
    import pyarrow.parquet

    for path in sorted((folder / "tables").glob("*.parquet")):
        columns = integers(path)
        found = {name: modulo(engine(path, columns)) for name, engine in ENGINES.items()}
        expected = found["DuckDB"]
        for name, of_engine in found.items():
            assert of_engine == expected, f"{stream}: {path.name}: {name}: {of_engine} and {expected}"
        checked += len(columns)
        meta = pyarrow.parquet.read_metadata(path).metadata
        event, registry = (meta.get(key) for key in (b"telemetry.event", b"telemetry.registry"))
        if event is None:
            continue
        rows_of_events += expected[0]
        in_database(database, (registry, event), expected, f"{stream}: {path.name}")
    total = stats["completeness"]["events"]
    assert rows_of_events == total, f"{stream}: {rows_of_events} rows, and `stats` has {total} events"
    print(f"{stream}: {rows_of_events} events, {checked} columns are the same in {', '.join(ENGINES)}")


def in_database(database, owner, expected, where):
    """Compares the file of an event type with its table in SQLite."""
    registry, event = owner
    found = database.execute(
        "SELECT table_name FROM event_type WHERE name = ? AND registry = ?", (event.decode(), registry.decode())
    ).fetchall()
    assert found, f"{where}: no table"
    table = found[0][0].decode()
    names = [row[1].decode() for row in database.execute(f'PRAGMA table_info("{table}")')]
    shared = [name for name in expected[1] if name in names and name not in ("session", "time")]
    for name in shared:
        numbers = [row[0] for row in database.execute(f'SELECT "{name}" FROM "{table}"')]
        present = [number for number in numbers if number is not None]
        least, greatest = (min(present), max(present)) if present else (None, None)
        own = (len(present), sum(present) % WORD, least, greatest)
        assert (len(numbers), own) == (expected[0], expected[1][name]), f"{where}: {name}: SQLite has {own}"
    assert "time_ns" in shared, f"{where}: no time"


def main():
    telemetry, *streams = sys.argv[1:]
    for stream in streams:
        with tempfile.TemporaryDirectory() as folder:
            compare(telemetry, stream, pathlib.Path(folder))


if __name__ == "__main__":
    main()
