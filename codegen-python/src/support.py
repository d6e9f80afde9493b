# What every generated module has: a reader of telemetry streams. Written by hand, and copied as it
# is; what follows it is made from the relation. docs/format.md of the project describes the bytes,
# docs/python.md the use. Python 3.9 or later, and nothing but its standard library.
#
# Names of the relation are CamelCase (kinds, types, events) and snake_case without a leading
# underscore (parameters), so what is defined here begins with an underscore, is in lower case, or is
# reserved; and modules are imported under names that no event can have.
from __future__ import annotations

import argparse as _argparse
import bisect as _bisect
import builtins as _b
import collections as _collections
import dataclasses as _dataclasses
import enum as _enum
import functools as _functools
import heapq as _heapq
import importlib as _importlib
import io as _io
import itertools as _itertools
import keyword as _keyword
import math as _math
import operator as _operator
import os as _os
import signal as _signal
import stat as _stat
import struct as _struct
import sys as _sys
import tempfile as _tempfile
import typing as _t
import zlib as _zlib

_MAX = 0xFFFF_FFFF_FFFF_FFFF
_MAX_NS = 0x7FFF_FFFF_FFFF_FFFF


class StreamError(_b.Exception):
    """A text that should be a relation, or facts, and is not."""


class VersionError(_b.Exception):
    """A stream whose relation is of a version that this module does not read."""


# --- What the relation says: the descriptions that the MPS's `mpseventpy` documents.


class HeaderDesc(_t.NamedTuple):
    """The header of an event in a log of the MPS: its code, its size, and when it was."""

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

    #: The MPS's letter where it has one (`P A W U S D B`), else the sort's name: `u16`, `[u32; 4]`, `Why`.
    sort: str
    name: str
    doc: str


class EventDesc(_t.NamedTuple):
    """An event: what it is called, what it says, and how the MPS lays it out."""

    name: str
    code: int
    #: False once retired.
    used: bool
    kind: KindDesc
    params: list[EventParam]
    #: Most bytes behind the header, as the MPS lays them out.
    maxsize: int
    #: For `struct.unpack` of the bytes behind the header. Strings, byte strings and arrays without a
    #: fixed number of elements have no format: it ends before the first of them.
    format: str


#: Bytes of the header of an event of the MPS.
HEADER_SIZE = 16
#: For `struct.unpack` of that header, into a `HeaderDesc`.
HEADER_FORMAT = "<HH4xQ"


# --- Relations in their canonical form, and other facts in TOML.

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}


class _Toml:
    """Reads the TOML that streams have in them: keys that are not dotted, tables, and values that
    are strings, numbers, bools, arrays and inline tables."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        #: Of the last header.
        self.table: tuple[str, ...] = ()

    def fail(self, expected: str) -> StreamError:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - (self.text.rfind("\n", 0, self.at) + 1) + 1
        found = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
        return StreamError(f"line {line}, column {column}: found {found}, expected {expected}")

    def skip(self, what: str = " \t") -> None:
        """Passes over blanks and, where lines may end, comments."""
        text, at, end = self.text, self.at, len(self.text)
        while at < end:
            if text[at] in what:
                at += 1
            elif text[at] == "#":
                at = (text.find("\n", at) + 1 or end + 1) - 1
            else:
                break
        self.at = at

    def take(self, token: str) -> bool:
        found = self.text.startswith(token, self.at)
        if found:
            self.at += len(token)
        return found

    def need(self, token: str) -> None:
        if not self.take(token):
            raise self.fail(f"`{token}`")

    def lines(self) -> _t.Iterator[tuple[tuple[str, ...], str, object]]:
        """The values: the table that each is in, its key, and it. A table's header has no key."""
        while True:
            self.skip(" \t\r\n")
            if self.at == len(self.text):
                return
            yield self.line()

    def line(self) -> tuple[tuple[str, ...], str, object]:
        key, value = "", None
        if self.take("["):
            double = self.take("[")
            names = [self.key()]
            while self.take("."):
                names.append(self.key())
            self.need("]]" if double else "]")
            self.table = tuple(names)
        else:
            key = self.key()
            self.need("=")
            self.skip()
            value = self.value()
        self.skip()
        if self.at < len(self.text) and not (self.take("\n") or self.take("\r\n")):
            raise self.fail("the end of the line")
        return self.table, key, value

    def key(self) -> str:
        self.skip()
        if self.text[self.at : self.at + 1] in ('"', "'"):
            key = self.string()
        else:
            start = self.at
            while self.text[self.at : self.at + 1] in _BARE and self.at < len(self.text):
                self.at += 1
            key = self.text[start : self.at]
        if not key and self.text[self.at - 1 : self.at] not in ('"', "'"):
            raise self.fail("a key")
        self.skip()
        return key

    def value(self, depth: int = 0) -> object:
        first = self.text[self.at : self.at + 1]
        if first in ('"', "'") and first:
            return self.string()
        if depth < 8 and self.take("["):
            items: list[object] = []
            self.skip(" \t\r\n")
            while not self.take("]"):
                items.append(self.value(depth + 1))
                self.skip(" \t\r\n")
                if not self.take(","):
                    self.need("]")
                    break
                self.skip(" \t\r\n")
            return items
        if depth < 8 and self.take("{"):
            table: dict[str, object] = {}
            self.skip(" \t\r\n")
            while not self.take("}"):
                key = self.key()
                self.need("=")
                self.skip()
                table[key] = self.value(depth + 1)
                self.skip(" \t\r\n")
                if not self.take(","):
                    self.need("}")
                    break
                self.skip(" \t\r\n")
            return table
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in ",]}# \t\r\n":
            self.at += 1
        word = self.text[start : self.at]
        if word in ("true", "false"):
            return word == "true"
        for number in (lambda word: int(word, 0), lambda word: float(word)):
            try:
                if word[:1] in "+-0123456789in" and len(word) <= 64:
                    return _t.cast(object, number(word))
            except _b.ValueError:
                pass
        self.at = start
        raise self.fail("a value")

    def string(self) -> str:
        quote = self.text[self.at]
        if self.take(quote * 3):
            if not self.take("\n"):
                self.take("\r\n")
            return self.quoted(quote * 3)
        self.at += 1
        return self.quoted(quote)

    def quoted(self, end: str) -> str:
        parts: list[str] = []
        start = self.at
        while not self.text.startswith(end, self.at):
            if self.at >= len(self.text) or (len(end) == 1 and self.text[self.at] == "\n"):
                raise self.fail(f"`{end}`")
            self.at += 1
            if self.text[self.at - 1] == "\\" and end[0] == '"':
                parts.append(self.text[start : self.at - 1])
                parts.append(self.escape())
                start = self.at
        parts.append(self.text[start : self.at])
        self.at += len(end)
        # Quotes right before the end belong to the string.
        while len(end) == 3 and self.take(end[0]):
            parts.append(end[0])
        return "".join(parts)

    def escape(self) -> str:
        letter = self.text[self.at : self.at + 1]
        digits = {"x": 2, "u": 4, "U": 8}.get(letter)
        if digits is None:
            if letter not in _ESCAPES:
                raise self.fail("an escape")
            self.at += 1
            return _ESCAPES[letter]
        code = self.text[self.at + 1 : self.at + 1 + digits]
        try:
            char = chr(int(code, 16))
        except (_b.ValueError, _b.OverflowError):
            raise self.fail(f"{digits} hexadecimal digits") from None
        self.at += 1 + digits
        return char


def _facts(payload: bytes) -> tuple[dict[str, object], _t.Optional[str]]:
    """What a session or thread block says, and what is wrong with its text."""
    facts: dict[str, object] = {}
    wrong: _t.Optional[str] = None
    text = payload.decode("utf-8", "replace")
    toml = _Toml(text)
    while True:
        try:
            for table, key, value in toml.lines():
                if key and not table:
                    facts.setdefault(key, value)
            return facts, wrong
        except StreamError as error:
            # What cannot be read is left out.
            wrong = str(error)
            toml.at = text.find("\n", toml.at) + 1 or len(text)


_Version = tuple[int, int, int]

# Sorts: how one value is packed, and its fewest bytes.
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


@_dataclasses.dataclass(frozen=True)
class _Param:
    name: str
    #: The long name, or that of a type.
    sort: str
    #: Number of elements of an array; -1 of one whose number varies, 0 of no array.
    count: int
    max: _t.Optional[int]
    #: What its values are multiples of, as a rule: a power of two.
    align: int
    unit: str
    #: The parameter that its value is the name of.
    names: _t.Optional[str]
    since: _t.Optional[_Version]

    @property
    def sort_text(self) -> str:
        if self.count == 0:
            return self.sort
        return f"[{self.sort}]" if self.count < 0 else f"[{self.sort}; {self.count}]"

    @property
    def rotation(self) -> int:
        """By how many bits a value was rotated to the right before its distance was taken."""
        return self.align.bit_length() - 1


@_dataclasses.dataclass(frozen=True)
class _Form:
    """An event as a relation describes it."""

    name: str
    code: int
    kind: _Kind
    params: tuple[_Param, ...]


class _Mark(_t.NamedTuple):
    """What a mark `names` of a parameter says: which value of an event is the name of which."""

    of: int
    by: int
    #: `label`, `number`, `pointer` or `addr`.
    named: str
    #: `text`, or one of those.
    name: str
    #: Whose numbers stand for strings, where one of the two is a number: registry and parameter; none of labels.
    numbers: tuple[str, str]


