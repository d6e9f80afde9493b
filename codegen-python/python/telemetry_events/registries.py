from __future__ import annotations

import dataclasses as _dataclasses
import functools as _functools
import keyword as _keyword
import typing as _t

from .base import StreamError, _MAX
from .toml import _Toml

# --- Registries in their canonical form.

_Version = tuple[int, int, int]

# Parameter types: the encoding of one value, and its fewest bytes.
_PACKED = {
    "pointer": "delta",
    "addr": "delta",
    "word": "delta",
    "u8": "u8",
    "u16": "u16",
    "u32": "u32",
    "u64": "u64",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "f32": "f32",
    "f64": "f64",
    "bool": "bool",
    "string": "string",
    "bytes": "bytes",
    "label": "u64",
}


@_dataclasses.dataclass(frozen=True)
class _Type:
    name: str
    repr: str
    flags: bool
    #: Names by number.
    values: dict[int, str]


@_dataclasses.dataclass(frozen=True)
class _Kind:
    name: str
    bit: int
    inherits: bool
    doc: str = ""


@_dataclasses.dataclass(frozen=True)
class _Param:
    name: str
    #: The long name, or that of a type.
    sort: str
    #: Number of elements of an array; -1 if it varies, 0 for a single value.
    count: int
    max: _t.Optional[int]
    #: A power of two that its values are usually multiples of.
    align: int
    unit: str
    #: The parameter that its value names.
    names: _t.Optional[str]
    since: _t.Optional[_Version]
    #: The space of its numbers, if that is given.
    numbers: _t.Optional[str] = None
    #: 0 if it is not sensitive, 1 if it is personal, 2 if it is secret.
    strictness: int = 0
    doc: str = ""

    @property
    def number_space(self) -> str:
        """Numbers of parameters with one space stand for the same strings."""
        return self.numbers or self.name

    @property
    def has_numbers(self) -> bool:
        """Returns whether its values can be numbers of strings."""
        return _NAMED.get(self.sort) == "number"

    @property
    def sort_text(self) -> str:
        if self.count == 0:
            return self.sort
        return f"[{self.sort}]" if self.count < 0 else f"[{self.sort}; {self.count}]"

    @property
    def rotation(self) -> int:
        """Returns how many bits a value was rotated to the right before it was encoded."""
        return self.align.bit_length() - 1


@_dataclasses.dataclass(frozen=True)
class _Form:
    """An event type of a registry."""

    name: str
    code: int
    kind: _Kind
    params: tuple[_Param, ...]
    #: False if it is retired.
    used: bool = True
    doc: str = ""


class _Mark(_t.NamedTuple):
    """The meaning of a mark `names`: which value of an event is the name of which."""

    of: int
    by: int
    #: `label`, `number`, `pointer` or `addr`.
    named: str
    #: `text`, or one of those.
    name: str
    #: The space of a number, if there is one: registry and parameter; None for labels.
    numbers: tuple[str, str]


#: The parameter types that can have a name, and give one.
_NAMED = {"label": "label", "pointer": "pointer", "addr": "addr"}
_NAMED.update(dict.fromkeys(("word", "u8", "u16", "u32", "u64"), "number"))


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise StreamError(f"{what} is {value!r}, expected a string")
    return value


def _doc(table: dict[str, object]) -> str:
    """Returns the documentation of something, if it has one."""
    doc = table.get("doc")
    return doc if isinstance(doc, str) else ""


