"""Reads the streams of the telemetry framework.

    import telemetry_events

    with telemetry_events.open("telemetry.tel") as stream:
        print(stream.info)
        for event in stream.events():
            print(event.time_ns, event)
        print(stream.completeness)

`stream.columns("TraceStart")` gives arrays of NumPy instead of objects. docs/python.md of the
project describes all of it.
"""

from .accounts import Completeness, IncompleteWarning, Lane
from .base import StreamError, VersionError
from .descriptions import EventDesc, EventParam, KindDesc
from .hidden import HiddenValue
from .inputs import NotAStream
from .reader import Reader
from .registries import Registry
from .sessions import LabelRef, Session
from .stream import Info, Stream, Table, open

__all__ = [
    "Completeness",
    "EventDesc",
    "EventParam",
    "HiddenValue",
    "IncompleteWarning",
    "Info",
    "KindDesc",
    "LabelRef",
    "Lane",
    "NotAStream",
    "Reader",
    "Registry",
    "Session",
    "Stream",
    "StreamError",
    "Table",
    "VersionError",
    "open",
]

__version__ = "0.1.0"
