"""Several tables that are read at once, the side tables, and exceptions of tables."""

import concurrent.futures
import errno
import os
import pathlib
import warnings

import pytest
import telemetry_events

pyarrow = pytest.importorskip("pyarrow")

SIDES = ["session", "thread", "label", "name", "lane", "loss", "damage", "block", "message", "span"]
SIDES += ["counter_value"]


def opened_streams(streams):
    """Iterates over the streams that can be opened."""
    for name, data in streams.items():
        try:
            opened = telemetry_events.open(data, incomplete="ignore")
        except (telemetry_events.NotAStream, telemetry_events.StreamError):
            continue
        with opened:
            yield name, opened


def is_same(one, other):
    # A NaN does not equal itself, and equal texts may have different numbers.
    return one.equals(other) or repr(one.to_pylist()) == repr(other.to_pylist())


def rows_of(opened, name, *columns):
    table = pyarrow.table(opened.table(name))
    return list(zip(*(table.column(column).to_pylist() for column in columns)))


def test_tables_read_at_once_have_the_rows_of_all_tables(streams):
    for name, opened in opened_streams(streams):
        lazy = {table: pyarrow.table(of) for table, of in opened.tables().items()}
        read = {table: pyarrow.table(of) for table, of in opened.read_tables().items()}
        assert list(read) == list(lazy)
        for table in lazy:
            assert is_same(read[table], lazy[table]), (name, table)
            assert read[table].schema.equals(lazy[table].schema, check_metadata=True), (name, table)
        found = {}
        for batch in opened.batches():
            found.setdefault(batch.name, []).append(pyarrow.table(batch))
        assert set(found) == {table for table, rows in lazy.items() if rows.num_rows}, name
        for table, batches in found.items():
            assert is_same(pyarrow.concat_tables(batches), lazy[table]), (name, table)


def test_some_tables(streams):
    with telemetry_events.open(streams["every-sort"], incomplete="ignore") as opened:
        event = next(table for table in opened.tables().values() if pyarrow.table(table).num_rows)
        read = opened.read_tables("block", f"{event.registry}:{event.event}", "block")
        assert list(read) == ["block", event.name]
        assert all(pyarrow.table(table).num_rows for table in read.values())
        assert {batch.name for batch in opened.batches("session")} == {"session"}
        with pytest.raises(ValueError, match="has no event type `Absent`"):
            opened.batches("session", "Absent")


def test_rows_in_memory_outlive_the_stream(streams):
    with telemetry_events.open(streams["every-sort"], incomplete="ignore") as opened:
        tables = opened.read_tables()
    rows = {name: pyarrow.table(table) for name, table in tables.items()}
    assert sum(rows[name].num_rows for name, table in tables.items() if table.event) > 0
    assert all(table.error is None for table in tables.values())


def test_side_tables_say_what_the_stream_says(streams):
    compared = 0
    for name, opened in opened_streams(streams):
        assert [table.name for table in opened.tables().values() if not table.event] == SIDES
        verdict = opened.completeness
        sessions = {session.id: session for session in opened.info.sessions}
        assert {row[0] for row in rows_of(opened, "session", "session")} == set(sessions), name
        compared += len(sessions)
        for session, declared, ended in rows_of(opened, "session", "session", "declared", "ended"):
            assert (declared, ended) == (sessions[session].declared, sessions[session].ended), name
        for session, thread, called in rows_of(opened, "thread", "session", "thread", "name"):
            assert sessions[session].threads[thread].get("name") == called, name
        for session, number, text in rows_of(opened, "label", "session", "number", "text"):
            assert sessions[session].label(number).text == text, name
        lanes = rows_of(opened, "lane", "events", "excluded", "lost_pool", "lost_reentrant", "lost_sink")
        sums = [sum(column) for column in zip(*lanes)] or [0] * 5
        lost = [verdict.lost_pool, verdict.lost_reentrant, verdict.lost_sink]
        assert sums == [verdict.events, verdict.excluded, *lost], name
        ranges = sorted((start, end) for start, end, _ in [*verdict.damage, *verdict.undecodable])
        assert rows_of(opened, "damage", "from", "until") == ranges, name
    assert compared > 20


def test_spans_and_messages(streams):
    found = {name: len(rows_of(opened, "span", "span")) for name, opened in opened_streams(streams)}
    assert any(found.values())


