"""Compares what the package `telemetry_events` reads of a stream with the lines of `print --json`."""

import json
import math
import struct
import sys

import telemetry_events
from telemetry_events.descriptions import _flags_text


def shown(value, sort, of_json):
    """Returns a value as docs/json.md describes it."""
    if isinstance(value, list):
        one = sort.strip("[]").partition(";")[0]
        others = of_json if isinstance(of_json, list) else []
        return [shown(item, one, other) for item, other in zip(value, [*others, *value[len(others) :]])]
    if sort in ("pointer", "addr"):
        return f"{value:#x}"
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
        if sort == "f32" and isinstance(of_json, (int, float)):
            # JSON has the fewest digits that give the same 32 bits.
            return of_json if struct.pack("<f", of_json) == struct.pack("<f", value) else value
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str):
        raw = value.encode("utf-8", "surrogateescape")
        return value if raw.decode("utf-8", "replace") == value else {"hex": raw.hex()}
    if isinstance(value, telemetry_events.LabelRef):
        return int(value) if value.text is None else value.text
    if hasattr(value, "name") and type(value).__mro__[1].__name__ == "IntEnum":
        return value.name
    if type(value).__mro__[1].__name__ == "IntFlag":
        text = _flags_text(type(value), int(value))
        return [] if text == "0" else text.split("|")
    return int(value)


def main(path, lines):
    expected = [json.loads(line) for line in open(lines, encoding="utf-8")]
    stream = telemetry_events.open(path, incomplete="ignore")
    found = 0
    for event, line in zip(stream.events(), expected):
        desc = event.DESC
        params = {
            param.name: shown(getattr(event, attribute), param.sort, line["params"].get(param.name))
            for param, attribute in zip(desc.params, type(event).__slots__)
        }
        what = {
            "time_ns": event.time_ns,
            "session": f"{event.session.id:016x}",
            "thread": event.thread,
            "thread_name": event.lane.thread_name,
            "kind": desc.kind.name,
            "event": desc.name,
            "params": params,
        }
        assert what == {key: line[key] for key in what}, f"{what}\nexpected\n{line}"
        found += 1
    assert found == len(expected) == stream.completeness.events, (found, len(expected))
    print(f"{found} events are the same")
    try:
        import numpy
    except ImportError:
        print("no NumPy")
        return
    assert numpy.__version__
    for name in {line["event"] for line in expected}:
        times = [line["time_ns"] for line in expected if line["event"] == name]
        assert stream.columns(name)["time_ns"].tolist() == times, name


main(*sys.argv[1:])
