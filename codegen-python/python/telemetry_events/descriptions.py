from __future__ import annotations

import enum as _enum
import typing as _t

# --- Descriptions of the registry, as the MPS's `mpseventpy` documents them.


class HeaderDesc(_t.NamedTuple):
    """The header of an event in a log of the MPS: its code, its size, and its time."""

    code: int
    #: Of the whole event, with the header.
    size: int
    clock: int


class KindDesc(_t.NamedTuple):
    """A kind of events."""

    name: str
    #: Its bit number.
    code: int
    doc: str


class EventParam(_t.NamedTuple):
    """A parameter of an event."""

    #: The MPS's letter (`P A W U S D B`), else the name of the type: `u16`, `[u32; 4]`, `Why`.
    sort: str
    name: str
    doc: str


class EventDesc(_t.NamedTuple):
    """An event type: its name, its parameters, and the MPS's layout of it."""

    name: str
    code: int
    #: False if it is retired.
    used: bool
    kind: KindDesc
    params: list[EventParam]
    #: Most bytes after the header, in the MPS's layout.
    maxsize: int
    #: For `struct.unpack` of the bytes after the header. Strings, byte strings and arrays without a
    #: fixed number of elements have no format: it ends before the first of them.
    format: str


def _name_of_number(ty: type[_enum.Enum], number: int) -> _t.Optional[str]:
    """Returns the name of an enum's number, or None; for flags, the names of the bits."""
    if issubclass(ty, _enum.IntFlag):
        return _flags_text(ty, number)
    return next((name for name, member in ty.__members__.items() if member.value == number), None)


def _flags_text(ty: type[_enum.Enum], number: int) -> str:
    """Returns a set of flags as `telemetry print` shows it. Python's own text depends on its
    version."""
    names = {int(member.value): name for name, member in ty.__members__.items()}
    if number in names:
        return names[number]
    parts = [name for mask, name in names.items() if mask and number & mask == mask]
    rest = number
    for mask in names:
        rest &= ~mask if number & mask == mask else -1
    return "|".join([*parts, *([f"{rest:#x}"] if rest else [])]) or "0"


#: Bytes of the header of an event of the MPS.
HEADER_SIZE = 16
#: For `struct.unpack` of that header, into a `HeaderDesc`.
HEADER_FORMAT = "<HH4xQ"
