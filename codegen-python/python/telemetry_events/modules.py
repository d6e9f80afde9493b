from __future__ import annotations

import dataclasses as _dataclasses
import enum as _enum
import functools as _functools
import typing as _t

from .accounts import Lane
from .descriptions import KindDesc
from .registries import Registry, _attribute
from .sessions import Session

# --- Events, and the generated parts of a module.


class _Stored:
    """What is stored of every event beside its parameters."""

    __slots__ = ("ticks", "lane")

    def __init__(self, ticks: int, lane: Lane) -> None:
        #: The clock reading.
        self.ticks = ticks
        #: Its source.
        self.lane = lane


@_dataclasses.dataclass(init=False)
class _Event(_Stored):
    """What every event has beside its parameters. The fields are those of `repr` and `asdict`."""

    __slots__ = ()
    if not _t.TYPE_CHECKING:
        # `dataclasses.replace` passes them on, because they have a default value.
        ticks: _dataclasses.InitVar[int] = 0
        lane: _dataclasses.InitVar[Lane] = None
    #: Nanoseconds since the session began.
    time_ns: int = _dataclasses.field(init=False)
    #: The session's number for the thread that emitted it.
    thread: int = _dataclasses.field(init=False)

    @property
    def session(self) -> Session:
        """Returns its session."""
        return self.lane.session


# The default values would hide what is stored.
delattr(_Event, "ticks")
delattr(_Event, "lane")
# Both follow from what is stored. They are set here, because a dataclass takes a property in its
# body for a default value.
setattr(_Event, "time_ns", property(lambda event: event.lane.session._clock.ns(event.ticks)))
setattr(_Event, "thread", property(lambda event: event.lane.thread))


class _Module(_t.NamedTuple):
    """The generated parts."""

    name: str
    #: By bit number.
    kinds: dict[int, KindDesc]
    #: By code.
    classes: dict[int, type[_t.Any]]
    #: Functions that turn numbers into values.
    types: dict[str, _t.Callable[[int], int]]
    #: The classes of enums and flags.
    enums: dict[str, type[_enum.Enum]]
    #: The text of the registry.
    text: str
    #: Names of the parameters in the objects, by code.
    attributes: dict[int, list[str]]
    #: The registry, parsed when it is first needed.
    registry: _t.Callable[[], Registry]


def _module(
    name: str,
    text: str,
    kinds: dict[int, KindDesc],
    classes: _t.Sequence[_t.Any],
    types: dict[str, _t.Any],
) -> _Module:
    by_code = {one.DESC.code: one for one in classes}
    of_types = {key: _enum_values(ty) for key, ty in types.items()}
    read = _functools.lru_cache(maxsize=None)(lambda: Registry(text))
    attributes = {code: [_attribute(param.name) for param in one.DESC.params] for code, one in by_code.items()}
    return _Module(name, kinds, by_code, of_types, types, text, attributes, read)


def _enum_values(ty: _t.Any) -> _t.Callable[[int], int]:
    """Returns a function that turns numbers into values, and keeps numbers without names. Sets of
    flags are created once each, unless there are too many."""
    known: dict[int, int] = {member.value: member for member in ty.__members__.values()}
    if not issubclass(ty, _enum.IntFlag):
        get = known.get
        return lambda number: get(number, number)

    def flags(number: int) -> int:
        value = known.get(number)
        if value is None:
            if len(known) >= 4096:
                return number
            value = known[number] = ty(number)
        return value

    return flags
