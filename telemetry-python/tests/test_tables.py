"""Tables of events, as programs that know Arrow's format read them."""

import os
import pathlib
import re
import shutil
import signal
import threading

import pytest
import telemetry_events

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture
def opened(streams):
    with telemetry_events.open(streams["every-sort"], incomplete="ignore") as opened:
        yield opened


def test_tables_have_the_values_of_events(streams):
    compared = 0
    for name, stream in streams.items():
        try:
            opened = telemetry_events.open(stream, incomplete="ignore")
        except (telemetry_events.NotAStream, telemetry_events.StreamError):
            continue
        tables = opened.tables()
        by_type = {}
        for event in opened.events():
            by_type.setdefault((event.lane.kind.name, event.DESC.name), []).append(event)
        of_events = [table for table in tables.values() if table.event]
        for table in of_events:
            rows = pyarrow.table(table)
            events = by_type.get((table.kind, table.event), [])
            if len({event.session.id for event in events}) > 1 or rows.num_rows != len(events):
                # Several registries have an event of this name.
                continue
            compared += len(events)
            assert rows.column("time_ns").to_pylist() == [event.time_ns for event in events], name
            assert rows.column("thread").to_pylist() == [event.thread for event in events], name
            for param in (events[0].DESC.params if events else ()):
                if param.sort in ("W", "P", "A", "U", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "bool"):
                    column = param.name + "_" if param.name + "_" in table.column_names else param.name
                    expected = [getattr(event, telemetry_events.registries._attribute(param.name)) for event in events]
                    assert rows.column(column).to_pylist() == expected, (name, param)
        assert sum(pyarrow.table(table).num_rows for table in of_events) == opened.completeness.events, name
        opened.close()
    assert compared > 1000


def test_examples_of_the_chapter_run(tmp_path, monkeypatch):
    pytest.importorskip("polars")
    recorded = os.environ.get("TELEMETRY_GCBENCH") or pytest.skip("no TELEMETRY_GCBENCH")
    shutil.copy(recorded, tmp_path / "gcbench.tel")
    monkeypatch.chdir(tmp_path)
    chapter = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
    blocks = re.findall(r"```python\n(.*?)```", chapter.read_text(encoding="utf-8"), re.DOTALL)
    examples = [block for block in blocks if "import polars" in block or "where=" in block]
    assert len(examples) == 3
    for example in examples:
        found = {}
        exec(compile(example, "docs/python.md", "exec"), found)
        assert found["frame"].height > 0 if "frame" in found else found["large"]


def test_each_use_is_a_new_stream(opened):
    table = next(iter(opened.tables().values()))
    assert pyarrow.table(table).equals(pyarrow.table(table))
    assert pyarrow.schema(table).names == table.column_names


def test_tables_outlive_the_stream(opened):
    table = next(iter(opened.tables().values()))
    before = pyarrow.table(table)
    opened.close()
    assert pyarrow.table(table).equals(before)


def test_names(opened):
    name, table = next(iter(opened.tables().items()))
    assert opened.table(name).name == name
    assert opened.table(f"{table.registry}:{table.event}").event == table.event
    with pytest.raises(ValueError, match="has no event type `Absent`"):
        opened.table("Absent")


def test_columns_have_docs_and_units(opened):
    table = next(iter(opened.tables().values()))
    schema = pyarrow.schema(table)
    assert schema.metadata[b"telemetry.event"].decode() == table.event
    assert schema.field("time_ns").metadata[b"telemetry.unit"] == b"ns"


def test_a_stream_that_is_not_whole(streams):
    lossy = streams["losses"]
    with telemetry_events.open(lossy, incomplete="ignore") as opened:
        tables = [table for table in opened.tables().values() if table.event]
        assert not opened.completeness.is_whole
        assert sum(pyarrow.table(table).num_rows for table in tables) == opened.completeness.events
    with telemetry_events.open(lossy, incomplete="error") as opened:
        with pytest.raises(Exception, match="incomplete"):
            for table in opened.tables().values():
                pyarrow.table(table)


def test_without_the_compiled_module(opened, monkeypatch):
    monkeypatch.setenv("TELEMETRY_EVENTS_PURE", "1")
    with pytest.raises(NotImplementedError, match="help: pip install"):
        opened.tables()


def test_polars(opened):
    polars = pytest.importorskip("polars")
    for table in opened.tables().values():
        frame = polars.DataFrame(table)
        assert frame.columns == table.column_names
        assert frame.height == pyarrow.table(table).num_rows


def test_duckdb(opened):
    duckdb = pytest.importorskip("duckdb")
    for events in opened.tables().values():
        rows = duckdb.sql("SELECT count(*) FROM events").fetchall()
        assert rows == [(pyarrow.table(events).num_rows,)]


def test_pandas(opened):
    pandas = pytest.importorskip("pandas", minversion="3")
    for table in opened.tables().values():
        assert list(pandas.DataFrame.from_arrow(table).columns) == table.column_names


def test_other_threads_read_tables(opened):
    expected = {name: pyarrow.table(table).num_rows for name, table in opened.tables().items()}
    found = {}

    def read(name, table):
        found[name] = pyarrow.table(table).num_rows

    threads = [threading.Thread(target=read, args=item) for item in opened.tables().items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_interrupts(opened):
    """A signal before a batch ends the reading with the exception of its handler."""
    table = next(table for table in opened.tables().values() if pyarrow.table(table).num_rows)
    reader = pyarrow.RecordBatchReader.from_stream(table)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
        for _ in reader:
            pass
