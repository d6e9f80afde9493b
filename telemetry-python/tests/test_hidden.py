"""Labels of a session, of which some may be sensitive."""

import pickle

import pytest
import telemetry_events
from telemetry_events.blocks import _EVENTS, _HEADER, _LAST, _REGISTRY, _SESSION, _crc32c
from telemetry_events.inputs import _MAGIC
from telemetry_events.registries import Registry

REGISTRY = """
[registry]
name = "visits"
version = { major = 1, median = 0, minor = 0 }
doc = "Visits"
[kinds]
Visit = { bit = 0, doc = "per visit" }
[[event]]
name = "Visited"
code = 1
kind = "Visit"
doc = "A visit"
params = [{ name = "page", sort = "label" }, { name = "town", sort = "label", sensitive = "personal" }]
[[event]]
name = "Interned"
code = 2
kind = "Visit"
doc = "A string got a number"
params = [{ name = "number", sort = "label" }, { name = "text", sort = "string", names = "number" }]"""


def block(block_type, payload, events=0):
    """Returns a block with its checksums."""
    registry = Registry(REGISTRY).fingerprint
    places = [144, 0, _LAST, 0, len(payload), events, 1, registry, 3, 0, 0, len(payload), 1, 1, 1]
    header = bytearray(_HEADER.pack(block_type, *places, *[0] * 6, _crc32c(payload), 0))
    header[:9] = _MAGIC + b"\1"
    header[140:] = _crc32c(bytes(header[:140])).to_bytes(4, "little")
    return bytes(header) + payload


def stream():
    """Returns a stream of two strings. An event has them."""
    numbers = lambda *of: bytes(2 * number + 1 for number in of)
    texts = [(1, b"Books"), (2, b"Marylebone")]
    events = b"".join(numbers(2, 0, number, len(text)) + text for number, text in texts) + numbers(1, 0, 1, 2)
    return block(_SESSION, b"") + block(_REGISTRY, REGISTRY.encode()) + block(_EVENTS, events, 3)


@pytest.mark.parametrize("pure", ["", "1"])
def test_pickles_have_no_hidden_label(pure, monkeypatch):
    monkeypatch.setenv("TELEMETRY_EVENTS_PURE", pure)
    with telemetry_events.open(stream(), incomplete="ignore") as opened:
        (visit,) = opened.events("Visited")
    pickled = pickle.dumps(visit)
    assert b"Books" in pickled and b"Marylebone" not in pickled
    for event in (visit, pickle.loads(pickled)):
        assert (str(event.page), event.town) == ("Books", "<personal>")
        labels = [event.session.label(number).text for number in (1, 2)]
        assert labels == ["<secret>"] * 2
        assert all(isinstance(label, telemetry_events.HiddenValue) for label in labels)
    # Earlier versions did not store it.
    del visit.session._hidden_label
    assert visit.session.label(3).text is None
    with telemetry_events.open(stream(), incomplete="ignore", show_sensitive=True) as opened:
        (visit,) = opened.events("Visited")
    assert str(visit.town) == str(pickle.loads(pickle.dumps(visit)).session.label(2)) == "Marylebone"


def test_columns_of_labels():
    pytest.importorskip("numpy")
    with telemetry_events.open(stream(), incomplete="ignore") as opened:
        columns = opened.columns("Visited")
    assert columns["page_name"].tolist() == ["Books"]
    assert columns["town"].tolist() == ["<personal>"]
    assert "Marylebone" not in repr(columns)
    with telemetry_events.open(stream(), incomplete="ignore", show_sensitive=True) as opened:
        assert opened.columns("Visited")["town_name"].tolist() == ["Marylebone"]