def test_incomplete_streams_have_typed_exceptions(streams):
    name, damaged = next(
        (name, data)
        for name, data in streams.items()
        if name.startswith("every-sort, a bit") and telemetry_events.open(data, incomplete="ignore").completeness.damage
    )
    with telemetry_events.open(damaged, incomplete="ignore") as opened:
        expected = opened.completeness
        opened.read_tables()
        list(opened.batches())
    with telemetry_events.open(damaged) as opened:
        with pytest.warns(telemetry_events.IncompleteWarning) as told:
            opened.read_tables()
        assert told[0].filename == __file__
        assert told[0].message.completeness.damage == expected.damage
        with pytest.warns(telemetry_events.IncompleteWarning) as told:
            list(opened.batches())
        assert told[0].filename == __file__
    with telemetry_events.open(damaged, incomplete="error") as opened:
        for read in (opened.read_tables, lambda: list(opened.batches())):
            with pytest.raises(telemetry_events.IncompleteWarning) as raised:
                read()
            # The first byte of the damage.
            assert raised.value.completeness.damage[0][0] == expected.damage[0][0]
        errors = []
        for table in opened.tables().values():
            assert table.error is None
            try:
                pyarrow.table(table)
                assert table.error is None, table.name
            except Exception as error:
                assert isinstance(table.error, telemetry_events.IncompleteWarning)
                assert str(table.error.completeness.damage[0][0]) in str(table.error)
                assert str(table.error.completeness) in str(error)
                errors.append(table.name)
        assert "damage" in errors
        # They need no events.
        assert not {"session", "thread", "label", "name", "block"} & set(errors)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            opened.read_tables("session", "block")


@pytest.mark.skipif(not pathlib.Path("/proc/self/fd").exists(), reason="needs /proc")
def test_errors_of_the_input_are_exceptions_of_their_class(streams, tmp_path):
    path = tmp_path / "stream.tel"
    path.write_bytes(streams["every-sort"])
    with telemetry_events.open(path, incomplete="ignore") as opened:
        table = next(table for table in opened.tables().values() if pyarrow.table(table).num_rows)
        reader = pyarrow.RecordBatchReader.from_stream(table)
        batches = opened.batches()
        events = opened.events()
        # All descriptors of the file become those of one that cannot be read.
        with open(tmp_path / "other", "wb") as unreadable:
            for entry in list(pathlib.Path("/proc/self/fd").iterdir()):
                if os.path.exists(entry) and os.readlink(entry) == str(path):
                    os.dup2(unreadable.fileno(), int(entry.name))
            with pytest.raises(pyarrow.ArrowException):
                list(reader)
            for read in (lambda: list(batches), lambda: list(events)):
                with pytest.raises(OSError) as raised:
                    read()
                assert raised.value.errno == errno.EBADF
        assert isinstance(table.error, OSError)
        assert table.error.errno == errno.EBADF


def test_the_compiled_verdict_is_that_of_the_pure_reader(streams, monkeypatch):
    for name, opened in opened_streams(streams):
        compiled = opened.completeness
        with monkeypatch.context() as pure:
            pure.setenv("TELEMETRY_EVENTS_PURE", "1")
            with telemetry_events.open(streams[name], incomplete="ignore") as again:
                assert again.completeness == compiled, name


def test_a_file_that_grew_has_the_verdict_of_its_first_length(streams, tmp_path):
    path = tmp_path / "stream.tel"
    path.write_bytes(streams["every-sort"])
    with telemetry_events.open(path, incomplete="ignore") as opened:
        with path.open("ab") as file:
            file.write(b"more")
        assert opened.completeness.bytes == len(streams["every-sort"])
        assert not opened.completeness.damage


def test_any_thread_may_go_on_with_events_and_batches(streams):
    with telemetry_events.open(streams["every-sort"], incomplete="ignore") as opened:
        expected = len(list(opened.events())), len(list(opened.batches()))
        for events, batches in ((opened.events(), opened.batches()),):
            next(iter(events)), next(batches)
            with concurrent.futures.ThreadPoolExecutor(1) as other:
                rest = other.submit(lambda: (len(list(events)), len(list(batches)))).result()
            assert (rest[0] + 1, rest[1] + 1) == expected
