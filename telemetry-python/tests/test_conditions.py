"""Conditions select the events that a test in Python selects."""

import pytest
import telemetry_events

pyarrow = pytest.importorskip("pyarrow")


def conditions(events):
    """Returns conditions on events, each with a function that says which ones meet it."""
    yield "time >= -1h", lambda event: True
    middle = sorted(event.time_ns for event in events)[len(events) // 2]
    yield f"time < {middle}ns", lambda event: event.time_ns < middle
    thread = events[0].thread
    yield f"thread == {thread}", lambda event: event.thread == thread
    seen = set()
    for event in events:
        name = event.DESC.name
        if name in seen or not name.isidentifier():
            continue
        seen.add(name)
        yield f"event == {name}", lambda event, name=name: event.DESC.name == name
        for param in event.DESC.params:
            # A parameter with the name of a member of all events has another attribute.
            value = getattr(event, param.name) if param.name in event.__slots__ else None
            if type(value) is int and value >= 0:
                text = f"event == {name} and `{param.name}` == {value}"
                yield text, lambda event, name=name, of=param.name, value=value: (
                    event.DESC.name == name and getattr(event, of) == value
                )


def test_conditions_select_as_python_does(streams):
    compared = 0
    for name, stream in streams.items():
        if ", " in name:
            # Blocks that are skipped are not checked for damage.
            continue
        with telemetry_events.open(stream, incomplete="ignore") as opened:
            events = list(opened.events())
            if not events or len(events) > 50_000:
                continue
            for condition, meets in list(conditions(events))[:60]:
                reader = opened.events(where=condition)
                assert list(map(repr, reader)) == [repr(event) for event in events if meets(event)], (name, condition)
                account = reader.completeness
                assert account.events + account.filtered == len(events), (name, condition)
                compared += account.events
            # The account of some events is not that of the stream.
            assert opened.completeness.filtered == 0
    assert compared > 1000


def test_tables_of_a_condition(streams):
    with telemetry_events.open(streams["every-sort"], incomplete="ignore") as opened:
        event = next(iter(opened.events()))
        table = event.DESC.name
        for condition in (f"event == {table}", "time < -1h"):
            expected = len(list(opened.events(table, where=condition)))
            tables = opened.read_tables(table, "lane", where=condition)
            assert pyarrow.table(tables[table]).num_rows == expected
            lanes = pyarrow.table(tables["lane"]).to_pydict()
            assert sum(lanes["events"]) == len(list(opened.events(where=condition)))
            rows = sum(pyarrow.table(batch).num_rows for batch in opened.batches(table, where=condition))
            assert rows == expected


def test_wrong_conditions_are_told_at_once(streams, monkeypatch):
    with telemetry_events.open(streams["every-sort"], incomplete="ignore") as opened:
        for condition, message in [
            ("siez > ", "in where: the condition ends here, expected"),
            ("no_such_name > 4", "in where: no parameter `no_such_name`"),
            ("duration > 5ms", "in where: `duration` is a field of spans"),
        ]:
            for read in (opened.events, opened.read_tables):
                with pytest.raises(ValueError, match=message) as raised:
                    read(where=condition)
                assert "^" in str(raised.value)
        monkeypatch.setenv("TELEMETRY_EVENTS_PURE", "1")
        with pytest.raises(NotImplementedError, match="conditions need the compiled package; help: pip install"):
            opened.events(where="time > 1s")