#: What of a sort can have a name, and give one.
_NAMED = {"label": "label", "pointer": "pointer", "addr": "addr"}
_NAMED.update(dict.fromkeys(("word", "u8", "u16", "u32", "u64"), "number"))


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise StreamError(f"{what} is {value!r}, expected a string")
    return value


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
    """A relation, as a stream or a module carries it: its canonical form.

    Keys that this module does not know are passed over; anything else that is not the canonical form
    of a relation raises `StreamError`.
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
        self.name = _text(registry.get("name"), "the registry's name")
        self.version = _version(registry.get("version"))
        of_kinds = [
            _Kind(
                name,
                _number(kind.get("bit"), f"the bit of kind `{name}`", 0, 63),
                kind.get("clock") == "inherit",
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
            raise StreamError("a code or a bit stands twice")

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
        kind = kinds.get(_text(event.get("kind"), f"the kind of event `{name}`"))
        if kind is None:
            raise StreamError(f"event `{name}` is of a kind that the relation does not have")
        params = event.get("params", [])
        if not isinstance(params, list):
            raise StreamError(f"the parameters of event `{name}` are no array")
        code = _number(event.get("code"), f"the code of event `{name}`", 0, 0xFFFF)
        return _Form(name, code, kind, tuple(self._param(_table(param, "a parameter")) for param in params))

    def _param(self, param: dict[str, object]) -> _Param:
        name = _text(param.get("name"), "the name of a parameter")
        sort = _text(param.get("sort"), f"the sort of parameter `{name}`")
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
            raise StreamError(f"parameter `{name}` is of an unknown sort `{sort}`")
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
        return _Param(name, sort, count, most, align, unit, names, since)

    def _mark(self) -> None:
        """Finds the marks `names`, by code. One of another time does no harm."""
        self._marks = {event.code: self._marks_of(event) for event in self._events}
        self._apart = self._are_apart()

    def _are_apart(self) -> bool:
        """True if pointers and addresses have names apart."""
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
                numbers = self.name, event.params[of if named == "number" else by].name
            marks.append(_Mark(of, by, named, name, numbers))
        return marks

    def _take_names(self, later: Registry) -> None:
        """Takes the marks of a later version of the relation, or of the same, unless it has some."""
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
        self._apart = self._are_apart()

    def _gives_names(self, bit: int) -> bool:
        return any(self._marks[event.code] for event in self._events if event.kind.bit == bit)

    def _repr(self, sort: str) -> str:
        """The packing of a sort."""
        return _PACKED[self._types[sort].repr if sort in self._types else sort]

    @_functools.cached_property
    def fingerprint(self) -> int:
        """What a stream names the relation by: FNV-1a of what decides how bytes are read."""
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


# --- Which events of a stream this module knows: docs/versions.md has the rules.


class OtherForm(_t.NamedTuple):
    """An event that a stream has in another form than this module. Such events are passed over."""

    event: str
    code: int
    #: The version of the stream's relation.
    stream: tuple[int, int, int]
    #: The first difference.
    difference: str

    def __str__(self) -> str:
        return f"`{self.event}` ({self.code:#06x}): {self.difference}"


def _compare(own: Registry, other: Registry, strict: bool) -> tuple[dict[int, _Form], list[OtherForm]]:
    """The events of another version of the relation that this module reads, by code, and those that
    have another form."""
    if other.name != own.name:
        return {}, []
    same: dict[int, _Form] = {}
    differing: list[OtherForm] = []
    if other.version[0] == own.version[0]:
        for theirs in other._events:
            mine = own._by_code.get(theirs.code)
            if mine is None:
                mine = next((event for event in own._events if event.name == theirs.name), None)
                if mine is None:
                    continue
                difference: _t.Optional[str] = (
                    f"its code is {theirs.code:#06x} in the stream, {mine.code:#06x} in the module"
                )
            else:
                difference = _difference(own, mine, other, theirs)
            if difference is None:
                same[theirs.code] = mine
            else:
                differing.append(OtherForm(mine.name, mine.code, other.version, difference))
        if not (strict and differing):
            return same, differing
    text = f"registry `{own.name}` has version {_dotted(other.version)} in the stream, "
    text += f"{_dotted(own.version)} in this module: "
    if not differing:
        text += "another major, so that no event means the same"
    else:
        text += "some events have another form"
    text += "".join(f"\n  {form}" for form in differing)
    text += "\nhelp: read it with the module that `telemetry py` makes of the stream itself"
    if differing:
        text += "; without `strict` those events are passed over, and the others decode"
    raise VersionError(text)


def _difference(own: Registry, mine: _Form, registry: Registry, theirs: _Form) -> _t.Optional[str]:
    """The first thing that makes the form or meaning of an event another."""
    if mine.name != theirs.name:
        return f"its code is that of `{theirs.name}` in the stream"
    for index, (my, their) in enumerate(zip(mine.params, theirs.params)):
        if my.name != their.name:
            return f"parameter {index + 1} is `{their.name}` in the stream, `{my.name}` in the module"
        if my.sort_text != their.sort_text:
            return f"parameter `{my.name}` is {their.sort_text} in the stream, {my.sort_text} in the module"
        # A unit that is given later says what was so before.
        was_given = (not their.unit and registry.version < own.version) or (
            not my.unit and registry.version > own.version
        )
        if my.unit != their.unit and not was_given:
            units = [f"in {unit}" if unit else "without a unit" for unit in (their.unit, my.unit)]
            return f"parameter `{my.name}` is {units[0]} in the stream, {units[1]} in the module"
        if my.sort in own._types:
            difference = _type_difference(own._types[my.sort], registry._types[their.sort])
            if difference is not None:
                return difference
    for missing in mine.params[len(theirs.params) :]:
        if missing.since is None:
            return f"parameter `{missing.name}` is not in the stream"
        if missing.since <= registry.version:
            since = _dotted(missing.since)
            return f"parameter `{missing.name}` is not in the stream, though it is since {since}"
    # What a newer stream has more was appended; what an older one has more was taken out.
    if registry.version < own.version and len(theirs.params) > len(mine.params):
        return f"parameter `{theirs.params[len(mine.params)].name}` is in the stream, and not in the module"
    return None


def _type_difference(mine: _Type, theirs: _Type) -> _t.Optional[str]:
    def said(what: str, their: object, my: object) -> str:
        return f"{what} is {their} in the stream, {my} in the module"

    if mine.flags != theirs.flags:
        forms = ["flags" if ty.flags else "an enum" for ty in (theirs, mine)]
        return said(f"type `{mine.name}`", forms[0], forms[1])
    if mine.repr != theirs.repr:
        return said(f"the repr of type `{mine.name}`", theirs.repr, mine.repr)
    numbers = {name: number for number, name in theirs.values.items()}
    for number, name in mine.values.items():
        if theirs.values.get(number, name) != name:
            return said(f"{number} of type `{mine.name}`", f"`{theirs.values[number]}`", f"`{name}`")
        if numbers.get(name, number) != number:
            return said(f"`{name}` of type `{mine.name}`", numbers[name], number)
    return None


# --- Packed events. A function is made for each kind of each relation that a stream has, so that an
# event costs no call. Nothing of the stream's text gets into its source: only numbers, and the names
# of this module's own parameters.

# Bytes of a number by its first byte, and the bits of them that are not its own.
_LEN = bytes([9] + [(first & -first).bit_length() for first in range(1, 256)])
_SHIFT = bytes([8]) + _LEN[1:]
# What numbers of one byte are, and of two by both bytes; the same of signed ones.
_ONE_SIGNED = tuple((first >> 2) ^ -(first >> 1 & 1) for first in range(256))
_TWO = tuple(
    tuple((first | second << 8) >> 2 for second in range(256)) if first & 3 == 2 else () for first in range(256)
)
_TWO_SIGNED = tuple(tuple(v >> 1 ^ -(v & 1) for v in row) for row in _TWO)
# Lists are indexed faster than bytes, where the interpreter specializes that.
_indexed: _t.Callable[[bytes], _t.Sequence[int]] = list if _sys.version_info >= (3, 11) else bytes
# Behind a payload, so that a number can be read before it is known to be whole.
_PADDING = bytes(9)
# How arrays and rare values are read, and the fewest bytes of each.
_MIN_LEN = _collections.defaultdict(lambda: 1, f32=4, f64=8)
_RANGE = {
    "u16": (0, 0xFFFF),
    "u32": (0, 0xFFFF_FFFF),
    "i16": (-0x8000, 0x7FFF),
    "i32": (-0x8000_0000, 0x7FFF_FFFF),
}


class _Malformed(_b.Exception):
    """Why an event could not be read."""


_TRUNCATED = "the bytes end inside a value"


def _unsigned(r: bytes, i: int, e: int) -> tuple[int, int]:
    b = r[i]
    end = i + _LEN[b]
    if end > e:
        raise _Malformed(_TRUNCATED)
    return int.from_bytes(r[i:end], "little") >> _SHIFT[b], end


def _wrong_value(v: int) -> _t.NoReturn:
    raise _Malformed(f"a value of {v} is not one of its sort")


def _wrong_length(n: int) -> _t.NoReturn:
    raise _Malformed(f"a length of {n} reaches beyond the block")


def _elements(
    r: bytes, i: int, e: int, packing: str, count: int, base: int
) -> tuple[list[_t.Any], int, int]:
    """The elements of an array, the place behind them, and what the slot of a delta then holds."""
    if i > e:
        raise _Malformed(_TRUNCATED)
    if count < 0:
        count, i = _unsigned(r, i, e)
        if count * _MIN_LEN[packing] > e - i:
            _wrong_length(count)
    if packing in ("u8", "i8", "f32", "f64"):
        layout = f"<{count}" + {"u8": "B", "i8": "b", "f32": "f", "f64": "d"}[packing]
        end = i + _struct.calcsize(layout)
        if end > e:
            raise _Malformed(_TRUNCATED)
        return list(_struct.unpack_from(layout, r, i)), end, base
    out: list[_t.Any] = []
    if packing == "bool":
        for v in r[i : min(i + count, e)]:
            if v > 1:
                _wrong_value(v)
            out.append(v == 1)
        if len(out) < count:
            raise _Malformed(_TRUNCATED)
        return out, i + count, base
    least, most = _RANGE.get(packing, (-_MAX, _MAX))
    is_signed = packing[0] == "i"
    is_delta = packing == "delta"
    last = base
    for _ in range(count):
        v, i = _unsigned(r, i, e)
        if is_delta:
            last = last + (v >> 1 ^ -(v & 1)) & _MAX
            out.append(last)
            continue
        n = v >> 1 ^ -(v & 1) if is_signed else v
        if not least <= n <= most:
            _wrong_value(v)
        out.append(n)
    return out, i, out[0] if is_delta and out else base


_Decode = _t.Callable[
    [
        "_t.Sequence[int]",
        bytes,
        int,
        int,
        int,
        "list[int]",
        "_t.Optional[Lane]",
        "_t.Callable[[int], object]",
        "list[_t.Any]",
    ],
    "tuple[int, int, int, int, _t.Optional[str]]",
]


class _Source:
    """The text of a function that reads events."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.slots = 0

    def add(self, depth: int, *lines: str) -> None:
        self.lines.extend("    " * depth + line for line in lines)

    def number(self, depth: int, var: str) -> None:
        """Reads an unsigned number: of one byte, of two, and so on."""
        self.add(depth, "b = p[i]", "if b & 1:", f"    {var} = b >> 1", "    i += 1")
        self.add(depth, "elif b & 2:", f"    {var} = TWO[b][p[i + 1]]", "    i += 2")
        self.long_number(depth, var)

    def long_number(self, depth: int, var: str, *then: str) -> None:
        lines = [f"    {line}" for line in then]
        self.add(depth, "elif b & 4:", f"    {var} = (b | p[i + 1] << 8 | p[i + 2] << 16) >> 3", "    i += 3")
        self.add(depth, *lines, "elif b & 8:", f"    {var} = u32(r, i)[0] >> 4", "    i += 4")
        self.add(depth, *lines, "else:", "    q = i + LEN[b]")
        self.add(depth, f"    {var} = from_bytes(r[i:q], 'little') >> SHIFT[b]", "    i = q", *lines)

    def param(self, depth: int, packing: str, count: int, rotation: int, var: str) -> str:
        """Reads a parameter, and gives the expression that then is its value."""
        slot = ""
        if packing == "delta":
            slot = f"s{self.slots}"
            self.slots += 1
        if count:
            base = slot or "0"
            self.add(depth, f"{var}, i, {slot or 'q'} = elements(r, i, e, {packing!r}, {count}, {base})")
            return var
        if slot:
            self.add(depth, "b = p[i]", "if b & 1:", f"    {slot} = {slot} + ONE_SIGNED[b] & {_MAX}", "    i += 1")
            self.add(depth, "elif b & 2:", f"    {slot} = {slot} + TWO_SIGNED[b][p[i + 1]] & {_MAX}", "    i += 2")
            self.long_number(depth, "v", f"{slot} = {slot} + (v >> 1 ^ -(v & 1)) & {_MAX}")
            if rotation:
                # Of a multiple the bits that go around are zeros.
                around = 64 - rotation
                rotated = f"{slot} << {rotation} & {_MAX} | {slot} >> {around}"
                return f"({slot} << {rotation} if {slot} < {1 << around} else {rotated})"
            return slot
        if packing in ("u8", "i8", "bool"):
            self.add(depth, f"{var} = p[i]", "i += 1")
            if packing == "bool":
                self.add(depth, f"if {var} > 1:", f"    wrong_value({var})")
            return {"u8": var, "i8": f"({var} ^ 128) - 128", "bool": f"{var} == 1"}[packing]
        if packing in ("f32", "f64"):
            self.add(depth, f"({var},) = {packing}(r, i)", f"i += {_MIN_LEN[packing]}")
            return var
        self.number(depth, var)
        if packing in ("string", "bytes"):
            self.add(depth, f"q = i + {var}", "if q > e:", f"    wrong_length({var})")
            decode = ".decode('utf-8', 'surrogateescape')" if packing == "string" else ""
            self.add(depth, f"{var} = r[i:q]{decode}", "i = q")
            return var
        if packing in _RANGE:
            # Of zigzag numbers the largest is that of the least.
            most = _RANGE[packing][1] if packing[0] == "u" else 2 * _RANGE[packing][1] + 1
            self.add(depth, f"if {var} > {most}:", f"    wrong_value({var})")
        return f"{var} >> 1 ^ -({var} & 1)" if packing[0] == "i" else var

    def choose(self, depth: int, codes: list[int], leaf: _t.Callable[[int, int], None]) -> None:
        """A binary tree over the codes."""
        if len(codes) > 3:
            half = len(codes) // 2
            self.add(depth, f"if c < {codes[half]}:")
            self.choose(depth + 1, codes[:half], leaf)
            self.add(depth, "else:")
            self.choose(depth + 1, codes[half:], leaf)
            return
        word = "if"
        for code in codes:
            self.add(depth, f"{word} c == {code}:")
            leaf(depth + 1, code)
            word = "elif"
        if codes:
            self.add(depth, "else:")
            self.add(depth + 1, "raise Malformed(f'unknown event code {c:#06x}')")
        else:
            self.add(depth, "raise Malformed(f'unknown event code {c:#06x}')")


def _decoder(
    registry: Registry, bit: int, same: dict[int, _Form], module: _t.Optional[_Module]
) -> tuple[_Decode, int]:
    """A function that reads events of a kind, and the number of slots of its lanes.

    It takes a payload to index and as padded bytes, the place in it of the next event, how many are wanted, the time and the slots
    before, the lane, what makes a label of a number, and a list for the events. It gives the place and
    the time behind the events, how many there were, how many of them the module does not have, and
    why it stopped before. Without a module the events are tuples of code, time and parameters.
    """
    source = _Source()
    names: dict[str, object] = dict(
        new=object.__new__,
        from_bytes=int.from_bytes,
        LEN=_LEN,
        SHIFT=_SHIFT,
        ONE_SIGNED=_ONE_SIGNED,
        TWO=_TWO,
        TWO_SIGNED=_TWO_SIGNED,
        Malformed=_Malformed,
        TRUNCATED=_TRUNCATED,
        IndexError=_b.IndexError,
        StructError=_struct.error,
        wrong_value=_wrong_value,
        wrong_length=_wrong_length,
        elements=_elements,
        u32=_struct.Struct("<I").unpack_from,
        f32=_struct.Struct("<f").unpack_from,
        f64=_struct.Struct("<d").unpack_from,
    )
    events = {event.code: event for event in registry._events if event.kind.bit == bit}

    def leaf(depth: int, code: int) -> None:
        values = []
        for index, param in enumerate(events[code].params):
            packing = registry._repr(param.sort)
            values.append(source.param(depth, packing, param.count, param.rotation, f"v{index}"))
        source.add(depth, "if i > e:", "    raise Malformed(TRUNCATED)", f"t = t + d & {_MAX}")
        if module is None:
            source.add(depth, f"add(({', '.join(['c', 't', *values])}))")
            return
        mine = same.get(code)
        if mine is None:
            source.add(depth, "others += 1")
            return
        source.add(depth, f"x = new(E{code})", "x.ticks = t", "x.lane = lane")
        names[f"E{code}"] = module.classes[code]
        for index, param in enumerate(mine.params):
            value = values[index] if index < len(values) else "None"
            if index < len(values) and (param.sort == "label" or param.sort in module.types):
                if param.sort != "label":
                    names[f"T{param.sort}"] = module.types[param.sort]
                call = "label" if param.sort == "label" else f"T{param.sort}"
                value = f"[{call}(v) for v in {value}]" if param.count else f"{call}({value})"
            source.add(depth, f"x.{_attribute(param.name)} = {value}")
        source.add(depth, "add(x)")

    source.add(3, "j = i")
    source.number(3, "c")
    source.number(3, "d")
    source.choose(3, sorted(events), leaf)
    body = "\n".join(source.lines)
    slots = ", ".join(f"s{index}" for index in range(source.slots))
    slots = f"[{slots}]" if slots else "[]"
    text = (
        "def decode(p, r, i, n, t, s, lane, label, out):\n"
        f"    e = len(r) - {len(_PADDING)}\n"
        "    add = out.append\n"
        "    others = k = 0\n"
        "    j = i\n"
        f"    {slots} = s\n"
        "    try:\n"
        "        for k in range(n):\n"
        f"{body}\n"
        "        k, j, why = n, i, None\n"
        "    except (IndexError, StructError):\n"
        "        why = TRUNCATED\n"
        "    except Malformed as error:\n"
        "        why = TRUNCATED if i > e else str(error)\n"
        f"    s[:] = {slots}\n"
        "    return j, t, k, others, why\n"
    )
    exec(_compiled(text, f"<decoder of kind {bit}>"), names)
    return _t.cast(_Decode, names["decode"]), source.slots


@_functools.lru_cache(maxsize=64)
def _compiled(text: str, name: str) -> _t.Any:
    """The code of a text: readers of streams of the same relation have the same."""
    return compile(text, name, "exec")


# --- Whole blocks.

_MAGIC = b"\x89TEL\r\n\x1a\n"
_HEADER_LEN = 144
_MAX_PAYLOAD = 16 << 20
_SESSION, _REGISTRY, _THREAD, _EVENTS, _SYNC = 1, 2, 3, 4, 5
_LAST, _END = 1, 2
_MAX_LISTED = 1 << 16

_POLYNOMIAL = 0x82F6_3B78
# The first power of each is the sum of the others modulo the polynomial of CRC-32C, and so it is if all
# are doubled, again and again. A long number can be folded there into few terms.
_FOLDS = (5685, 1362, 426, 0), (500, 215, 201, 86, 75, 0)


def _crc_table() -> _t.Iterator[int]:
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        yield byte


_CRC_TABLE = tuple(_crc_table())


