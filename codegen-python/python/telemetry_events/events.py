from __future__ import annotations

import builtins as _b
import collections as _collections
import functools as _functools
import struct as _struct
import sys as _sys
import typing as _t

from .accounts import Lane
from .base import _MAX
from .hidden import _Hidden
from .modules import _Module
from .registries import Registry, _Form

# --- Encoded events. Each kind of each registry of a stream gets a generated function, so that an
# event costs no call. Its source contains nothing of the stream's text: only numbers, and the
# names of this module's own parameters.

# Bytes of a number by its first byte, and the bits of them that give the length.
_LEN = bytes([9] + [(first & -first).bit_length() for first in range(1, 256)])
_SHIFT = bytes([8]) + _LEN[1:]
# Values of numbers of one byte, and of two by both bytes; the same for signed ones.
_ONE_SIGNED = tuple((first >> 2) ^ -(first >> 1 & 1) for first in range(256))
_TWO = tuple(
    tuple((first | second << 8) >> 2 for second in range(256)) if first & 3 == 2 else () for first in range(256)
)
_TWO_SIGNED = tuple(tuple(v >> 1 ^ -(v & 1) for v in row) for row in _TWO)
# Lists are indexed faster than bytes, where the interpreter specializes that.
_indexed: _t.Callable[[bytes], _t.Sequence[int]] = list if _sys.version_info >= (3, 11) else bytes
# After a payload, so that a number can be read before its length is checked.
_PADDING = bytes(9)
# Functions that read arrays and rare values, and the fewest bytes of each.
_MIN_LEN = _collections.defaultdict(lambda: 1, f32=4, f64=8)
_RANGE = {
    "u16": (0, 0xFFFF),
    "u32": (0, 0xFFFF_FFFF),
    "i16": (-0x8000, 0x7FFF),
    "i32": (-0x8000_0000, 0x7FFF_FFFF),
}


class _Malformed(_b.Exception):
    """The reason why an event could not be read."""


_TRUNCATED = "the bytes end inside a value"


def _unsigned(r: bytes, i: int, e: int) -> tuple[int, int]:
    b = r[i]
    end = i + _LEN[b]
    if end > e:
        raise _Malformed(_TRUNCATED)
    return int.from_bytes(r[i:end], "little") >> _SHIFT[b], end


def _wrong_value() -> _t.NoReturn:
    # Its parameter may be sensitive.
    raise _Malformed("a value is not one of its type")


def _wrong_length(n: int) -> _t.NoReturn:
    raise _Malformed(f"a length of {n:,} reaches beyond the block")


def _elements(
    r: bytes, i: int, e: int, packing: str, count: int, base: int
) -> tuple[list[_t.Any], int, int]:
    """Returns the elements of an array, their end, and the new value of the delta slot."""
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
                _wrong_value()
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
            _wrong_value()
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
    """The source of a function that reads events."""

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
        """Writes code that reads a parameter, and returns the expression of its value."""
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
                # The bits of a multiple that go around are zeros.
                around = 64 - rotation
                rotated = f"{slot} << {rotation} & {_MAX} | {slot} >> {around}"
                return f"({slot} << {rotation} if {slot} < {1 << around} else {rotated})"
            return slot
        if packing in ("u8", "i8", "bool"):
            self.add(depth, f"{var} = p[i]", "i += 1")
            if packing == "bool":
                self.add(depth, f"if {var} > 1:", "    wrong_value()")
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
            # The largest zigzag number is that of the smallest number.
            most = _RANGE[packing][1] if packing[0] == "u" else 2 * _RANGE[packing][1] + 1
            self.add(depth, f"if {var} > {most}:", "    wrong_value()")
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
    registry: Registry, bit: int, same: dict[int, _Form], module: _t.Optional[_Module], hidden: _Hidden
) -> tuple[_Decode, int]:
    """Returns a function that reads events of a kind, and the number of delta slots of its lanes.

    That function takes, in this order:

    - a payload to index, the same as padded bytes, and the place of the next event in it
    - the number of wanted events
    - the time and the slots before, and the lane
    - a function that makes a label of a number, and a list for the events

    It returns the place and the time after the events, and their number. It also returns the number
    of those that the module does not have, and why it stopped early. Without a module the events
    are tuples of code, time and parameters, of which none is hidden.
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
    numbers = {} if module is None else {name: number for number, name in enumerate(module.types)}

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
        attributes = module.attributes[code]
        for index, param in enumerate(mine.params):
            value = values[index] if index < len(values) else "None"
            shown = hidden.get(code, {}).get(index)
            if index < len(values) and shown is not None:
                value = f"H{code}_{index}"
                names[value] = shown
            elif index < len(values) and (param.sort == "label" or param.sort in module.types):
                call = "label" if param.sort == "label" else f"T{numbers[param.sort]}"
                if param.sort != "label":
                    names[call] = module.types[param.sort]
                value = f"[{call}(v) for v in {value}]" if param.count else f"{call}({value})"
            source.add(depth, f"x.{attributes[index]} = {value}")
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
    """Compiles a text. Readers of streams of the same registry share the code."""
    return compile(text, name, "exec")