def _number(value: object, what: str, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise StreamError(f"{what} is {value!r}, expected a number from {least} to {most}")
    return value


def _table(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise StreamError(f"{what} is {value!r}, expected a table")
    return value


def _version(value: object) -> _Version:
    table = _table(value, "the version")
    numbers = [_number(table.get(key), key, 0, 0xFFFF_FFFF) for key in ("major", "median", "minor")]
    return numbers[0], numbers[1], numbers[2]


def _dotted(version: _Version) -> str:
    return ".".join(map(str, version))


class Registry:
    """A registry, as a stream or a module carries it: its canonical form.

    Keys that this module does not know are skipped. Anything else that is not the canonical form
    of a registry raises `StreamError`.
    """

    name: str
    version: _Version

    def __init__(self, text: str) -> None:
        registry: dict[str, object] = {}
        kinds: dict[str, dict[str, object]] = {}
        types: dict[str, dict[str, object]] = {}
        events: list[dict[str, object]] = []
        for table, key, value in _Toml(text).lines():
            if not key:
                if table == ("event",):
                    events.append({})
            elif table == ("registry",):
                registry[key] = value
            elif table == ("kinds",):
                kinds[key] = _table(value, f"kind `{key}`")
            elif len(table) > 1 and table[0] == "types":
                where = types.setdefault(table[1], {})
                if len(table) == 3 and table[2] == "values":
                    where = _table(where.setdefault("values", {}), "values")
                where[key] = value
            elif table == ("event",):
                events[-1][key] = value
        self._text = text
        self.name = _text(registry.get("name"), "the registry's name")
        self.version = _version(registry.get("version"))
        of_kinds = [
            _Kind(
                name,
                _number(kind.get("bit"), f"the bit of kind `{name}`", 0, 63),
                kind.get("clock") == "inherit",
                _doc(kind),
            )
            for name, kind in kinds.items()
        ]
        self._kinds = sorted(of_kinds, key=lambda kind: kind.bit)
        self._types = {name: self._type(name, types[name]) for name in sorted(types)}
        by_name = {kind.name: kind for kind in self._kinds}
        self._events = sorted((self._event(event, by_name) for event in events), key=lambda event: event.code)
        self._by_code = {event.code: event for event in self._events}
        self._mark()
        if len(self._by_code) < len(self._events) or len({kind.bit for kind in self._kinds}) < len(kinds):
            raise StreamError("two events have the same code, or two kinds the same bit")

    def _type(self, name: str, table: dict[str, object]) -> _Type:
        repr_ = _text(table.get("repr"), f"the repr of type `{name}`")
        if _PACKED.get(repr_, "") not in ("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"):
            raise StreamError(f"the repr of type `{name}` is `{repr_}`, expected an integer")
        values: dict[int, str] = {}
        for key, value in _table(table.get("values"), f"the values of type `{name}`").items():
            number = value.get("value") if isinstance(value, dict) else value
            values[_number(number, f"value `{key}` of type `{name}`", -(1 << 63), _MAX)] = key
        ordered = dict(sorted(values.items()))
        return _Type(name, repr_, table.get("flags") is True, ordered)

    def _event(self, event: dict[str, object], kinds: dict[str, _Kind]) -> _Form:
        name = _text(event.get("name"), "the name of an event")
        kind_name = _text(event.get("kind"), f"the kind of event `{name}`")
        kind = kinds.get(kind_name)
        if kind is None:
            raise StreamError(f"unknown kind `{kind_name}` of event `{name}`")
        params = event.get("params", [])
        if not isinstance(params, list):
            raise StreamError(f"the parameters of event `{name}` are {params!r}, expected an array")
        code = _number(event.get("code"), f"the code of event `{name}`", 0, 0xFFFF)
        of_params = tuple(self._param(_table(param, "a parameter")) for param in params)
        return _Form(name, code, kind, of_params, event.get("used") is not False, _doc(event))

    def _param(self, param: dict[str, object]) -> _Param:
        name = _text(param.get("name"), "the name of a parameter")
        sort = _text(param.get("sort"), f"the type of parameter `{name}`")
        count = 0
        if sort[:1] == "[" and sort[-1:] == "]":
            sort, _, number = sort[1:-1].partition("; ")
            count = -1
            if number:
                if not number.isdecimal():
                    raise StreamError(f"parameter `{name}` has `{number}` elements")
                count = _number(int(number[:9]), f"the elements of parameter `{name}`", 1, 32_768)
        is_run = sort in ("string", "bytes")
        if sort not in _PACKED and sort not in self._types or count and is_run:
            raise StreamError(f"unknown type `{sort}` of parameter `{name}`")
        most: _t.Optional[int] = None
        if is_run or count < 0:
            most = _number(
                param.get("max", 1024 if is_run else 64), f"the max of parameter `{name}`", 0, 1 << 30
            )
        align = _number(param.get("align", 1), f"the align of parameter `{name}`", 1, 1 << 30)
        if align & align - 1 or align > 1 and (count or _PACKED.get(sort) != "delta"):
            what = "a power of two, of a single pointer, address or word"
            raise StreamError(f"the align of parameter `{name}` is {align}, expected {what}")
        since: _t.Optional[_Version] = None
        if isinstance(param.get("since"), str):
            numbers = str(param["since"]).split(".")
            if len(numbers) == 3 and all(number.isdecimal() and len(number) <= 10 for number in numbers):
                since = int(numbers[0]), int(numbers[1]), int(numbers[2])
        named = param.get("names")
        names = named if isinstance(named, str) else None
        unit = _text(param.get("unit", ""), "the unit")
        space = param.get("numbers")
        numbered = space if isinstance(space, str) else None
        sensitive = param.get("sensitive")
        strictness = 0 if sensitive is None else 1 if sensitive == "personal" else 2
        return _Param(
            name, sort, count, most, align, unit, names, since, numbered, strictness, _doc(param)
        )

    def _mark(self) -> None:
        """Finds the marks `names`, by code. Unknown marks are ignored."""
        self._marks = {event.code: self._marks_of(event) for event in self._events}
        self._separate_names = self._has_separate_names()

    def _has_separate_names(self) -> bool:
        """Returns whether pointers and addresses have separate names."""
        named = {mark.named for marks in self._marks.values() for mark in marks}
        return {"pointer", "addr"} <= named

    def _marks_of(self, event: _Form) -> list[_Mark]:
        marks: list[_Mark] = []
        places = {param.name: index for index, param in reversed([*enumerate(event.params)])}
        for by, param in enumerate(event.params):
            of = None if param.names is None else places.get(param.names)
            name = "text" if param.sort == "string" else _NAMED.get(param.sort)
            if of is None or of == by or name is None or param.count or event.params[of].count:
                continue
            named = _NAMED.get(event.params[of].sort)
            is_number = named in ("label", "number")
            if named is None or is_number and name != "text" or any(mark.of == of for mark in marks):
                continue
            numbers = ("", "")
            if "number" in (named, name):
                numbers = self.name, event.params[of if named == "number" else by].number_space
            marks.append(_Mark(of, by, named, name, numbers))
        return marks

    def _take_names(self, later: Registry) -> None:
        """Takes the marks of the same or a later version of the registry, unless it has marks."""
        is_later = self.name == later.name and self.version[0] == later.version[0]
        if not is_later or self.version > later.version or any(self._marks.values()):
            return
        for event in self._events:
            other = later._by_code.get(event.code)
            if other is None or other.name != event.name:
                continue
            same = [
                (mine.name, mine.sort_text) == (theirs.name, theirs.sort_text)
                for mine, theirs in zip(event.params, other.params)
            ]
            for mark in later._marks[event.code]:
                if max(mark.of, mark.by) < len(same) and same[mark.of] and same[mark.by]:
                    self._marks[event.code].append(mark)
        self._separate_names = self._has_separate_names()

    def _gives_names(self, bit: int) -> bool:
        return any(self._marks[event.code] for event in self._events if event.kind.bit == bit)

    def _repr(self, sort: str) -> str:
        """Returns the encoding of a parameter type."""
        return _PACKED[self._types[sort].repr if sort in self._types else sort]

    @_functools.cached_property
    def fingerprint(self) -> int:
        """Returns the number by which streams refer to the registry: FNV-1a of its wire form."""
        lines = [f"registry {self.name} {_dotted(self.version)}"]
        for kind in self._kinds:
            lines.append(f"kind {kind.bit} {kind.name} {'inherit' if kind.inherits else 'precise'}")
        for ty in self._types.values():
            lines.append(f"type {ty.name} {ty.repr} {'flags' if ty.flags else 'enum'}")
            lines.extend(f"value {number} {name}" for number, name in ty.values.items())
        for event in self._events:
            lines.append(f"event {event.code} {event.name} {event.kind.bit}")
            for param in event.params:
                most = "" if param.max is None else f" {param.max}"
                align = "" if param.align == 1 else f" align {param.align}"
                lines.append(f"param {param.name} {param.sort_text}{most}{align}")
        number = 0xCBF2_9CE4_8422_2325
        for byte in "".join(f"{line}\n" for line in lines).encode():
            number = (number ^ byte) * 0x0000_0100_0000_01B3 & _MAX
        return number

    def _kind(self, bit: int) -> _t.Optional[_Kind]:
        return next((kind for kind in self._kinds if kind.bit == bit), None)


#: Parameters of these names get an underscore at their end.
_TAKEN = frozenset(("ticks", "lane", "thread", "session", "time_ns"))


def _attribute(name: str) -> str:
    return name + "_" if name in _TAKEN or _keyword.iskeyword(name) else name