def _crc32c(data: bytes) -> int:
    """The CRC-32C of some bytes.

    The bytes are a polynomial over two numbers, as is the integer that they make: its lowest bit is
    the highest power. A long one is halved again and again by shifts of that integer, since the power
    at the fold stands for some smaller ones: a tenth of the time that a table takes.
    """
    crc = 0xFFFF_FFFF
    length = len(data) * 8
    if length > 1000:
        value = int.from_bytes(data, "little") ^ crc
        crc = 0
        for powers in _FOLDS:
            scale = (1 << ((length - 1) // powers[0]).bit_length()) >> 1
            while scale:
                fold, second, *others = [power * scale for power in powers]
                while length > fold:
                    rest = value >> length - fold
                    high = value ^ rest << length - fold
                    drop = length - max(fold, length - fold + second)
                    value = rest << length - fold - drop ^ high << fold - second - drop
                    for power in others:
                        value ^= high << fold - power - drop
                    length -= drop
                scale >>= 1
        # Zeros before the first bit change nothing.
        data = (value << -length % 8).to_bytes(-(-length // 8), "little")
    table = _CRC_TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFF_FFFF


class _FastCrc:
    """`_crc32c` of long data with NumPy: a tenth of the time, or less.

    It is folded as there, but by words, and at last by bytes, of which many are added at once. A table
    has what each byte of what is left then adds.
    """

    def __init__(self, np: _t.Any) -> None:
        self.np = np
        most = _FOLDS[-1][0]
        of_byte = np.array(_CRC_TABLE, "u4")
        rows = [of_byte]
        while len(rows) < most:
            rows.append(rows[-1] >> np.uint32(8) ^ of_byte.take(rows[-1] & np.uint32(0xFF)))
        self.table = np.concatenate(rows[::-1])
        self.row = np.arange(most) * 256

    def of_all(self, datas: _t.Sequence[bytes]) -> list[int]:
        """The checksums of several, those of about the same length at once."""
        found = [0] * len(datas)
        alike: dict[int, list[int]] = {}
        for index, data in enumerate(datas):
            if len(data) < 4096:
                found[index] = _crc32c(data)
            else:
                alike.setdefault(len(data).bit_length(), []).append(index)
        for indices in alike.values():
            for index, crc in zip(indices, self.of_alike([datas[index] for index in indices])):
                found[index] = crc
        return found

    def of_alike(self, datas: _t.Sequence[bytes]) -> list[int]:
        np = self.np
        # Zeros before the first byte change nothing.
        width = max(map(len, datas)) + 7 & ~7
        bytes_ = np.zeros((len(datas), width), "u1")
        for row, data in zip(bytes_, datas):
            row[width - len(data) :] = np.frombuffer(data, "u1")
            row[width - len(data) :][:4] ^= np.uint8(0xFF)
        start = 0
        for fold, *powers in _FOLDS:
            for unit in (8, 4, 2, 1):
                aligned = start - start % unit
                bytes_[:, aligned:start] = 0
                shape = len(datas), (width - aligned) // unit
                rest = np.ndarray(shape, f"<u{unit}", bytes_, aligned, (width, unit))
                while rest.shape[1] > fold:
                    count = min(rest.shape[1] - fold, fold - powers[0])
                    high, rest = rest[:, :count], rest[:, count:]
                    for power in powers:
                        into = rest[:, fold - power - count : fold - power]
                        np.bitwise_xor(into, high, out=into)
                start = width - rest.shape[1] * unit
        used = self.row[len(self.row) - rest.shape[1] :] + rest
        return (np.bitwise_xor.reduce(self.table.take(used), 1) ^ np.uint32(0xFFFF_FFFF)).tolist()  # type: ignore[no-any-return]


@_functools.lru_cache(maxsize=1)
def _fast_crc(np: _t.Any) -> _FastCrc:
    return _FastCrc(np)


class _Loss(_t.NamedTuple):
    pool: int = 0
    nested: int = 0
    sink: int = 0
    cut: int = 0

    def events(self) -> int:
        return self.pool + self.nested + self.sink & _MAX


class _Header(_t.NamedTuple):
    block_type: int
    header_len: int
    kind: int
    flags: int
    codec: int
    payload_len: int
    events: int
    session: int
    registry: int
    thread: int
    seq: int
    offset: int
    unpacked_len: int
    base_ticks: int
    base_wall: int
    end_ticks: int
    before: int
    lost: _Loss
    withheld: int
    payload_crc: int

    def block_len(self) -> int:
        return self.header_len + self.payload_len

    def end(self) -> int:
        """Number of the lane's event behind the part."""
        return min(self.before + self.events, _MAX)


_HEADER = _struct.Struct("<9xBHBBBxIIQQIIIIQQQQQQQQQ8xII")


# A header is looked at when the block before it ends, and again as the next one's.
@_functools.lru_cache(maxsize=2)
def _header(data: bytes) -> _t.Union[_Header, str]:
    """The header at the start of some bytes, or what is wrong with it."""
    if len(data) < _HEADER_LEN:
        if data.startswith(_MAGIC[: len(data)]):
            return "the block header is cut short, expected 144 bytes"
        return "no block begins here, expected the magic bytes 89 54 45 4c 0d 0a 1a 0a"
    if not data.startswith(_MAGIC):
        return "no block begins here, expected the magic bytes 89 54 45 4c 0d 0a 1a 0a"
    if data[8] != 1:
        return f"format version {data[8]}, expected 1; a newer telemetry may read it"
    fields = _HEADER.unpack_from(data)
    found, expected = fields[-1], _crc32c(data[:140])
    if found != expected:
        return f"header checksum {found:08x}, expected {expected:08x}"
    header = _Header._make((*fields[:17], _Loss(*fields[17:21]), *fields[21:23]))
    if header.header_len < _HEADER_LEN:
        return f"a block header of {header.header_len} bytes, expected 144 or more"
    if header.payload_len > _MAX_PAYLOAD:
        return f"a payload of {header.payload_len} bytes, expected at most {_MAX_PAYLOAD}"
    if header.block_type == _EVENTS and header.before + header.events >= 1 << 64:
        return f"{header.events} events behind {header.before}, expected fewer than 2^64 in all"
    return header


def _wrong_payload(header: _Header, payload: bytes, crc: _t.Optional[int] = None) -> _t.Optional[str]:
    found = _crc32c(payload) if crc is None else crc
    if found == header.payload_crc:
        return None
    return f"payload checksum {found:08x}, expected {header.payload_crc:08x}"


# Deflate makes of one byte at most so many.
_MOST_TIMES = 1032


def _unpacked(header: _Header, payload: bytes) -> _t.Union[tuple[_Header, bytes], str]:
    """A payload without compression, and the header that it would then have; or what is wrong with it."""
    if header.codec == 0:
        return header, payload
    if header.codec != 1:
        return f"compressed with codec {header.codec}, which is not known"
    length = header.unpacked_len
    state = _zlib.decompressobj(-15)
    unpacked = b""
    if length <= min(len(payload) * _MOST_TIMES, _MAX_PAYLOAD):
        try:
            # One byte more than there may be, which shows that there are.
            unpacked = state.decompress(payload, length + 1)
        except _zlib.error:
            pass
    if not state.eof or state.unused_data or len(unpacked) != length:
        return f"its payload does not unpack to the {length} bytes that its header promises"
    return header._replace(codec=0, payload_len=length), unpacked


_Input = _t.Union[str, "_os.PathLike[str]", bytes]


class _Files:
    """Files one behind the other, each as long as it was when it was opened."""

    def __init__(self, inputs: _t.Sequence[_Input]) -> None:
        self.files: list[tuple[_t.BinaryIO, int, int]] = []
        self.length = 0
        try:
            for one in inputs:
                file, length = self.open(one)
                self.files.append((file, self.length, self.length + length))
                self.length += length
        except _b.OSError:
            self.close()
            raise
        self.at, self.ahead = 0, b""

    def open(self, one: _Input) -> tuple[_t.BinaryIO, int]:
        if isinstance(one, (bytes, bytearray, memoryview)):
            return _io.BytesIO(bytes(one)), len(one)
        pipe: _t.BinaryIO = _sys.stdin.buffer if _os.fspath(one) == "-" else open(one, "rb", buffering=0)
        if pipe is not _sys.stdin.buffer:
            status = _os.fstat(pipe.fileno())
            if _stat.S_ISREG(status.st_mode):
                return pipe, status.st_size
        # What can be read only once is copied to a file that nobody else sees.
        file = _tempfile.TemporaryFile()
        while True:
            piece = pipe.read(1 << 20)
            if not piece:
                return _t.cast(_t.BinaryIO, file), file.tell()
            file.write(piece)

    def close(self) -> None:
        for file, _, _ in self.files:
            file.close()

    def read(self, at: int, count: int) -> bytes:
        """Some bytes; fewer only at the end."""
        if self.at <= at and at + count <= self.at + len(self.ahead):
            return self.ahead[at - self.at : at - self.at + count]
        parts = []
        for file, start, end in self.files:
            if start <= at < end and count > 0:
                file.seek(at - start)
                most = min(count, end - at)
                while most > 0:
                    piece = file.read(most)
                    if not piece:
                        break
                    parts.append(piece)
                    most, count, at = most - len(piece), count - len(piece), at + len(piece)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def peek(self, at: int, count: int) -> bytes:
        """The same where more of what follows will be asked for."""
        if not self.at <= at <= at + count <= self.at + len(self.ahead):
            self.at, self.ahead = at, self.read(at, max(count, 4096))
        return self.ahead[at - self.at : at - self.at + count]


class _Damage(_t.NamedTuple):
    start: int
    end: int
    cause: str


class _Block(_t.NamedTuple):
    """An events block, or a part of one."""

    at: int
    header: _Header
    lane: _LaneState


class _Blocks:
    """Whole blocks one after the other, and what stands between them."""

    def __init__(self, files: _Files) -> None:
        self.files = files
        self.at = 0
        self.failed = 0

    def next(
        self, events: bool
    ) -> _t.Union[None, tuple[int, _Header, bytes], tuple[_Damage, _t.Optional[_Header]]]:
        """The next block or damage. Payloads of events are read if they are wanted."""
        at = self.at
        head = self.files.peek(at, _HEADER_LEN)
        if not head:
            return None
        header = _header(head)
        found: _t.Optional[_Header] = None
        resume = at + 1
        if isinstance(header, str):
            cause = header
        else:
            length = header.block_len()
            if not events and header.block_type == _EVENTS and at + length <= self.files.length:
                self.at = at + length
                return at, header, b""
            found = header
            block = self.files.read(at, length)
            if len(block) < length:
                cause = f"the input ends after {len(block)} bytes of a block of {length}"
            else:
                payload = block[header.header_len :]
                wrong = _wrong_payload(header, payload)
                if wrong is None:
                    self.at = at + length
                    return at, header, payload
                cause = wrong
                # Headers may stand in a damaged payload, each promising a payload of its own. So that the
                # work stays in proportion to the input, from some point on they are passed over.
                self.failed += length
                if self.failed > at * 8 + 8 * _MAX_PAYLOAD:
                    resume = at + length
        self.at = self.find(resume)
        return _Damage(at, self.at, cause), found

    def find(self, at: int) -> int:
        """The next valid header from a place on, or the end."""
        while True:
            chunk = self.files.read(at, 1 << 16)
            last = len(chunk) - _HEADER_LEN
            if last < 0:
                return max(at, self.files.length) if chunk else max(self.at, min(at, self.files.length))
            index = chunk.find(_MAGIC, 0, last + len(_MAGIC))
            if index < 0:
                at += last + 1
            elif isinstance(_header(chunk[index : index + _HEADER_LEN]), str):
                at += index + 1
            else:
                return at + index


# --- What became of the events of a lane.


class _Coverage:
    """A set of a lane's events by their numbers: runs without a gap, each with when it was."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.runs: list[tuple[int, int, int]] = []

    def before(self, number: int) -> int:
        """Index behind the last run that begins at a number or before."""
        low, high = 0, len(self.starts)
        while low < high:
            middle = (low + high) // 2
            if self.starts[middle] <= number:
                low = middle + 1
            else:
                high = middle
        return low

    def first_gap(self, start: int, end: int) -> _t.Optional[tuple[int, int]]:
        index = self.before(start)
        if index:
            start = max(start, self.runs[index - 1][0])
        index = self.before(start - 1)
        while index < len(self.starts) and self.starts[index] < start:
            index += 1
        if index < len(self.starts):
            end = min(end, self.starts[index])
        return (start, end) if start < end else None

    def add(self, start: int, end: int, base: int, last: int) -> None:
        """Adds a stretch that is not in the set."""
        if start >= end:
            return
        index = self.before(start)
        if index and self.runs[index - 1][0] == start:
            index -= 1
            start = self.starts[index]
            _, base_before, last_before = self.runs[index]
            base, last = min(base, base_before), max(last, last_before)
            del self.starts[index], self.runs[index]
        if index < len(self.starts) and self.starts[index] == end:
            end, base_behind, last_behind = self.runs[index]
            base, last = min(base, base_behind), max(last, last_behind)
            del self.starts[index], self.runs[index]
        self.starts.insert(index, start)
        self.runs.insert(index, (end, base, last))

    def count(self) -> int:
        return sum(run[0] - start for start, run in zip(self.starts, self.runs))

    def count_without(self, other: _Coverage) -> int:
        total = 0
        for start, (end, _, _) in zip(self.starts, self.runs):
            gap = other.first_gap(start, end)
            while gap is not None:
                total += gap[1] - gap[0]
                gap = other.first_gap(gap[1], end)
        return total


# What a header tells of its lane: pool, nested, sink, cut, withheld. Sums that only grow.
_Told = tuple[int, ...]
_NOTHING: _Told = (0,) * 5


def _highest(a: _Told, b: _Told) -> _Told:
    return tuple(map(max, a, b))


class _Losses:
    """What a lane had lost and withheld, as its blocks tell it."""

    def __init__(self) -> None:
        #: By the number of the first event behind it and the sum of the counters.
        self.keys: list[tuple[int, int]] = []
        self.marks: list[tuple[_Told, int, int]] = []

    def note(self, before: int, end_ticks: int, told: _Told) -> None:
        key = (before, sum(told))
        index = len(self.keys)
        while index and self.keys[index - 1] > key:
            index -= 1
        if index and _highest(self.marks[index - 1][0], told) == self.marks[index - 1][0]:
            known, first, last = self.marks[index - 1]
            self.marks[index - 1] = known, first, max(last, end_ticks)
            return
        last = end_ticks
        behind = index - 1 if index and self.keys[index - 1] == key else index
        if behind < len(self.keys) and self.marks[behind][0] == told:
            last = max(last, self.marks[behind][2])
            del self.keys[behind], self.marks[behind]
            index = behind
        if index and self.keys[index - 1] == key:
            self.marks[index - 1] = told, end_ticks, last
            return
        self.keys.insert(index, key)
        self.marks.insert(index, (told, end_ticks, last))

    def total(self) -> _Told:
        return _functools.reduce(_highest, (mark[0] for mark in self.marks), _NOTHING)

    def steps(self) -> _t.Iterator[tuple[int, _Told]]:
        """The number of the first event behind each loss, and what was lost or withheld in it."""
        total = _NOTHING
        for (before, _), (told, _, _) in zip(self.keys, self.marks):
            step = tuple(max(a - b, 0) for a, b in zip(told, total))
            total = _highest(total, told)
            if any(step):
                yield before, step


class Lane:
    """Where an event comes from: a thread of a session, and a kind."""

    __slots__ = ("session", "thread", "kind")

    def __init__(self, session: Session, thread: int, kind: KindDesc) -> None:
        #: The run.
        self.session = session
        #: The session's number for the thread.
        self.thread = thread
        #: The kind of its events.
        self.kind = kind

    @property
    def thread_name(self) -> _t.Optional[str]:
        """The name of the thread, where the stream has one."""
        return self.session.thread_name(self.thread)

    def __repr__(self) -> str:
        return f"<{self.kind.name} of thread {self.thread} of session {self.session.id:016x}>"


class _LaneState:
    """A lane while it is read."""

    def __init__(self, session: Session, header: _Header, number: int) -> None:
        self.session = session
        self.thread = header.thread
        self.registry = header.registry
        self.kind = header.kind
        self.number = number
        self.lane: _t.Optional[Lane] = None
        #: Number of the block, place in it and time, where the last part ended whose block goes on.
        self.open: _t.Optional[tuple[int, int, int]] = None
        self.slots: list[int] = []
        self.read = 0
        self.covered = _Coverage()
        self.unread = _Coverage()
        self.losses = _Losses()
        self.recorded = 0

    def note(self, header: _Header) -> None:
        self.note_losses(header.before, header)
        self.recorded = max(self.recorded, header.end())

    def note_losses(self, before: int, header: _Header) -> None:
        self.losses.note(before, header.end_ticks, (*header.lost, header.withheld))

    def given(self) -> int:
        """Events that the stream was given, as far as headers tell."""
        told = self.losses.total()
        return max(self.recorded - told[4] - told[2], 0)

    def give_up(self, start: int, header: _Header) -> None:
        """Counts the events of a part from a number on as not readable."""
        gap = self.unread.first_gap(start, header.end())
        if gap is not None:
            self.unread.add(*gap, header.base_ticks, header.end_ticks)

    def missing(self) -> tuple[int, int]:
        """Events recorded and written but not read, and events withheld."""
        absent = max(self.recorded - self.covered.count(), 0)
        # Gaps by the number of the event behind them.
        gaps: dict[int, int] = {}
        at = 0
        for start, (end, _, _) in zip(self.covered.starts, self.covered.runs):
            if at < start:
                gaps[start] = start - at
            at = end
        if self.recorded > at:
            gaps[self.recorded] = self.recorded - at
        ends = sorted(gaps)
        for before, told in self.losses.steps():
            if told[4]:
                behind = next((end for end in ends if end >= before), None)
                if behind is not None and self.covered.first_gap(max(before - 1, 0), before):
                    gaps[behind] = max(gaps[behind] - told[4], 0)
        withheld = max(absent - sum(gaps.values()), 0)
        return max(absent - withheld - self.losses.total()[2], 0), withheld


@_dataclasses.dataclass
class Completeness:
    """What was read of a stream, and what was not. As a string it is the verdict in a few lines."""

    #: Events read, and whole blocks, and bytes of the input.
    events: int = 0
    blocks: int = 0
    bytes: int = 0
    #: Bytes that are no whole block.
    damaged_bytes: int = 0
    #: Lost in the program: because no memory was free, inside another emission, because no sink took them.
    lost_pool: int = 0
    lost_nested: int = 0
    lost_sink: int = 0
    #: Strings and arrays cut to their limit. Their events are not lost.
    cut: int = 0
    #: Recorded and written, but not read; and of these, those whose blocks are there and not readable.
    missing: int = 0
    unread: int = 0
    #: Events that the stream was never meant to have.
    withheld: int = 0
    #: First byte, end and cause of each range that holds no whole block.
    damage: list[tuple[int, int, str]] = _dataclasses.field(default_factory=list)
    damaged_ranges: int = 0
    #: First byte, end and reason of each part of a block that could not be decoded.
    undecodable: list[tuple[int, int, str]] = _dataclasses.field(default_factory=list)
    undecodable_parts: int = 0
    #: Number of blocks of each type that is not known.
    unknown_blocks: dict[int, int] = _dataclasses.field(default_factory=dict)
    #: Blocks that could not be understood: where and why.
    unreadable: list[tuple[int, str]] = _dataclasses.field(default_factory=list)
    #: Sessions, and whether each ended in good order.
    sessions: list[tuple[int, bool]] = _dataclasses.field(default_factory=list)

    @property
    def lost(self) -> int:
        """Events lost in the program, for whichever cause."""
        return self.lost_pool + self.lost_nested + self.lost_sink

    @property
    def is_complete(self) -> bool:
        """True if there is a session, every session ended in good order, and every event that their
        programs emitted was read, as far as the stream can tell."""
        return bool(self.sessions) and not self.is_broken and not self.missing and not self.lost and self.ended

    @property
    def ended(self) -> bool:
        return all(ended for _, ended in self.sessions) and not self.unknown_blocks

    @property
    def is_broken(self) -> bool:
        """True if a part of the stream is damaged or was not understood."""
        return self.damaged_ranges > 0 or self.undecodable_parts > 0 or bool(self.unreadable)

    def __str__(self) -> str:
        if not self.sessions:
            lines = [f"nothing to read: no session in {_count(self.bytes, 'byte')}"]
        elif self.is_complete:
            counts = _count(self.events, "event"), _count(self.blocks, "block"), _count(self.bytes, "byte")
            lines = ["complete: " + ", ".join(counts)]
        else:
            total = self.events + self.missing + self.lost
            lines = [f"incomplete: {self.events} of {_count(min(total, _MAX), 'event')} read"]
        causes = (
            (self.lost_pool, "no memory was free"),
            (self.lost_nested, "inside another emission"),
            (self.lost_sink, "no sink took them"),
        )
        if self.lost:
            text = ", ".join(f"{number} {why}" for number, why in causes if number)
            lines.append(f"lost in the program: {_count(self.lost, 'event')} ({text})")
        if self.cut:
            lines.append(f"cut to their limit: {_count(self.cut, 'string')} or array{_plural(self.cut)}")
        if self.missing:
            unread = min(self.unread, self.missing)
            text = f"missing: {_count(self.missing, 'event')}"
            if unread == 0:
                text += " of blocks that are not there"
            elif unread == self.missing:
                text += " of damaged or undecodable blocks"
            else:
                text += f", {unread} of damaged or undecodable blocks, "
                text += f"{self.missing - unread} of blocks that are not there"
            lines.append(text)
        if self.damage:
            start, _, cause = self.damage[0]
            text = f"{_count(self.damaged_ranges, 'range')}, {_count(self.damaged_bytes, 'byte')}"
            lines.append(f"damaged: {text}; the first at byte {start}: {cause}")
        if self.undecodable:
            start, _, reason = self.undecodable[0]
            text = _count(self.undecodable_parts, "part")
            lines.append(f"undecodable: {text}; the first at byte {start}: {reason}")
        for code, blocks in sorted(self.unknown_blocks.items()):
            lines.append(f"unknown: {_count(blocks, 'block')} of type {code}")
        if self.unreadable:
            start, why = self.unreadable[0]
            text = _count(len(self.unreadable), "block")
            lines.append(f"not understood: {text}; the first at byte {start}: {why.splitlines()[0]}")
        running = sum(not ended for _, ended in self.sessions)
        if running:
            text = f"{running} of {_count(len(self.sessions), 'session')}"
            lines.append(f"without an end: {text} (still running, killed, or cut)")
        if self.withheld:
            lines.append(f"withheld: {_count(self.withheld, 'event')} of kinds that were not output")
        return "\n  ".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{_plural(number)}"


def _plural(number: int) -> str:
    return "" if number == 1 else "s"


# --- Sessions, their clocks and their labels.


class _Clock:
    """The line through a session's start that turns ticks into nanoseconds."""

    def __init__(self, start_ticks: int, start_wall: int, per_second: _t.Optional[int]) -> None:
        self.start_ticks = start_ticks
        self.start_wall = start_wall
        #: Nanoseconds per tick, in parts of 2^64.
        self.rate = 1 << 64
        #: Ticks per second as the session says; 0 where it does not.
        self.said = 0
        #: Distance of the pair that the rate comes from, in ticks.
        self.span = 0
        #: Ticks are nanoseconds.
        self.exact = per_second is None
        if per_second and self.set_rate(1_000_000_000, per_second):
            self.said = per_second

    def refine_farthest(self, ticks: int, wall: int) -> None:
        """Takes the rate from a pair of readings that lies farther than the one used so far."""
        ticks, ns = ticks - self.start_ticks, wall - self.start_wall
        if self.exact or ticks <= 0 or ns <= 0 or ticks < self.span + 1:
            return
        if self.said:
            expected = ticks * 1_000_000_000 // self.said
            # Too near, or somebody set the wall clock.
            if ns < 1_000_000 or not expected // 2 <= ns <= expected * 2:
                return
        if self.set_rate(ns, ticks):
            self.span = ticks

    def set_rate(self, ns: int, ticks: int) -> bool:
        whole, rest = divmod(ns, ticks)
        rate = whole << 64 | (rest << 64) // ticks
        if rate:
            self.rate = rate
        return rate > 0

    def ns(self, ticks: int) -> int:
        """Nanoseconds from the session's start to a reading; negative before it."""
        distance = (ticks - self.start_ticks + (1 << 63) & _MAX) - (1 << 63)
        ns = min(abs(distance) * self.rate + (1 << 63) >> 64, _MAX_NS)
        return -ns if distance < 0 else ns

    def wall_ns(self, ticks: int) -> int:
        return min(self.ns(ticks) + self.start_wall, _MAX_NS)


class LabelRef(int):
    """The number of an interned string. As a string it is what it stands for, where that is known. A name
    that is no label has the number 0."""

    #: What the number stands for; None where the stream does not say.
    text: _t.Optional[str] = None

    def __str__(self) -> str:
        return int.__repr__(self) if self.text is None else self.text

    def __repr__(self) -> str:
        return f"LabelRef({int(self)}, {self.text!r})"


class _Given(_t.NamedTuple):
    """A name as it was told: a text, or as `of` (a pointer or an address) is called, or a number."""

    text: _t.Optional[LabelRef]
    of: _t.Optional[str]
    numbers: tuple[str, str]
    value: int


# Bytes for the names of a stream, and of an entry beside its text.
_NAME_ROOM = 32 << 20
_NAME_ENTRY = 64


class Session:
    """A run of a program."""

    def __init__(self, id_: int, ticks: int, wall: int) -> None:
        #: A number that no other run has.
        self.id = id_
        #: What the program said of the run: `program`, `pid`, `host` and so on.
        self.facts: dict[str, object] = {}
        #: The same of its threads, by number.
        self.threads: dict[int, dict[str, object]] = {}
        #: False if no session block was found.
        self.declared = False
        #: True if the session ended in good order.
        self.ended = False
        self._clock = _Clock(ticks, wall, 0)
        self._earliest = self._farthest = (ticks, wall)
        self._given = 0
        self._rank = 0
        self._whole = False
        self._labels: dict[int, LabelRef] = {}
        # The same of relations' own numbers.
        self._numbers: dict[tuple[tuple[str, str], int], LabelRef] = {}
        # What pointers, addresses, and what is either are called, by value and the clock reading that it was told at.
        self._names: dict[str, dict[int, dict[int, _Given]]] = {"pointer": {}, "addr": {}, "": {}}
        self._texts: dict[str, LabelRef] = {}

    def label(self, number: int) -> LabelRef:
        """The label of a number."""
        known = self._labels.get(number)
        return LabelRef(number) if known is None else known

    def name_of(self, address: int, ticks: int) -> _t.Optional[LabelRef]:
        """The name that an address had at a clock reading. One that is no label was there before it was told."""
        return self._look_up("addr", address, ticks)

    def name_of_pointer(self, pointer: int, ticks: int) -> _t.Optional[LabelRef]:
        """The same of a pointer: the MPS, for one, names pointers apart from addresses."""
        return self._look_up("pointer", pointer, ticks)

    def _look_up(self, of: str, value: int, ticks: int) -> _t.Optional[LabelRef]:
        given = self._name_told(of, value, ticks)
        if given is None or given.text is not None:
            return None if given is None else given.text
        if given.of is None:
            return self._number(given.numbers, given.value)
        # What that one is called like is not looked for: it might be this.
        given = self._name_told(given.of, given.value, ticks)
        if given is None or given.of is not None:
            return None
        name = self._number(given.numbers, given.value) if given.text is None else given.text
        return None if name.text is None else name

    def _number(self, numbers: tuple[str, str], number: int) -> LabelRef:
        known = self._labels.get(number) if not numbers[0] else self._numbers.get((numbers, number))
        return LabelRef(number) if known is None else known

    def _name_told(self, of: str, value: int, ticks: int) -> _t.Optional[_Given]:
        own, either = (self._told(self._names[which].get(value), ticks) for which in (of, ""))
        if own is None or either is None:
            told = own or either
            return None if told is None else told[1]
        return either[1] if own[0] < either[0] else own[1]

    def _told(self, names: _t.Optional[dict[int, _Given]], ticks: int) -> _t.Optional[tuple[int, _Given]]:
        if names is None:
            return None
        latest = max((at for at in names if at <= ticks), default=None)
        if latest is not None:
            return latest, names[latest]
        first = names[min(names)]
        return None if first.text is None and first.of is None else (-1, first)

    def _note(
        self, mark: _Mark, is_apart: bool, ticks: int, of: int, by: _t.Union[int, str], room: int
    ) -> int:
        """Notes what an event says by a mark. Gives the room that is left."""
        text = by.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if isinstance(by, str) else ""
        cost = _NAME_ENTRY + len(text.encode())
        if mark.named in ("label", "number"):
            known = self._number(mark.numbers, of)
            if known.text != text and cost <= room:
                room -= cost
                known = LabelRef(of)
                known.text = text
                if mark.named == "label":
                    self._labels[of] = known
                else:
                    self._numbers[mark.numbers, of] = known
            return room
        if isinstance(by, int):
            alias = mark.name if mark.name in ("pointer", "addr") else None
            given = _Given(None, alias, mark.numbers, by)
        elif text in self._texts:
            given = _Given(self._texts[text], None, ("", ""), 0)
        elif not text or cost > room:
            return room
        else:
            room -= cost
            name = self._texts[text] = LabelRef(0)
            name.text = text
            given = _Given(name, None, ("", ""), 0)
        names = self._names[mark.named if is_apart else ""].setdefault(of, {})
        if names.get(ticks) != given and room >= _NAME_ENTRY:
            room -= _NAME_ENTRY
            names[ticks] = given
        return room

    def thread_name(self, thread: int) -> _t.Optional[str]:
        """The name of a thread, where the stream has one."""
        name = self.threads.get(thread, {}).get("name")
        return name if isinstance(name, str) else None

    @property
    def start_ns(self) -> int:
        """When the session began, in nanoseconds since 1970-01-01 UTC."""
        return self._clock.start_wall

    def __repr__(self) -> str:
        return f"<session {self.id:016x} of {self.facts.get('program', '?')}>"


class _Texts:
    """Texts that were written in parts, put together in whatever order they come."""

    def __init__(self) -> None:
        self.waiting: dict[tuple[int, int, int, int], _Waiting] = {}
        self.bytes = 0

    def take(self, at: int, header: _Header, payload: bytes) -> tuple[_t.Optional[bytes], bool]:
        """The text that a block completes or begins, and whether that is all of it."""
        key = self.key(header)
        is_last = header.flags & _LAST != 0
        if header.offset == 0 and is_last:
            self.forget(header)
            return payload, True
        end = header.offset + len(payload)
        if end <= _MAX_PAYLOAD:
            if self.bytes + len(payload) > 4 * _MAX_PAYLOAD:
                self.waiting, self.bytes = {}, 0
            waiting = self.waiting.setdefault(key, _Waiting(at))
            self.bytes += waiting.add(header.offset, payload)
            if is_last:
                waiting.length = end
            whole = waiting.joined()
            if whole is not None:
                self.forget(header)
                return whole, True
        return (payload, False) if header.offset == 0 else (None, False)

    def key(self, header: _Header) -> tuple[int, int, int, int]:
        return header.block_type, header.session, header.registry, header.thread

    def forget(self, header: _Header) -> None:
        waiting = self.waiting.pop(self.key(header), None)
        if waiting is not None:
            self.bytes -= waiting.bytes

    def incomplete(self, known: _t.Container[int]) -> _t.Iterator[tuple[int, str]]:
        for (block_type, _, registry, _), waiting in self.waiting.items():
            is_alone = waiting.length is None and list(waiting.parts) == [0]
            if registry in known or is_alone and waiting.wrong is None:
                continue
            why = waiting.wrong if is_alone and waiting.wrong else "parts of its text are missing"
            yield waiting.at, f"{_block_name(block_type)}: {why}"


class _Waiting:
    def __init__(self, at: int) -> None:
        self.at = at
        self.parts: dict[int, bytes] = {}
        self.covered = _Coverage()
        self.length: _t.Optional[int] = None
        self.bytes = 0
        self.wrong: _t.Optional[str] = None

    def add(self, offset: int, payload: bytes) -> int:
        more = len(payload) - len(self.parts.get(offset, b""))
        if more > 0 or offset not in self.parts:
            self.parts[offset] = payload
        gap = self.covered.first_gap(offset, offset + len(payload))
        while gap is not None:
            self.covered.add(*gap, 0, 0)
            gap = self.covered.first_gap(offset, offset + len(payload))
        self.bytes += max(more, 0)
        return max(more, 0)

    def joined(self) -> _t.Optional[bytes]:
        if self.length is None or self.covered.first_gap(0, self.length):
            return None
        whole = bytearray()
        for offset in sorted(self.parts):
            if offset > len(whole):
                return None
            whole += self.parts[offset][len(whole) - offset :]
        return bytes(whole[: self.length])


def _block_name(block_type: int) -> str:
    return {_SESSION: "session block", _REGISTRY: "registry block"}.get(block_type, "thread block")


# The marks of the runtime's own relation, for streams from before it had them.
_RUNTIME = """[registry]
name = "telemetry"
version = { major = 1, median = 0, minor = 2 }
doc = "What the runtime says of itself"

[kinds]
Label = { bit = 1, doc = "strings and addresses with names" }

[[event]]
name = "Intern"
code = 0x0002
kind = "Label"
doc = "A string got a number"
params = [
{ name = "label", sort = "label" },
{ name = "string", sort = "string", max = 4096, names = "label" },
]

[[event]]
name = "LabelAddress"
code = 0x0003
kind = "Label"
doc = "An address got a name"
params = [
{ name = "address", sort = "addr" },
{ name = "label", sort = "label", names = "address" },
]
"""


# --- The reader.

# Events that are made at once: few enough to stay in the cache until they are given out.
_BATCH = 512


@_dataclasses.dataclass
class _Event:
    """What every event has beside its parameters."""

    __slots__ = ("ticks", "lane")
    #: The clock reading.
    ticks: int
    #: Where it comes from.
    lane: Lane

    @property
    def thread(self) -> int:
        """The session's number for the thread that emitted it."""
        return self.lane.thread

    @property
    def session(self) -> Session:
        """The run that it is of."""
        return self.lane.session

    @property
    def time_ns(self) -> int:
        """Nanoseconds since the session began."""
        return self.lane.session._clock.ns(self.ticks)


#: Parameters of these names have an underscore behind them.
_TAKEN = frozenset(("ticks", "lane", "thread", "session", "time_ns"))


def _attribute(name: str) -> str:
    return name + "_" if name in _TAKEN or _keyword.iskeyword(name) else name


class _Module(_t.NamedTuple):
    """What is generated."""

    name: str
    #: By bit number.
    kinds: dict[int, KindDesc]
    #: By code.
    classes: dict[int, type[_t.Any]]
    #: What makes a value of a number.
    types: dict[str, _t.Callable[[int], int]]
    #: The relation, read when it is first asked for.
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
    return _Module(name, kinds, by_code, of_types, read)


def _enum_values(ty: _t.Any) -> _t.Callable[[int], int]:
    """A function that makes a value of a number, or leaves it a number where it has no name. Sets of
    flags are made once each, as far as there are not too many."""
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


class _Part:
    """A part of a block while its events are read."""

    __slots__ = ("block", "header", "state", "indexed", "padded", "decode", "give", "next", "pos", "time", "wrong")

    def __init__(self, block: _Block, header: _Header, payload: bytes, decode: _Decode, time: int) -> None:
        self.block = block
        #: As it would be without compression.
        self.header = header
        self.state = block.lane
        self.padded = payload + _PADDING
        self.indexed: _t.Optional[_t.Sequence[int]] = None
        self.decode = decode
        self.give = (header.before, header.before)
        self.next = header.before
        self.pos = 0
        self.time = time
        self.wrong: _t.Optional[str] = None


_E = _t.TypeVar("_E", bound=_Event)


class Reader(_t.Generic[_E]):
    """The events of a stream that this module knows, one after the other.

    Of files, all block headers are read first, so that sessions, relations and names are known before
    the first event. Memory is in proportion to the number of lanes, and not to the stream.
    """

    def __init__(self, module: _Module, inputs: _t.Sequence[_Input], order: str, strict: bool) -> None:
        if order not in ("time", "stream"):
            raise _b.ValueError(f"order is {order!r}, expected 'time' or 'stream'")
        self._module = module
        self._strict = strict
        self._files = _Files(inputs)
        self._order = order
        self._report = Completeness(bytes=self._files.length)
        #: In the order of their first blocks.
        self.sessions: list[Session] = []
        #: The relations of the stream by fingerprint, and the module's own.
        self.registries: dict[int, Registry] = {}
        #: Events passed over so far: of other relations, or unknown to this module, or of another form.
        self.others = 0
        #: Events that a relation of the stream has in another form.
        self.other_forms: list[OtherForm] = []
        self._by_id: dict[int, Session] = {}
        self._states: dict[tuple[int, int, int, int], _LaneState] = {}
        self._texts = _Texts()
        self._same: dict[int, dict[int, _Form]] = {}
        self._decoders: dict[tuple[int, int], tuple[_Decode, int]] = {}
        self._name_room = _NAME_ROOM
        #: Fingerprints of the relations that were found in the stream.
        self._found: set[int] = set()
        own = module.registry()
        self.registries[own.fingerprint] = own
        try:
            self._blocks = self._scan()
            if strict:
                for fingerprint in sorted(self._found):
                    self._forms(fingerprint)
            self._read_names()
        except _b.BaseException:
            self.close()
            raise
        self._chunks = self._by_time() if order == "time" else self._in_stream()
        self._events: _t.Iterator[_t.Any] = _itertools.chain.from_iterable(self._chunks)

    def __iter__(self) -> _t.Iterator[_E]:
        return _t.cast(_t.Iterator[_E], self._events)

    def __next__(self) -> _E:
        return _t.cast(_E, next(self._events))

    def __enter__(self) -> Reader[_E]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the files. They are closed at the end of the events, too."""
        self._files.close()

    @property
    def completeness(self) -> Completeness:
        """What was read so far, and what was not; the verdict once there are no more events."""
        report = _dataclasses.replace(self._report)
        given: dict[int, int] = {}
        for state in self._states.values():
            told = state.losses.total()
            missing, withheld = state.missing()
            report.lost_pool += told[0]
            report.lost_nested += told[1]
            report.lost_sink += told[2]
            report.cut += told[3]
            report.missing += missing
            report.withheld += withheld
            report.unread += state.unread.count_without(state.covered)
            given[state.session.id] = given.get(state.session.id, 0) + state.given()
        for session in self.sessions:
            report.missing += max(session._given - given.get(session.id, 0), 0)
        report.sessions = [(session.id, session.ended) for session in self.sessions]
        unreadable = [*report.unreadable, *self._texts.incomplete(self.registries)]
        report.unreadable = sorted(unreadable)[:_MAX_LISTED]
        return report

    # What blocks say.

    def _scan(self) -> list[_Block]:
        """Reads all headers, and all payloads but those of events."""
        blocks = _Blocks(self._files)
        found: list[_Block] = []
        checks = False
        while True:
            start = blocks.at
            piece = blocks.next(checks)
            if piece is None:
                break
            if isinstance(piece[0], _Damage):
                checks = False
                self._take_damage(piece[0], piece[1])
                continue
            at, header, payload = piece
            if header.block_type != _EVENTS:
                self._take(at, header, payload)
                continue
            if not checks:
                # Taken at its word only if another events block of its session follows where it ends.
                follows = _header(self._files.peek(blocks.at, _HEADER_LEN))
                if (
                    isinstance(follows, str)
                    or follows.block_type != _EVENTS
                    or follows.session != header.session
                ):
                    blocks.at, checks = start, True
                    continue
            checks = False
            state = self._state(header)
            state.note(header)
            found.append(_Block(at, header, state))
        for session in self.sessions:
            if not session.declared:
                session._clock = _Clock(*session._earliest, 0)
                session._clock.refine_farthest(*session._farthest)
        return found

    def _session(self, header: _Header) -> Session:
        moment = header.base_ticks, header.base_wall
        session = self._by_id.get(header.session)
        if session is None:
            session = self._by_id[header.session] = Session(header.session, *moment)
            self.sessions.append(session)
        if header.flags & _END:
            session.ended = True
        if moment != (0, 0):
            session._earliest = min(session._earliest, moment)
            session._farthest = max(session._farthest, moment)
            session._clock.refine_farthest(*moment)
        return session

    def _state(self, header: _Header) -> _LaneState:
        session = self._session(header)
        key = header.session, header.thread, header.registry, header.kind
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _LaneState(session, header, len(self._states))
        return state

    def _take(self, at: int, header: _Header, payload: bytes) -> None:
        """Takes a block that is not of events."""
        self._report.blocks += 1
        unpacked = _unpacked(header, payload)
        if isinstance(unpacked, str):
            self._session(header)
            self._not_understood(at, header, True, unpacked)
            return
        header, payload = unpacked
        if header.block_type == _SESSION:
            self._session_block(at, header, payload)
        elif header.block_type == _REGISTRY:
            self._registry_block(at, header, payload)
        elif header.block_type == _THREAD:
            session = self._session(header)
            text, is_whole = self._texts.take(at, header, payload)
            if text is not None:
                session.threads[header.thread], wrong = _facts(text)
                self._not_understood(at, header, is_whole, wrong)
        elif header.block_type == _SYNC:
            session = self._session(header)
            session._given = max(session._given, header.before)
            if header.lost != _Loss():
                # Losses of no lane in particular.
                self._state(header).note_losses(0, header)
        else:
            unknown = self._report.unknown_blocks
            unknown[header.block_type] = unknown.get(header.block_type, 0) + 1

    def _session_block(self, at: int, header: _Header, payload: bytes) -> None:
        session = self._session(header)
        text, is_whole = self._texts.take(at, header, payload)
        if text is None or session.declared and session.facts and not (is_whole and not session._whole):
            return
        facts, wrong = _facts(text)
        per_second = facts.get("ticks_per_second", 0)
        if not isinstance(per_second, int) or isinstance(per_second, bool) or not 0 <= per_second <= _MAX:
            per_second = 0
        rate = None if facts.get("clock") == "os" else per_second
        session._clock = _Clock(header.base_ticks, header.base_wall, rate)
        session._clock.refine_farthest(*session._farthest)
        session.declared = True
        session.facts = facts
        session._whole |= is_whole
        self._not_understood(at, header, is_whole, wrong)

    def _registry_block(self, at: int, header: _Header, payload: bytes) -> None:
        self._session(header)
        # The module's own yields to the stream's: units are not in the fingerprint.
        if header.registry in self._found:
            return
        text, is_whole = self._texts.take(at, header, payload)
        if text is None:
            return
        try:
            registry = Registry(text.decode("utf-8"))
        except _b.UnicodeDecodeError:
            self._not_understood(at, header, is_whole, "not UTF-8")
        except (StreamError, _b.RecursionError) as error:
            self._not_understood(at, header, is_whole, str(error))
        else:
            found = registry.fingerprint
            if found == header.registry:
                self._texts.forget(header)
                self._found.add(found)
                # It may be of before its relation had marks.
                registry._take_names(self._module.registry())
                if registry.name == "telemetry":
                    registry._take_names(Registry(_RUNTIME))
                self.registries[found] = registry
            else:
                why = f"a text of fingerprint {found:016x}, expected {header.registry:016x}"
                self._not_understood(at, header, is_whole, why)

    def _not_understood(self, at: int, header: _Header, is_whole: bool, wrong: _t.Optional[str]) -> None:
        if wrong is None:
            return
        if not is_whole:
            # Parts of it may come: this is what is wrong if none do.
            waiting = self._texts.waiting.get(self._texts.key(header))
            if waiting is not None:
                waiting.wrong = wrong
        elif len(self._report.unreadable) < _MAX_LISTED:
            self._report.unreadable.append((at, f"{_block_name(header.block_type)}: {wrong}"))

    def _take_damage(self, damage: _Damage, header: _t.Optional[_Header]) -> None:
        report = self._report
        report.damaged_bytes += damage.end - damage.start
        report.damaged_ranges += 1
        if len(report.damage) < _MAX_LISTED:
            report.damage.append(damage)
        if header is not None:
            self._session(header)
            if header.block_type == _EVENTS:
                state = self._state(header)
                state.note(header)
                state.give_up(header.before, header)

    def _read_names(self) -> None:
        """Reads the names of a stream before its events: what tells an event's may stand behind it."""
        of_names = [block for block in self._blocks if self._has_names(block.header)]
        of_names.sort(key=_place)
        before: _t.Optional[tuple[_LaneState, int, int]] = None
        time, slots = 0, [0]
        for block in of_names:
            header, state = block.header, block.lane
            payload = self._load(block)
            unpacked = "" if isinstance(payload, _Damage) else _unpacked(header, payload)
            if isinstance(unpacked, str):
                continue
            header, payload = unpacked
            registry = self.registries[header.registry]
            decode, count = self._decoders.setdefault(
                (~header.registry, header.kind), _decoder(registry, header.kind, {}, None)
            )
            if header.offset == 0:
                time, slots = header.base_ticks, [0] * count
            elif before != (state, header.seq, header.offset):
                continue
            before = state, header.seq, header.offset + header.payload_len
            found: list[_t.Any] = []
            padded = payload + _PADDING
            _, time, _, _, _ = decode(padded, padded, 0, header.events, time, slots, None, int, found)
            for code, ticks, *values in found:
                for mark in registry._marks[code]:
                    said = mark, registry._apart, ticks, values[mark.of], values[mark.by]
                    self._name_room = state.session._note(*said, self._name_room)

    def _has_names(self, header: _Header) -> bool:
        registry = self.registries.get(header.registry)
        return registry is not None and registry._gives_names(header.kind)

    # Parts of blocks.

    def _load(self, block: _Block) -> _t.Union[bytes, _Damage]:
        """The payload of a block, checked."""
        return self._check(block, self._payload(block))

    def _payload(self, block: _Block) -> _t.Union[bytes, _Damage]:
        header = block.header
        data = self._files.read(block.at, header.block_len())
        end = block.at + header.block_len()
        if len(data) < header.block_len():
            text = f"the input ends after {len(data)} bytes of a block of {header.block_len()}"
            return _Damage(block.at, end, text)
        return data[header.header_len :]

    def _check(
        self, block: _Block, payload: _t.Union[bytes, _Damage], crc: _t.Optional[int] = None
    ) -> _t.Union[bytes, _Damage]:
        if isinstance(payload, _Damage):
            return payload
        wrong = _wrong_payload(block.header, payload, crc)
        return payload if wrong is None else _Damage(block.at, block.at + block.header.block_len(), wrong)

    def _open(
        self, block: _Block, payload: _t.Union[None, bytes, _Damage] = None
    ) -> _t.Optional[_Part]:
        """Begins to read a part; none if there is nothing to read, which is accounted for then."""
        header, state = block.header, block.lane
        payload = self._load(block) if payload is None else payload
        report = self._report
        if isinstance(payload, _Damage):
            state.give_up(header.before, header)
            report.damaged_bytes += payload.end - payload.start
            report.damaged_ranges += 1
            if len(report.damage) < _MAX_LISTED:
                report.damage.append(payload)
            return None
        report.blocks += 1
        unpacked = _unpacked(header, payload)
        if not isinstance(unpacked, str):
            header, payload = unpacked
        if header.events == 0 and header.payload_len == 0:
            return None
        news = state.covered.first_gap(header.before, header.end())
        repeats = header.events > 0 and news is None
        if repeats:
            is_past = (
                state.open is not None
                and state.open[0] == header.seq
                and state.open[1] >= header.offset + header.payload_len
            )
            if header.flags & _LAST or is_past:
                return None
        begun = unpacked if isinstance(unpacked, str) else self._begin(header, state)
        if isinstance(begun, str):
            if not repeats:
                state.open = None
                state.give_up(header.before, header)
                self._undecodable(block.at + header.header_len, block.at + block.header.block_len(), begun)
            return None
        part = _Part(block, header, payload, *begun)
        if news is not None:
            part.give = news
        return part

    def _begin(self, header: _Header, state: _LaneState) -> _t.Union[tuple[_Decode, int], str]:
        """The function that reads a part, and the time that its first event counts from."""
        registry = self.registries.get(header.registry)
        if registry is None:
            return f"no registry {header.registry:016x} before it"
        if registry._kind(header.kind) is None:
            return f"its registry has no kind {header.kind}"
        decode, slots = self._decoder_of(header.registry, header.kind)
        if header.offset == 0:
            state.slots = [0] * slots
            time = header.base_ticks
        elif state.open is None or state.open[:2] != (header.seq, header.offset):
            return "the part before it is missing"
        else:
            time = state.open[2]
        if state.lane is None:
            kind = self._module.kinds.get(header.kind) or KindDesc(str(header.kind), header.kind, "")
            state.lane = Lane(state.session, state.thread, kind)
        return decode, time

    def _decoder_of(self, fingerprint: int, kind: int) -> tuple[_Decode, int]:
        decoder = self._decoders.get((fingerprint, kind))
        if decoder is None:
            registry = self.registries[fingerprint]
            same = self._forms(fingerprint)
            decoder = self._decoders[fingerprint, kind] = _decoder(registry, kind, same, self._module)
        return decoder

    def _forms(self, fingerprint: int) -> dict[int, _Form]:
        same = self._same.get(fingerprint)
        if same is None:
            registry = self.registries[fingerprint]
            same, other = _compare(self._module.registry(), registry, self._strict)
            self._same[fingerprint] = same
            self.other_forms += other
        return same

    def _read(self, part: _Part, most: int) -> list[_t.Any]:
        """The next events of a part; none, and the part is closed, if there are no more."""
        out: list[_t.Any] = []
        header, state, (first, last) = part.header, part.state, part.give
        end = header.end()
        indexed = part.indexed
        if indexed is None:
            indexed = part.indexed = _indexed(part.padded)
        while part.wrong is None and part.next < end and len(out) < most:
            # Events that were in another part are read for the sake of those behind them.
            stop = first if part.next < first else last if part.next < last else end
            into = out if first <= part.next < last else []
            part.pos, part.time, done, others, part.wrong = part.decode(
                indexed,
                part.padded,
                part.pos,
                min(stop - part.next, most),
                part.time,
                state.slots,
                state.lane,
                state.session.label,
                into,
            )
            part.next += done
            if into is out:
                self._report.events += done
                self.others += others
        if part.wrong is None and part.next == end and part.pos != part.header.payload_len:
            part.wrong = "bytes behind the last event"
        return out

    def _is_at_end(self, part: _Part) -> bool:
        return part.wrong is not None or part.next == part.header.end()

    def _close(self, part: _Part) -> None:
        header, state = part.header, part.state
        goes_on = not header.flags & _LAST and part.wrong is None
        state.open = (header.seq, header.offset + header.payload_len, part.time) if goes_on else None
        start = part.give[0]
        covered = max(min(part.give[1], part.next), start)
        state.read += covered - start
        state.covered.add(start, covered, header.base_ticks, header.end_ticks)
        if part.wrong is not None:
            start, end = part.block.at + header.header_len, part.block.at + part.block.header.block_len()
            # Of a compressed payload no place is that of an event.
            self._undecodable(start if part.block.header.codec else start + part.pos, end, part.wrong)
            state.give_up(part.next, header)

    def _undecodable(self, start: int, end: int, reason: str) -> None:
        self._report.undecodable_parts += 1
        if len(self._report.undecodable) < _MAX_LISTED:
            self._report.undecodable.append((start, end, reason))

    # Orders.

    def _in_stream(self) -> _t.Iterator[list[_t.Any]]:
        """As events stand in the stream."""
        for block in self._blocks:
            part = self._open(block)
            while part is not None:
                yield self._read(part, _BATCH)
                if self._is_at_end(part):
                    self._close(part)
                    break
        self.close()

    def _by_time(self) -> _t.Iterator[list[_t.Any]]:
        """By time, over all threads and sessions.

        Every lane holds some of its next events. Those up to the earliest end of what lanes hold can
        be given out: lanes are in order, so that the rest of each is later.
        """
        by_lane: dict[int, list[_Block]] = {}
        for block in sorted(self._blocks, key=_place):
            by_lane.setdefault(block.lane.number, []).append(block)
        ranked = sorted(self.sessions, key=lambda session: (session._clock.start_wall, session.id))
        for rank, session in enumerate(ranked):
            session._rank = rank
        queues = [_Queue(self, blocks) for blocks in by_lane.values()]
        queues.sort(key=lambda queue: (queue.tie, queue.state.number))
        of_one = len({queue.state.session.id for queue in queues}) < 2
        for order, queue in enumerate(queues):
            queue.order, queue.of_one = order, of_one
        # Lanes by the first thing that each waits with.
        waiting = [queue.first() for queue in queues]
        _heapq.heapify(waiting)
        while waiting:
            queue = queues[_heapq.heappop(waiting)[-1]]
            if not queue.events:
                if queue.more():
                    _heapq.heappush(waiting, queue.first())
                continue
            chosen, until = [queue], queue.last()
            while waiting and waiting[0] <= until:
                queue = queues[_heapq.heappop(waiting)[-1]]
                if queue.events:
                    chosen.append(queue)
                    until = min(until, queue.last())
                elif queue.more():
                    _heapq.heappush(waiting, queue.first())
            # Of equal times the lane that comes first is sorted first, and stays so.
            chosen.sort(key=lambda queue: queue.order)
            merged: list[_t.Any] = []
            pieces = 0
            for queue in chosen:
                piece = queue.take(until)
                pieces += bool(piece)
                merged = merged + piece if merged else piece
                if queue.is_open():
                    _heapq.heappush(waiting, queue.first())
            if pieces > 1:
                merged.sort(key=_by_ticks if of_one else _by_wall)
            yield merged
        self.close()


def _place(block: _Block) -> tuple[int, int, int, int]:
    return block.lane.number, block.header.seq, block.header.offset, block.at


_by_ticks = _operator.attrgetter("ticks")


def _by_wall(event: _Event) -> tuple[int, int, int]:
    session = event.lane.session
    return session._clock.wall_ns(event.ticks), session._rank, event.ticks


class _Queue:
    """A lane's blocks that are still to be read, and some of its next events."""

    def __init__(self, reader: Reader[_t.Any], blocks: list[_Block]) -> None:
        self.reader = reader
        self.blocks = blocks[::-1]
        self.state = state = blocks[0].lane
        self.part: _t.Optional[_Part] = None
        self.events: list[_t.Any] = []
        #: No event that is not read yet is earlier.
        self.time = 0
        registry = reader.registries.get(state.registry)
        kind = registry._kind(state.kind) if registry is not None else None
        #: Of equal times, precise kinds come before those that inherit their clock.
        self.tie = state.thread, kind is not None and kind.inherits, state.kind
        self.order = 0
        #: There is no other session.
        self.of_one = True

    def key(self, ticks: int) -> tuple[int, ...]:
        if self.of_one:
            return ticks, self.order
        session = self.state.session
        return session._clock.wall_ns(ticks), session._rank, ticks, self.order

    def first(self) -> tuple[int, ...]:
        if self.events:
            return self.key(self.events[0].ticks)
        if self.part is not None or not self.blocks:
            return self.key(self.time)
        return self.key(max(self.blocks[-1].header.base_ticks, self.time))

    def last(self) -> tuple[int, ...]:
        return self.key(self.events[-1].ticks)

    def is_open(self) -> bool:
        return bool(self.events or self.blocks) or self.part is not None

    def more(self) -> bool:
        """Reads the next events. False if there are no more."""
        if self.part is None and self.blocks:
            self.part = self.reader._open(self.blocks.pop())
        part = self.part
        if part is not None:
            self.events = self.reader._read(part, _BATCH)
            self.time = part.time
            if self.reader._is_at_end(part):
                self.reader._close(part)
                self.part = None
        return self.is_open()

    def take(self, until: tuple[int, ...]) -> list[_t.Any]:
        """Takes the events up to a key."""
        events = self.events
        low, high = 0, len(events)
        if self.last() <= until:
            low = high
        while low < high:
            middle = (low + high) // 2
            if self.key(events[middle].ticks) <= until:
                low = middle + 1
            else:
                high = middle
        self.events = events[low:]
        return events[:low] if low < len(events) else events


# --- Columns: events of whole blocks read by NumPy, all of one kind at once.
#
# Where an event begins is known only when the one before it was read. But an event can begin only
# where its code stands: so all those places are read as if one did, and of these the ones that the
# first of a block leads to are events. What does not come out even is read as anything else is.
#
# Most events of a kind are of few shapes: events of one code whose numbers take as many bytes. Whether
# a shape stands at a place shows in some bits of the words there, and its numbers are then parts of
# those words, at the same bits for all. What has no common shape is read number by number, and only
# where something else ends. If nearly all are of one shape, they are runs: events at the same distance,
# which need not be found one by one.

# Bytes that are read at once: their arrays stay in the cache.
_PIECE = 1 << 17
# Bytes that are checked at once.
_AT_ONCE = 1 << 20
# Bytes of a large page of memory.
_LARGE_PAGE = 1 << 21
# Most elements of arrays that are read as columns; beyond them, and where their number varies, events
# are read one by one.
_MOST_ELEMENTS = 16
# Shapes are those of the first events of a piece. No more of them are tried in the next one.
_SAMPLE = 128
_MOST_SHAPES = 16
# A shape that fewer events have, one in so many, is none.
_RARE = 64
# Runs are worth it if so many events of one shape are between others.
_RARE_RUN = 32
# So often events without a shape may follow each other before all are read that are left.
_MOST_ROUNDS = 6
# Most events that room is made for before they are found.
_MOST_ROOM = 1 << 20
_FIXED = {"u8": 1, "i8": 1, "bool": 1, "f32": 4, "f64": 8}
_DTYPES = {"delta": "u8", "bool": "?", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8"}
_DTYPES.update(i8="i1", i16="i2", i32="i4", i64="i8", f32="f4", f64="f8")


class _Shape:
    """Events of one code, whose numbers take the same bytes each."""

    def __init__(self, np: _t.Any, form: int, code: bytes, lengths: _t.Sequence[tuple[int, bool]]) -> None:
        self.np = np
        #: Which event of the kind it is.
        self.form = form
        #: Bytes of the event.
        self.end = len(code)
        #: Events that had it, when it was looked for last.
        self.hits = 0
        # Words: how far they are from the event's start, and which of their bits must be what.
        words = [[0, (1 << 8 * len(code)) - 1, int.from_bytes(code, "little")]]

        def word(length: int) -> int:
            """The word that has the next bytes in it."""
            if self.end + length > words[-1][0] + 8:
                words.append([self.end, 0, 0])
            return len(words) - 1

        #: Of each number, the time being the first, the word, how far it is to be shifted down, and its
        #: bits if there are others above.
        self.numbers: list[tuple[int, _t.Any, _t.Any]] = []
        for length, is_packed in lengths:
            if is_packed:
                # The first byte ends in as many zeros as there are further bytes, then a one.
                of_first = word(1 if length > 8 else length)
                shift = 8 * (self.end - words[of_first][0])
                words[of_first][1] |= (0xFF if length > 8 else (1 << length) - 1) << shift
                words[of_first][2] |= (0 if length > 8 else 1 << length - 1) << shift
            if is_packed and length > 8:
                self.end += 1
                length, is_packed = 8, False
            number = word(length)
            shift = 8 * (self.end - words[number][0]) + (length if is_packed else 0)
            bits = (7 if is_packed else 8) * length
            self.numbers.append((number, np.uint64(shift), np.uint64((1 << bits) - 1) if shift + bits < 64 else None))
            self.end += length
        self.words = [(offset, np.uint64(mask), np.uint64(bits)) for offset, mask, bits in words]
        #: The same by bytes, of those of which anything must be.
        self.bytes = [
            (offset + byte, mask >> 8 * byte & 0xFF, bits >> 8 * byte & 0xFF)
            for offset, mask, bits in words
            for byte in range(8)
            if mask >> 8 * byte & 0xFF
        ]

    def places(self, data: _t.Any, count: int) -> _t.Any:
        """Of each of the first places whether one stands there, for all that is known of its bytes."""
        np = self.np
        _, _, code = self.bytes[0]
        found = data[:count] == code
        bit = found.view("u1")
        for offset, mask, value in self.bytes[1:]:
            there = data[offset : offset + count]
            if mask == value == 1:
                bit &= there
            elif mask == 0xFF:
                found &= there == value
            else:
                found &= there & np.uint8(mask) == value
        return found

    def take(self, words: list[_t.Any], out: list[_t.Any]) -> None:
        """The numbers of some events, of whose words these are."""
        for (word, shift, keep), column in zip(self.numbers, out):
            self.np.right_shift(words[word], shift, out=column)
            if keep is not None:
                column &= keep


class _Shapes:
    """The shapes of a registry's kind: those of the last pieces."""

    def __init__(self) -> None:
        self.all: list[_Shape] = []
        #: So many pieces are read without, since the events have none: more from time to time.
        self.pause = 0
        self.next_pause = 1


class _Rows:
    """Events of one code, as they were found: columns with room for more."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.used = 0
        self.columns: dict[str, _t.Any] = {}
        #: Numbers of lanes, and how many events each has here, one behind the other.
        self.lanes: list[tuple[int, int]] = []


class _Piece:
    """Payloads of one kind, one behind the other, and the events in them."""

    def __init__(self, columns: _Columns, registry: Registry, parts: list[_Part]) -> None:
        np = self.np = columns.np
        self.columns = columns
        header = parts[0].header
        #: Of each event of the kind its parameters: packing, and number of elements.
        self.sorts: list[list[tuple[str, int]]] = []
        self.codes: list[bytes] = []
        for event in registry._events:
            if event.kind.bit == header.kind:
                self.sorts.append([(registry._repr(param.sort), param.count) for param in event.params])
                self.codes.append(_packed_code(event.code))
        most = max((sum(count or 1 for _, count in sorts) for sorts in self.sorts), default=0)
        # Behind the last byte there is room for an event that begins there.
        room = 9 * (most + 4)
        self.data = b"".join([memoryview(part.padded)[: -len(_PADDING)] for part in parts] + [bytes(room + 8)])
        self.size = len(self.data) - room - 8
        self.bytes = np.frombuffer(self.data, "u1")
        #: The word at every byte, and what takes some of them.
        self.words = np.ndarray((self.size + room,), "<u8", self.data, strides=(1,))
        self.word: _t.Callable[[_t.Any], _t.Any] = self.words.__getitem__
        #: Where the payloads begin.
        self.starts = np.cumsum([0] + [part.header.payload_len for part in parts[:-1]])
        self.shapes = columns.shapes.setdefault((header.registry, header.kind), _Shapes())
        #: By place, the one behind the event that may begin there.
        self.end = np.empty(self.size + 2, "i4")
        #: Places at which events that have a shape may begin.
        self.alike: list[tuple[_Shape, _t.Any]] = []
        #: Those that were read number by number, by their number in the kind, and what was read.
        self.others: list[tuple[int, _t.Any, list[_t.Any]]] = []
        #: Where events begin, once found.
        self.at: _t.Any = None
        #: Or, if they are runs, their bytes, each as words; and of those that are not in any, which they are,
        #: by place.
        self.rows: _t.Any = None
        self.odd: dict[int, int] = {}

    def find(self) -> _t.Any:
        """Finds the events: how many there are before each payload and in all. None if something is
        wrong with them."""
        np = self.np
        shapes = self.shapes
        if not shapes.all and shapes.pause == 0:
            self.learn()
        shapes.pause = max(shapes.pause - 1, 0)
        if len(shapes.all) == 1:
            bounds = self.runs(shapes.all[0])
            if bounds is not None:
                return bounds
            self.others.clear()
        at = self.at = self.each()
        if at is None:
            return None
        # Those of a block begin at its start.
        bounds = np.append(np.searchsorted(at, self.starts), len(at))
        return bounds if np.array_equal(at.take(bounds[:-1], mode="clip"), self.starts) else None

    def runs(self, shape: _Shape) -> _t.Any:
        """Finds the events as runs of a shape. None if there are too many others, or something is wrong."""
        np, size, length = self.np, self.size, shape.end
        found = shape.places(self.bytes, size)
        # Places at which a run may end, and what stands there.
        ends = np.flatnonzero(found[:-length] > found[length:]) + length
        if len(ends) * length * _RARE_RUN > size:
            return None
        by_rest: list[list[int]] = [[] for _ in range(length)]
        for end in ends.tolist():
            by_rest[end % length].append(end)
        at = np.concatenate((ends, self.starts[~found.take(self.starts)]))
        behind: dict[int, int] = {}
        for _ in range(_MOST_ROUNDS):
            if len(at) == 0:
                break
            at = np.unique(at)
            self.end[at] = size + 1
            self.read(at)
            next_ = self.end.take(at)
            behind.update(zip(at.tolist(), next_.tolist()))
            next_ = next_[next_ < size]
            at = np.array([place for place in next_[~found.take(next_)].tolist() if place not in behind], "i8")
        if len(at):
            return None
        runs: list[tuple[int, int]] = []
        bounds, count = [0], 0
        starts = self.starts.tolist()
        for place, end in zip(starts, [*starts[1:], size]):
            while place < end:
                stop = behind.get(place)
                if stop is None:
                    of_rest = by_rest[place % length]
                    index = _bisect.bisect_right(of_rest, place)
                    stop = min(of_rest[index], end) if index < len(of_rest) else end
                    if (stop - place) % length:
                        return None
                    runs.append((place, count))
                    count += (stop - place) // length
                else:
                    self.odd[place] = count
                    count += 1
                place = stop
            if place != end:
                return None
            bounds.append(count)
        shape.hits = count
        # What is odd has any numbers, until it gets its own.
        room = -(-(shape.words[-1][0] + 8) // 8)
        self.rows = np.empty((count, room), "<u8")
        dtype = np.dtype(f"V{8 * room}")
        rows = self.rows.view(dtype).reshape(-1)
        odd = [*sorted(self.odd.values()), count]
        self.rows[odd[:-1]] = 0
        index = 0
        for place, row in runs:
            while odd[index] < row:
                index += 1
            many = odd[index] - row
            rows[row : row + many] = np.ndarray((many,), dtype, self.data, place, (length,))
        return np.array(bounds)

    def each(self) -> _t.Any:
        """Finds the places at which events begin. None if something is wrong with them."""
        np = self.np
        shapes = self.shapes
        # As many are wanted that a copy, which is aligned, is worth it.
        self.words = self.words.copy()
        self.word = self.words.take
        # Places to which something leads, and at which something may begin.
        is_led = np.zeros(self.size + 2, "?")
        is_led[self.starts] = True
        begins = np.zeros(self.size, "?")
        hits = 0
        for form in dict.fromkeys([shape.form for shape in shapes.all]):
            left = np.flatnonzero(self.bytes[: self.size] == self.codes[form][0])
            heads = self.words.take(left)
            for shape in shapes.all:
                if shape.form == form:
                    left, heads = self.match(shape, left, heads)
        for shape, at in self.alike:
            hits += len(at)
            end = np.minimum(at + shape.end, self.size + 1)
            self.end[at] = end
            is_led[end] = True
            begins[at] = True
        shapes.all.sort(key=lambda shape: -shape.hits)
        # What has no shape counts only if something leads to it.
        others = 0
        rounds = _MOST_ROUNDS if self.alike else 0
        for number in range(rounds + 1):
            open_ = is_led[: self.size] > begins
            if number == rounds and open_.any():
                # They follow each other: all that can be one is read.
                firsts = {code[0] for code in self.codes}
                open_ = np.array([first in firsts for first in range(256)]).take(self.bytes[: self.size])
                open_ &= ~begins
            at = np.flatnonzero(open_)
            if len(at) == 0:
                break
            others += len(at)
            begins[at] = True
            self.end[at] = self.size + 1
            self.read(at)
            is_led[self.end.take(at)] = True
        if others * 8 > hits:
            # The next piece finds its own.
            shapes.all.clear()
            shapes.pause, shapes.next_pause = shapes.next_pause - 1, min(2 * shapes.next_pause, 64)
        else:
            shapes.next_pause = 1
        return self.led(np.flatnonzero(begins))

    def learn(self) -> None:
        """Finds the shapes that the first events of payloads have."""
        found: dict[tuple[int, tuple[tuple[int, bool], ...]], int] = {}
        starts = self.starts.tolist()
        # Of each number of an event whether it is a text, and the bytes that it takes if they do not vary.
        numbers = [
            [
                (packing in ("string", "bytes"), _FIXED.get(packing))
                for packing, count in [("u64", 0), *sorts]
                for _ in range(count or 1)
            ]
            for sorts in self.sorts
        ]
        for start, end in zip(starts, [*starts[1:], self.size]):
            at = start
            for _ in range(-(-_SAMPLE // len(starts))):
                code = next((form for form, code in enumerate(self.codes) if self.data.startswith(code, at)), None)
                if at >= end or code is None:
                    break
                at += len(self.codes[code])
                lengths: list[tuple[int, bool]] = []
                has_text = False
                for is_text, fixed in numbers[code]:
                    length = fixed or _LEN[self.data[at]]
                    lengths.append((length, fixed is None))
                    if is_text:
                        has_text = True
                        length, at = _unsigned(self.data, at, self.size + 8)
                        at = min(at + length, self.size)
                    else:
                        at += length
                if not has_text:
                    key = code, tuple(lengths)
                    found[key] = found.get(key, 0) + 1
        common = sorted(found, key=lambda key: -found[key])[:_MOST_SHAPES]
        shapes = [_Shape(self.np, form, self.codes[form], lengths) for form, lengths in common]
        self.shapes.all = [shape for key, shape in zip(common, shapes) if found[key] * _RARE > _SAMPLE]

    def match(self, shape: _Shape, at: _t.Any, heads: _t.Any) -> tuple[_t.Any, _t.Any]:
        """Finds a shape at some places whose first words are known, and gives the others."""
        np = self.np
        _, mask, bits = shape.words[0]
        has = heads & mask == bits
        chosen = np.flatnonzero(has)
        places = at.take(chosen)
        for offset, mask, bits in shape.words[1:]:
            if mask:
                of_chosen = self.words.take(places + offset) & mask == bits
                if not of_chosen.all():
                    has[chosen] = of_chosen
                    chosen = np.flatnonzero(has)
                    places = at.take(chosen)
        shape.hits = len(places)
        if len(places):
            self.alike.append((shape, places))
        left = np.flatnonzero(~has)
        return at.take(left), heads.take(left)

    def read(self, at: _t.Any) -> None:
        """Reads the events at some places number by number."""
        heads = self.word(at)
        for form, (code, sorts) in enumerate(zip(self.codes, self.sorts)):
            mask = self.np.uint64((1 << 8 * len(code)) - 1)
            bits = self.np.uint64(int.from_bytes(code, "little"))
            of_form = at.take(self.np.flatnonzero(heads & mask == bits))
            if len(of_form):
                values, self.end[of_form] = self.params(sorts, of_form + len(code))
                self.others.append((form, of_form, values))

    def numbers(self, at: _t.Any) -> tuple[_t.Any, _t.Any]:
        """The unsigned numbers at some places, and the places behind them."""
        first = self.bytes.take(at)
        value = self.word(at)
        value &= self.columns.keep.take(first)
        value >>= self.columns.shift.take(first)
        behind = self.columns.len.take(first)
        behind += at
        if not first.all():
            nine = self.np.flatnonzero(first == 0)
            value[nine] = self.word(at.take(nine) + 1)
        return value, behind

    def params(self, sorts: list[tuple[str, int]], at: _t.Any) -> tuple[list[_t.Any], _t.Any]:
        """Times and parameters as they are packed, and the places behind them."""
        np = self.np
        ticks, at = self.numbers(at)
        values = [ticks]
        for packing, count in sorts:
            elements = []
            for _ in range(count or 1):
                if packing in ("u8", "i8", "bool"):
                    value, at = self.bytes.take(at), at + 1
                elif packing == "f32":
                    value, at = self.word(at) & np.uint64(0xFFFF_FFFF), at + 4
                elif packing == "f64":
                    value, at = self.word(at), at + 8
                else:
                    value, at = self.numbers(at)
                if packing in ("string", "bytes"):
                    # One that reaches beyond the end is none.
                    length = np.minimum(value, np.uint64(self.size + 1)).astype("i8")
                    value = np.stack((at, length), 1)
                    at = np.minimum(at + length, self.size + 1)
                elements.append(value)
            values.append(np.stack(elements, 1) if count else elements[0])
        return values, np.minimum(at, self.size + 1)

    def led(self, at: _t.Any) -> _t.Any:
        """Those of some places to which the first leads, over the ends of events, up to the end of all.
        None if it leads elsewhere."""
        np = self.np
        if len(at) == 0 or at[0] != 0:
            return None
        end = self.end.take(at)
        if end[-1] == self.size and not (end[:-1] != at[1:]).any():
            return at
        # Steps from each to the next. The last two are what leads nowhere, and the end of all.
        none = len(at)
        index = np.full(self.size + 2, none, "i4")
        index[at] = np.arange(none, dtype="i4")
        index[self.size] = none + 1
        steps = [np.append(index.take(end), np.array([none, none + 1], "i4")).astype("i8")]
        for _ in range(5):
            steps.append(steps[-1].take(steps[-1]))
        far = steps[-1].tolist()
        reached = []
        place = 0
        while place < none:
            reached.append(place)
            place = far[place]
        if place == none:
            return None
        chosen = np.array(reached)
        for step in reversed(steps[:-1]):
            chosen = np.stack((chosen, step.take(chosen)), 1).reshape(-1)
        return at.take(chosen[: np.searchsorted(chosen, none)])

    def forms(self) -> _t.Any:
        """The number in the kind of each event, or of all."""
        np = self.np
        if self.rows is not None:
            (shape,) = self.shapes.all
            if all(form == shape.form for form, _, _ in self.others):
                return shape.form
            forms = np.full(len(self.rows), shape.form, "i4")
            for form, places, _ in self.others:
                ranks = self.ranks(None)(places)
                forms[ranks[ranks >= 0]] = form
            return shape.form if (forms == shape.form).all() else forms
        found = {shape.form for shape, _ in self.alike} | {form for form, _, _ in self.others}
        if len(found) == 1:
            return found.pop()
        forms = np.zeros(self.size, "i4")
        for shape, places in self.alike:
            forms[places] = shape.form
        for form, places, _ in self.others:
            forms[places] = form
        return forms.take(self.at)

    def ranks(self, rows: _t.Any) -> _t.Callable[[_t.Any], _t.Any]:
        """Tells which of all or some events begin at some places; -1 for none."""
        np = self.np
        if self.rows is None:
            at = self.at if rows is None else self.at.take(rows)
            rank = np.full(self.size, -1, "i4")
            rank[at] = np.arange(len(at), dtype="i4")
            return lambda places: rank.take(places)

        def ranks(places: _t.Any) -> _t.Any:
            found = np.array([self.odd.get(place, -1) for place in places.tolist()], "i4")
            if rows is None:
                return found
            of_rows = np.searchsorted(rows, found)
            return np.where(rows.take(of_rows, mode="clip") == found, of_rows, -1)

        return ranks

    def values(self, form: int, rows: _t.Any, count: int) -> list[_t.Any]:
        """Of the events of one form, which are all or some, times and parameters as they are packed."""
        np = self.np
        values = [np.empty(count, "u8")]
        for packing, elements in self.sorts[form]:
            is_text = packing in ("string", "bytes")
            values.append(np.empty((count, *([elements] if elements else []), *([2] if is_text else [])), "u8"))
        if count == 0:
            return values
        # Each number of an event has a column, or a part of it.
        numbers = [column for value in values for column in ([value] if value.ndim == 1 else value.T)]
        alike = [(shape, places) for shape, places in self.alike if shape.form == form]
        if self.rows is not None and self.shapes.all[0].form == form:
            (shape,) = self.shapes.all
            bytes_ = self.rows if rows is None else self.rows.take(rows, 0)
            stride = bytes_.strides[0]
            words = [np.ndarray((count,), "<u8", bytes_, offset, (stride,)) for offset, _, _ in shape.words]
            shape.take(words, numbers)
        elif alike and len(alike[0][1]) * 2 > count:
            # As if all had it.
            self.numbers_of(alike.pop(0)[0], self.at if rows is None else self.at.take(rows), numbers)
        others = [(places, of_others) for other, places, of_others in self.others if other == form]
        if not alike and not others:
            return values
        ranks = self.ranks(rows)
        for shape, places in alike:
            into = ranks(places)
            chosen = np.flatnonzero(into >= 0)
            found = [np.empty(len(chosen), "u8") for _ in numbers]
            self.numbers_of(shape, places.take(chosen), found)
            into = into.take(chosen).astype("i8")
            for column, of_shape in zip(numbers, found):
                column[into] = of_shape
        for places, of_others in others:
            into = ranks(places)
            chosen = np.flatnonzero(into >= 0)
            into = into.take(chosen)
            for value, packed in zip(values, of_others):
                value[into] = packed.take(chosen, 0)
        return values

    def numbers_of(self, shape: _Shape, at: _t.Any, out: list[_t.Any]) -> None:
        shape.take([self.words.take(at + offset if offset else at) for offset, _, _ in shape.words], out)


class _Columns:
    """What is found of the events of each code: columns in pieces."""

    def __init__(self, np: _t.Any, reader: Reader[_t.Any], module: _Module) -> None:
        self.np = np
        self.reader = reader
        self.module = module
        self.pieces: dict[int, list[_Rows]] = {}
        #: Those to which more can be added, by code and registry.
        self.open: dict[tuple[int, int], _Rows] = {}
        #: How many events there may be of a registry's kind.
        self.expected: dict[tuple[int, int], int] = {}
        self.shapes: dict[tuple[int, int], _Shapes] = {}
        #: By the first byte of a number.
        self.len = np.frombuffer(_LEN, "u1").astype("i8")
        self.shift = np.frombuffer(_SHIFT, "u1").astype("u8")
        self.keep = np.array([_MAX >> 64 - 8 * min(length, 8) for length in _LEN], "u8")

    def is_plain(self, registry: Registry, bit: int) -> bool:
        """True if all events of a kind can be read as columns."""
        params = [param for event in registry._events if event.kind.bit == bit for param in event.params]
        return all(0 <= param.count <= _MOST_ELEMENTS for param in params)

    def read(self, registry: Registry, parts: list[_Part]) -> bool:
        """Reads whole blocks of one kind. False, and nothing is read, if anything is unusual in them."""
        np = self.np
        header = parts[0].header
        forms = [event for event in registry._events if event.kind.bit == header.kind]
        piece = _Piece(self, registry, parts)
        bounds = piece.find()
        if bounds is None:
            return False
        total = int(bounds[-1])
        if not np.array_equal(np.diff(bounds), [part.header.events for part in parts]):
            return False
        # Times are sums over the events of a block, deltas over those of a code in it.
        base = np.array([part.header.base_ticks for part in parts], "u8")
        time = None
        found: list[tuple[_t.Any, list[_t.Any]]] = []
        of_forms = piece.forms()
        if isinstance(of_forms, int):
            for form in range(len(forms)):
                found.append((None, piece.values(form, None, total if form == of_forms else 0)))
        else:
            time = np.empty(total, "u8")
            for form in range(len(forms)):
                rows = np.flatnonzero(of_forms == form)
                found.append((rows, piece.values(form, rows, len(rows))))
                time[rows] = found[-1][1][0]
            self.sums(time, bounds, time, base)
        known = self.reader._forms(header.registry)
        done: list[tuple[int, _Rows, _t.Any]] = []
        for event, (rows, values) in zip(forms, found):
            count = len(values[0])
            is_known = event.code in known
            if count == 0:
                continue
            limits = bounds if rows is None else np.searchsorted(rows, bounds)
            into = self.rows(event.code, header, count, total) if is_known else _Rows(count)
            ticks = self.out(into, "ticks", "u8", (), count)
            if time is None:
                self.sums(values[0], limits, ticks, base)
            else:
                ticks[:] = time.take(rows)
            for param, value in zip(event.params, values[1:]):
                packing = registry._repr(param.sort)
                elements = (param.count,) if param.count else ()
                out = self.out(into, param.name + "'", _DTYPES.get(packing, "O"), elements, count)
                if not self.column(packing, param.rotation, value, limits, out, piece.data):
                    return False
            done.append((event.code if is_known else -1, into, np.diff(limits).tolist()))
        # All of it is right: now it counts.
        for code, into, counts in done:
            if code < 0:
                self.reader.others += sum(counts)
            else:
                into.used += sum(counts)
                into.lanes += [(part.state.number, of) for part, of in zip(parts, counts) if of]
                if self.open.get((code, header.registry)) is not into:
                    self.open[code, header.registry] = into
                    self.pieces.setdefault(code, []).append(into)
        return True

    def rows(self, code: int, header: _Header, count: int, of_all: int) -> _Rows:
        """Where some more events of a code go, if there are so many of all codes."""
        into = self.open.get((code, header.registry))
        if into is not None and into.room - into.used >= count:
            return into
        if into is not None:
            return _Rows(max(count, min(2 * into.room, _MOST_ROOM)))
        if code in self.pieces:
            return _Rows(count)
        # As if their share stays what it is.
        expected = self.expected.get((header.registry, header.kind), 0) * count // max(of_all, 1)
        return _Rows(count if count == of_all and expected < count else max(count, expected + expected // 16))

    def out(self, rows: _Rows, name: str, dtype: str, elements: tuple[int, ...], count: int) -> _t.Any:
        """Where the next values of a column go."""
        column = rows.columns.get(name)
        if column is None:
            column = rows.columns[name] = self.empty((rows.room, *elements), dtype)
        return column[rows.used : rows.used + count]

    def empty(self, shape: tuple[int, ...], dtype: str) -> _t.Any:
        """A new array. A large one has large pages of memory to itself, as far as the system has them:
        small ones are made one by one, when they are first written to."""
        np = self.np
        size = _math.prod(shape) * np.dtype(dtype).itemsize
        if dtype == "O" or size < _LARGE_PAGE:
            return np.empty(shape, dtype)
        room = np.empty(size + -size % _LARGE_PAGE + _LARGE_PAGE, "u1")
        start = -room.__array_interface__["data"][0] % _LARGE_PAGE
        return room[start : start + size].view(dtype).reshape(shape)

    def sums(self, values: _t.Any, bounds: _t.Any, out: _t.Any, base: _t.Any = None) -> None:
        """The sums of values up to each, of the groups between some bounds. Changes the values."""
        np = self.np
        groups = np.flatnonzero(bounds[1:] > bounds[:-1])
        if len(groups) == 0:
            return
        starts = bounds.take(groups)
        firsts = np.zeros(len(groups), "u8") if base is None else base.take(groups)
        if len(groups) > 1:
            # What is to be taken away where the next begins.
            firsts[1:] -= firsts[:-1] + np.add.reduceat(values, starts)[:-1]
        values[starts] += firsts
        # Two halves at once: each sum waits for the one before it.
        half = len(values) // 2
        pairs = np.empty((half + 1, 2), "u8")
        pairs[0] = 0
        pairs[1:, 0] = values[:half]
        pairs[1:, 1] = values[half : 2 * half]
        np.cumsum(pairs, 0, out=pairs)
        out[:half] = pairs[1:, 0]
        np.add(pairs[1:, 1], pairs[-1, 0], out=out[half : 2 * half])
        if len(values) & 1:
            out[-1:] = values[-1:] + pairs[-1:].sum(1)

    def column(
        self, packing: str, rotation: int, values: _t.Any, bounds: _t.Any, out: _t.Any, data: bytes
    ) -> bool:
        """Values of packed ones, which may be changed. False if one is not of its sort."""
        np = self.np
        if packing in ("string", "bytes"):
            pieces = [data[start : start + length] for start, length in values.reshape(-1, 2).tolist()]
            is_text = packing == "string"
            found = np.empty(len(pieces), object)
            found[:] = [piece.decode("utf-8", "surrogateescape") for piece in pieces] if is_text else pieces
            out[...] = found.reshape(out.shape)
            return True
        if packing == "f64":
            out[...] = np.ascontiguousarray(values).view("<f8")
        elif packing == "f32":
            out[...] = values.astype("<u4").view("<f4")
        elif packing == "i8":
            out[...] = values.astype("u1").view("i1")
        elif packing == "bool":
            out[...] = values
            return not len(values) or bool(values.max() <= 1)
        elif packing == "delta" or packing[0] == "i":
            sign = values & np.uint64(1)
            np.negative(sign, out=sign)
            values >>= np.uint64(1)
            values ^= sign
            if packing == "delta" and values.ndim == 1:
                self.sums(values, bounds, out)
                if rotation:
                    np.right_shift(out, np.uint64(64 - rotation), out=values)
                    np.left_shift(out, np.uint64(rotation), out=out)
                    np.bitwise_or(out, values, out=out)
            elif packing == "delta":
                # The first counts from the last first one, the others from the one before.
                self.sums(np.ascontiguousarray(values[:, 0]), bounds, out[:, 0])
                values[:, 0] = out[:, 0]
                np.cumsum(values, 1, dtype="u8", out=out)
            else:
                out[...] = values = values.view("i8")
        else:
            out[...] = values
        least, most = _RANGE.get(packing, (0, None))
        if most is None or not len(values):
            return True
        return bool(values.max() <= most and (least == 0 or values.min() >= least))

    def take(self, part: _Part) -> None:
        """Reads a part event by event."""
        by_code: dict[int, list[_t.Any]] = {}
        while True:
            for event in self.reader._read(part, _BATCH):
                by_code.setdefault(event.DESC.code, []).append(event)
            if self.reader._is_at_end(part):
                break
        self.reader._close(part)
        own = self.module.registry()
        # What comes later is behind these.
        self.open.clear()
        for code, events in by_code.items():
            rows = _Rows(len(events))
            rows.used = len(events)
            rows.lanes.append((part.state.number, len(events)))
            rows.columns["ticks"] = self.np.array([event.ticks for event in events], "u8")
            for param in own._by_code[code].params:
                values = [getattr(event, _attribute(param.name)) for event in events]
                if values[0] is not None:
                    rows.columns[param.name + "'"] = self.array(own, param, values)
            self.pieces.setdefault(code, []).append(rows)

    def array(self, registry: Registry, param: _Param, values: list[_t.Any]) -> _t.Any:
        packing = registry._repr(param.sort)
        if packing in _DTYPES and 0 <= param.count <= _MOST_ELEMENTS:
            return self.np.array(values, _DTYPES[packing])
        out = self.np.empty(len(values), object)
        for index, value in enumerate(values):
            out[index] = self.np.array(value, _DTYPES[packing]) if param.count else value
        return out

    def joined(self, code: int) -> dict[str, _t.Any]:
        """The columns of an event, by time."""
        np = self.np
        states = list(self.reader._states.values())
        ranked = sorted(self.reader.sessions, key=lambda session: (session._clock.start_wall, session.id))
        registries = self.reader.registries

        def tie(number: int) -> tuple[int, bool, int, int]:
            state = states[number]
            registry = registries.get(state.registry)
            kind = registry._kind(state.kind) if registry is not None else None
            return state.thread, kind is not None and kind.inherits, state.kind, number

        pieces = self.pieces[code]
        ticks = self.whole([piece.columns["ticks"][: piece.used] for piece in pieces])
        lanes = [lane for piece in pieces for lane in piece.lanes]
        numbers = np.array([number for number, _ in lanes])
        counts = np.array([count for _, count in lanes])
        of_lanes = [states[number] for number, _ in lanes]
        ids = np.array([state.session.id for state in of_lanes], "u8")
        # Each lane is in order.
        tied = sorted(range(len(states)), key=tie)
        place = np.empty(len(states), "i8")
        place[tied] = np.arange(len(tied))
        order: _t.Any = slice(None)
        if len(ranked) < 2:
            time = self.nanoseconds(ranked[0]._clock, ticks)
            if (numbers != numbers[0]).any() or (ticks[1:] < ticks[:-1]).any():
                order = np.lexsort((np.repeat(place.take(numbers), counts), ticks))
        else:
            time, wall, rank = (np.empty(len(ticks), "i8") for _ in range(3))
            of_events = np.repeat(ids, counts)
            for number, session in enumerate(ranked):
                chosen = of_events == session.id
                time[chosen] = self.nanoseconds(session._clock, ticks[chosen])
                wall[chosen] = session._clock.start_wall & _MAX_NS
                rank[chosen] = number
            order = np.lexsort((np.repeat(place.take(numbers), counts), ticks, rank, wall + time))
        columns = {"ticks": ticks[order], "time_ns": time[order]}
        threads = np.array([state.thread for state in of_lanes], "u4")
        columns["thread"] = self.repeated(threads, counts)[order]
        columns["session"] = self.repeated(ids, counts)[order]
        for param in self.module.registry()._by_code[code].params:
            arrays = [piece.columns.get(param.name + "'") for piece in pieces]
            arrays = [None if array is None else array[: piece.used] for array, piece in zip(arrays, pieces)]
            if not any(array is None for array in arrays):
                columns[_attribute(param.name)] = self.whole(arrays)[order]
                continue
            # Absent from some of the streams, or all.
            packing = self.module.registry()._repr(param.sort)
            dtype = _DTYPES.get(packing, "O") if not param.count else "O"
            shown = [array for array in arrays if array is not None]
            shape = shown[0].shape[1:] if shown else ()
            dtype = shown[0].dtype if shown else dtype
            absent = [array is None for array in arrays]
            filled = [
                np.zeros((piece.used, *shape), dtype) if array is None else array
                for array, piece in zip(arrays, pieces)
            ]
            masks = [np.full(array.shape, is_absent) for array, is_absent in zip(filled, absent)]
            whole = np.ma.masked_array(np.concatenate(filled), np.concatenate(masks))
            columns[_attribute(param.name)] = whole[order]
        return columns

    def whole(self, arrays: list[_t.Any]) -> _t.Any:
        """One array of several."""
        return arrays[0] if len(arrays) == 1 else self.np.concatenate(arrays)

    def repeated(self, values: _t.Any, counts: _t.Any) -> _t.Any:
        """Each value as often as is said."""
        if (values != values[0]).any():
            return self.np.repeat(values, counts)
        out = self.empty((int(counts.sum()),), values.dtype.str)
        out.fill(values[0])
        return out

    def nanoseconds(self, clock: _Clock, ticks: _t.Any) -> _t.Any:
        np = self.np
        start = np.uint64(clock.start_ticks)
        if clock.rate == 1 << 64 or len(ticks) == 0:
            return (ticks - start).view("i8")
        out = self.empty((len(ticks),), "i8")
        # Some at a time, so that what lies between stays in the cache.
        for at in range(0, len(ticks), 8192):
            of, into = ticks[at : at + 8192] - start, out[at : at + 8192]
            first, last = int(of.view("i8").min()), int(of.view("i8").max())
            if max(-first, last) * clock.rate >> 64 >= _MAX_NS:
                into[:] = [clock.ns(int(reading)) for reading in ticks[at : at + 8192]]
            elif first < 0 or last - first >> 31:
                into[:] = self.far_nanoseconds(clock.rate, of.view("i8"))
            else:
                self.near_nanoseconds(clock.rate, first, of, into.view("u8"))
        return out

    def near_nanoseconds(self, rate: int, first: int, near: _t.Any, out: _t.Any) -> None:
        """Nanoseconds of distances that are less than 2^31 from the first, which they are changed to:
        its product is one of 128 bits, theirs are of 96."""
        np = self.np
        near -= np.uint64(first)
        product = first * rate
        high, low = product >> 64, product & _MAX
        part = rate & _MAX
        carry = near * np.uint64(part & 0xFFFF_FFFF)
        carry += np.uint64(low & 0xFFFF_FFFF)
        carry >>= np.uint64(32)
        whole: _t.Any = np.uint64(high)
        if rate >> 64:
            whole = near * np.uint64(rate >> 64)
            whole += np.uint64(high)
        near *= np.uint64(part >> 32)
        near += carry
        # To the nearest.
        near += np.uint64((low >> 32) + (1 << 31))
        near >>= np.uint64(32)
        np.add(near, whole, out=out)

    def far_nanoseconds(self, rate: int, distance: _t.Any) -> _t.Any:
        """Nanoseconds of distances of any size."""
        np = self.np
        whole, part = np.uint64(rate >> 64), rate & _MAX
        half, low = np.uint64(32), np.uint64(0xFFFF_FFFF)
        c, d = np.uint64(part >> 32), np.uint64(part & 0xFFFF_FFFF)
        span = np.abs(distance).view("u8")
        a, b = span >> half, span & low
        ad, bc = a * d, b * c
        middle = (b * d >> half) + (ad & low) + (bc & low)
        high = a * c + (ad >> half) + (bc >> half) + (middle >> half)
        # To the nearest: the highest bit of what is below.
        ns = (span * whole + high + (middle >> np.uint64(31) & np.uint64(1))).view("i8")
        return np.where(distance < 0, -ns, ns)


def _packed_code(code: int) -> bytes:
    """A code as it is packed shortest."""
    length = 1 if code < 1 << 7 else 2 if code < 1 << 14 else 3
    return ((code << 1 | 1) << length - 1).to_bytes(length, "little")


def _loaded(
    reader: Reader[_t.Any], blocks: list[_Block], checksum: _FastCrc
) -> _t.Iterator[tuple[_Block, _t.Union[bytes, _Damage]]]:
    """Blocks and their payloads, of which some are checked at once."""
    start = 0
    while start < len(blocks):
        end, size = start, 0
        while end == start or end < len(blocks) and size + blocks[end].header.payload_len <= _AT_ONCE:
            size += blocks[end].header.payload_len
            end += 1
        some = [(block, reader._payload(block)) for block in blocks[start:end]]
        crcs = iter(checksum.of_all([payload for _, payload in some if isinstance(payload, bytes)]))
        for block, payload in some:
            crc = next(crcs) if isinstance(payload, bytes) else None
            yield block, reader._check(block, payload, crc)
        start = end


def _columns(
    module: _Module, inputs: _t.Sequence[_Input], strict: bool
) -> dict[str, dict[str, _t.Any]]:
    try:
        np: _t.Any = _importlib.import_module("numpy")
    except _b.ImportError as error:
        raise _b.ImportError("columns need NumPy: pip install numpy; `read` does without") from error
    reader: Reader[_t.Any] = Reader(module, inputs, "stream", strict)
    found = _Columns(np, reader, module)
    waiting: dict[tuple[int, int], list[_Part]] = {}
    sizes: dict[tuple[int, int], int] = {}
    ends: dict[int, int] = {}
    plain: dict[tuple[int, int], bool] = {}

    def flush(key: tuple[int, int]) -> None:
        parts = waiting.pop(key, [])
        sizes.pop(key, None)
        if not parts:
            return
        if not found.read(reader.registries[key[0]], parts):
            for part in parts:
                found.take(part)
            return
        for part in parts:
            part.next, part.pos = part.header.end(), part.header.payload_len
            reader._report.events += part.header.events
            reader._close(part)

    for block in reader._blocks:
        header = block.header
        key = header.registry, header.kind
        # An event has two bytes at least.
        most = header.payload_len * (_MOST_TIMES if header.codec else 1) // 2
        found.expected[key] = found.expected.get(key, 0) + min(header.events, most)
    for block, payload in _loaded(reader, sorted(reader._blocks, key=_place), _fast_crc(np)):
        header = block.header
        key = header.registry, header.kind
        if header.before < ends.get(block.lane.number, 0) or header.offset:
            # It repeats or continues what is not read yet.
            flush(key)
        part = reader._open(block, payload)
        if part is None:
            continue
        header = part.header
        ends[block.lane.number] = header.end()
        if key not in plain:
            plain[key] = found.is_plain(reader.registries[header.registry], header.kind)
        is_whole = header.offset == 0 and header.flags & _LAST and header.payload_len > 0
        if not (is_whole and plain[key] and part.give == (header.before, header.end())):
            flush(key)
            found.take(part)
            continue
        waiting.setdefault(key, []).append(part)
        sizes[key] = sizes.get(key, 0) + header.payload_len
        if sizes[key] >= _PIECE:
            flush(key)
    for key in list(waiting):
        flush(key)
    reader.close()
    names = {code: one.DESC.name for code, one in module.classes.items()}
    return {names[code]: found.joined(code) for code in sorted(found.pieces)}


# --- The command: `python -m MODULE`.


def _cnv(value: object) -> bytes:
    """A value in the text of the MPS's `mpseventcnv`."""
    if isinstance(value, int):
        return b"%X" % value if value >= 0 else b"-%X" % -value
    if isinstance(value, float):
        text = b"%.10G" % value
        is_negative = value != value and _math.copysign(1, value) < 0
        return b"-" + text if is_negative else text
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return b'"' + escaped.encode("utf-8", "surrogateescape") + b'"'
    if isinstance(value, (bytes, bytearray)):
        return b'"' + value.hex().upper().encode() + b'"'
    if isinstance(value, list):
        return b"[" + b",".join(map(_cnv, value)) + b"]"
    return b"-"


def _cnv_line(event: _t.Any, names: _t.Sequence[str]) -> bytes:
    values = b"".join(b" " + _cnv(getattr(event, name)) for name in names if getattr(event, name) is not None)
    return b"%016X %4X%b\n" % (event.ticks, event.DESC.code, values)


def _shown(value: object, sort: str) -> str:
    if isinstance(value, list):
        return "[" + " ".join(_shown(item, sort.strip("[]").partition(";")[0]) for item in value) + "]"
    if isinstance(value, _enum.IntEnum):
        return value.name
    if isinstance(value, _enum.IntFlag):
        # As `telemetry print` shows them; what Python calls a set of flags differs by its version.
        names = {int(member): name for name, member in type(value).__members__.items()}
        rest = 0 if int(value) in names else int(value)
        parts = [names[int(value)]] if int(value) in names else []
        for mask, name in names.items():
            if rest and mask and int(value) & mask == mask:
                parts.append(name)
        for mask in names:
            rest &= ~mask if int(value) & mask == mask else -1
        return "|".join([*parts, *([f"{rest:#x}"] if rest else [])]) or "0"
    if sort in ("P", "A") and isinstance(value, int):
        return f"{value:#x}"
    if isinstance(value, LabelRef) and value.text is not None:
        return ascii(value.text) if not value.text.isprintable() else value.text
    if isinstance(value, str):
        return repr(value) if value.isprintable() else ascii(value)
    return repr(value) if not isinstance(value, LabelRef) else str(value)


def _print_line(event: _t.Any, names: _t.Sequence[str]) -> bytes:
    desc, lane = event.DESC, event.lane
    thread = lane.thread_name or f"#{lane.thread}"
    head = f"{event.time_ns:>17_}  {ascii(thread)[1:-1]:<16} {desc.kind.name:<7} {desc.name:<21}"
    params = [
        f"{param.name}:{_shown(getattr(event, name), param.sort)}"
        for param, name in zip(desc.params, names)
        if getattr(event, name) is not None
    ]
    return ("  ".join([head, *params]).rstrip() + "\n").encode("utf-8", "backslashreplace")


def _main(module: _Module, arguments: _t.Optional[_t.Sequence[str]]) -> int:
    """Prints the events of streams. 1 for problems of the stream, 2 if it could not be read."""
    name = module.name
    program = _os.path.splitext(_os.path.basename(_sys.argv[0]))[0]
    parser = _argparse.ArgumentParser(
        prog=f"python -m {program}",
        description=f"Prints the events of the registry {name} in telemetry streams.",
        epilog="The verdict on what was read goes to standard error. Exit codes: 0 done, 1 a part of the "
        "stream is damaged or was not understood (with --strict also if anything is lost, missing or "
        "unfinished), 2 not done.",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="streams, read as one; - is standard input")
    parser.add_argument("--cnv", action="store_true", help="the text of mpseventcnv, in the stream's order")
    parser.add_argument("--order", choices=("time", "stream"), help="the order of events [default: time]")
    parser.add_argument("--strict", action="store_true", help="refuse streams whose events have another form")
    options = parser.parse_args(arguments)
    order = options.order or ("stream" if options.cnv else "time")
    line = _cnv_line if options.cnv else _print_line
    classes = module.classes.items()
    names = {code: [_attribute(param.name) for param in one.DESC.params] for code, one in classes}
    out = _sys.stdout.buffer
    try:
        reader: Reader[_t.Any] = Reader(module, options.files, order, options.strict)
        for event in reader:
            out.write(line(event, names[event.DESC.code]))
        out.flush()
    except _b.BrokenPipeError:
        # Whoever reads the output has read enough. What is buffered goes nowhere.
        _os.dup2(_os.open(_os.devnull, _os.O_WRONLY), _sys.stdout.fileno())
        return 0
    except _b.KeyboardInterrupt:
        # Dies of the signal as other programs do, so that a shell sees it, and without a traceback.
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        _signal.raise_signal(_signal.SIGINT)
        return 130
    except (_b.OSError, VersionError) as error:
        _sys.stderr.write(f"{name}: {error}\n")
        return 2
    completeness = reader.completeness
    for form in reader.other_forms:
        _sys.stderr.write(f"{name}: passed over, since its form is another: {form}\n")
    others = f"; {reader.others} passed over" if reader.others else ""
    _sys.stderr.write(f"{name}: {completeness}{others}\n")
    is_empty = completeness.blocks == 0
    wrong = is_empty or completeness.is_broken or options.strict and not completeness.is_complete
    return 1 if wrong else 0
