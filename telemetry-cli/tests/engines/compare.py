"""Files of tables as other engines read them, compared with `telemetry sql` and `telemetry stats`.

Usage: compare.py TELEMETRY STREAM...

For each stream, every engine counts the rows of every Parquet file. Of every column of integers it
takes the values, sum, least and greatest, and of every column of floats these and the NaNs. All are
the same in all engines, but for two kinds of sums. Those of integers are compared modulo 2^64,
because engines differ there. Those of floats depend on the order of addition: each is within
`n * 2^-53 * sum(abs(x))` of the exact sum, the bound for any order.

Arrow files have the same bits as Parquet files, in pyarrow and in Polars.
"""

import json
import math
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

import arrow
from engines import ENGINES

WORD = 1 << 64


def is_near(total, exact):
    """Returns true if a sum of floats is that of any order of addition."""
    total_of_all, n, absolute = exact
    return abs((total or 0.0) - total_of_all) <= n * 2.0**-53 * absolute


def comparable(found, exact, where):
    """Returns the figures of an engine without what may differ, which is checked here."""
    rows, columns = found
    same = {}
    for name, figures in columns.items():
        if name in exact:
            n, nans, total, least, greatest = figures
            assert is_near(total, exact[name]), f"{where}: the sum of {name} is {total}, expected {exact[name][0]}"
            same[name] = (n, nans, least, greatest)
        else:
            n, total, least, greatest = figures
            same[name] = (n, int(total or 0) % WORD, least, greatest)
    return rows, same


def columns_of(path):
    """The columns of integers, and those of floats with their exact sums, number and absolute sums."""
    import pyarrow.parquet
    import pyarrow.types

    schema = pyarrow.parquet.read_schema(path)
    integers = [field.name for field in schema if pyarrow.types.is_integer(field.type)]
    exact = {}
    for field in schema:
        if pyarrow.types.is_floating(field.type):
            values = pyarrow.parquet.read_table(path, columns=[field.name])[field.name].to_pylist()
            values = [value for value in values if value is not None and math.isfinite(value)]
            exact[field.name] = (math.fsum(values), len(values), math.fsum(map(abs, values)))
    return integers, exact


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
        integers, exact = columns_of(path)
        found = {}
        for name, engine in ENGINES.items():
            figures = engine(path, integers, list(exact))
            found[name] = comparable(figures, exact, f"{stream}: {path.name}: {name}")
        expected = found["DuckDB"]
        for name, of_engine in found.items():
            assert of_engine == expected, f"{stream}: {path.name}: {name}: {of_engine} and {expected}"
        checked += len(integers) + len(exact)
        meta = pyarrow.parquet.read_metadata(path).metadata
        event, registry = (meta.get(key) for key in (b"telemetry.event", b"telemetry.registry"))
        if event is None:
            continue
        rows_of_events += expected[0]
        in_database(database, (registry, event), (expected, exact), f"{stream}: {path.name}")
    total = stats["completeness"]["events"]
    assert rows_of_events == total, f"{stream}: {rows_of_events} rows, and `stats` has {total} events"
    files = arrow.compare(telemetry, stream, folder)
    print(f"{stream}: {rows_of_events} events, {checked} columns in {', '.join(ENGINES)}, {files} Arrow files")


def in_database(database, owner, expected, where):
    """Compares the file of an event type with its table in SQLite."""
    registry, event = owner
    (rows, columns), exact = expected
    found = database.execute(
        "SELECT table_name FROM event_type WHERE name = ? AND registry = ?", (event.decode(), registry.decode())
    ).fetchall()
    assert found, f"{where}: no table"
    table = found[0][0].decode()
    names = [row[1].decode() for row in database.execute(f'PRAGMA table_info("{table}")')]
    shared = [name for name in columns if name in names and name not in ("session", "time")]
    for name in shared:
        numbers = [row[0] for row in database.execute(f'SELECT "{name}" FROM "{table}"')]
        present = [number for number in numbers if number is not None]
        least, greatest = (min(present), max(present)) if present else (None, None)
        if name in exact:
            # SQLite has no NaN.
            n, nans, *ends = columns[name]
            total = sum(filter(math.isfinite, present))
            assert is_near(total, exact[name]), f"{where}: {name}: the sum in SQLite is {total}"
            own, same = (len(present), least, greatest), (n - nans, *ends)
        else:
            own, same = (len(present), sum(present) % WORD, least, greatest), columns[name]
        assert (len(numbers), own) == (rows, same), f"{where}: {name}: SQLite has {own}, expected {same}"
    assert "time_ns" in shared, f"{where}: no time"


def main():
    telemetry, *streams = sys.argv[1:]
    for stream in streams:
        with tempfile.TemporaryDirectory() as folder:
            compare(telemetry, stream, pathlib.Path(folder))


if __name__ == "__main__":
    main()
