"""The compiled reader and the pure one have the same results."""

import pickle

import pytest
import telemetry_events
from telemetry_events import native


def everything(stream, order):
    """Returns all that a stream says, as text: its events with the names of their values, what was
    missing, and the error if it is no stream."""
    found = []
    try:
        with telemetry_events.open(stream, incomplete="ignore") as opened:
            found.append(str(opened.info))
            reader = opened.events(order=order)
            for event in reader:
                assert pickle.loads(pickle.dumps(event.DESC)) == event.DESC
                found.append(f"{type(event).__qualname__} {event!r} {event.ticks} {event.session.id} {event.lane}")
                for name in event.__slots__:
                    value = getattr(event, name)
                    found.append(f"{type(value).__qualname__} {name} {value!r} {value}")
            found.append(f"others {reader.others}")
            found.append(repr(reader.completeness))
            found.append(repr(opened.completeness))
    except (telemetry_events.NotAStream, telemetry_events.StreamError) as error:
        found.append(f"{type(error).__name__}: {error}")
    return found


@pytest.mark.parametrize("order", ["time", "stream"])
def test_events_and_verdicts(streams, order, monkeypatch):
    assert native._compiled_module() is not None
    for name, stream in streams.items():
        compiled = everything(stream, order)
        with monkeypatch.context() as pure:
            pure.setenv("TELEMETRY_EVENTS_PURE", "1")
            assert native._compiled_module() is None
            expected = everything(stream, order)
        assert compiled == expected, name


def test_no_streams():
    for data in (b"", b"some text", b"\x1f\x8b gzip"):
        with pytest.raises(telemetry_events.NotAStream):
            telemetry_events.open(data)


def test_events_of_some_types(streams, monkeypatch):
    stream = streams["every-sort"]
    with telemetry_events.open(stream, incomplete="ignore") as opened:
        name = next(iter(opened.events())).DESC.name
        some = opened.events(name)
        found = [repr(event) for event in some]
        assert found == [repr(event) for event in opened.events() if event.DESC.name == name]
        assert some.others + len(found) == len(list(opened.events()))


def test_events_are_objects_as_others(streams):
    with telemetry_events.open(streams["every-sort"], incomplete="ignore") as opened:
        for event in opened.events():
            copy = pickle.loads(pickle.dumps(event))
            # A NaN does not equal itself.
            assert repr(copy) == repr(event)
            assert type(copy) is type(event)


def test_a_file_that_grew_is_read_to_its_first_length(streams, tmp_path):
    path = tmp_path / "stream.tel"
    path.write_bytes(streams["every-sort"])
    with telemetry_events.open(path, incomplete="ignore") as opened:
        before = [repr(event) for event in opened.events()]
        with path.open("ab") as file:
            file.write(b"more")
        assert [repr(event) for event in opened.events()] == before


def test_a_function_that_fails_gives_its_error(streams, monkeypatch):
    with telemetry_events.open(streams["every-sort"], incomplete="ignore") as opened:
        reader = opened.events()

        def fails(*_):
            raise KeyError("no lane")

        events = native._compiled_module().Objects([], "time", None, None, fails, fails, None, False)
        assert events.batch(10) == []
        with pytest.raises(ValueError, match="found the order `none`"):
            native._compiled_module().Objects([], "none", None, None, fails, fails, None, False)
        with pytest.raises(OSError):
            native._compiled_module().Objects([-1], "time", None, None, fails, fails, None, False)
        reader.close()


def test_columns_have_their_own_account(streams):
    """Columns are read by NumPy, which the compiled reader has no part in."""
    pytest.importorskip("numpy")
    # It would raise an error if the columns were not counted as read.
    with telemetry_events.open(streams["every-sort"], incomplete="error") as opened:
        event = next(iter(opened.events()))
        assert len(opened.columns(event.DESC.name)["time_ns"]) > 0


def test_any_number_of_threads(streams, monkeypatch):
    """The number changes nothing, and pure Python takes it too."""
    stream = streams.get("gcbench", streams["every-sort"])
    expected = None
    for pure, threads in [("", None), ("", 1), ("", 2), ("", 7), ("1", 3)]:
        monkeypatch.setenv("TELEMETRY_EVENTS_PURE", pure)
        with telemetry_events.open(stream, incomplete="ignore", threads=threads) as opened:
            read = [repr(event) for event in opened.events()]
            found = read, str(opened.completeness)
        expected = expected or found
        assert found == expected
    assert len(expected[0]) > 0


@pytest.mark.parametrize("pure", ["", "1"])
def test_wrong_numbers_of_threads(streams, pure, monkeypatch):
    monkeypatch.setenv("TELEMETRY_EVENTS_PURE", pure)
    for threads in (0, -1):
        with pytest.raises(ValueError, match="expected a number of at least 1"):
            telemetry_events.open(streams["every-sort"], threads=threads)
