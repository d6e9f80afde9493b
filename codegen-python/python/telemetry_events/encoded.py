from __future__ import annotations

import functools as _functools
import typing as _t

from .base import _MAX
from .events import _LEN, _PADDING, _SHIFT
from .parts import _Part
from .registries import Registry

# --- Encoded events of one kind, and their numbers at many positions at once.


class _Run(_t.NamedTuple):
    """Whole blocks of one kind in sequence, which may be of several lanes."""

    #: The fingerprint of their registry.
    registry: int
    kind: int
    payloads: _t.Sequence[_t.Union[bytes, memoryview]]
    #: For each block: its events, its first clock reading, and the number of its lane.
    events: _t.Sequence[int]
    bases: _t.Sequence[int]
    lanes: _t.Sequence[int]

    @staticmethod
    def of(parts: list[_Part]) -> _Run:
        headers = [part.header for part in parts]
        return _Run(
            headers[0].registry,
            headers[0].kind,
            [memoryview(part.padded)[: -len(_PADDING)] for part in parts],
            [header.events for header in headers],
            [header.base_ticks for header in headers],
            [part.state.number for part in parts],
        )


class _Encoded:
    """Payloads of one kind in sequence."""

    def __init__(self, np: _t.Any, registry: Registry, run: _Run) -> None:
        self.np = np
        #: For each event of the kind its parameters: encoding, and number of elements.
        self.sorts: list[list[tuple[str, int]]] = []
        self.codes: list[bytes] = []
        for event in registry._events:
            if event.kind.bit == run.kind:
                self.sorts.append([(registry._repr(param.sort), param.count) for param in event.params])
                self.codes.append(_packed_code(event.code))
        most = max((sum(count or 1 for _, count in sorts) for sorts in self.sorts), default=0)
        # After the last byte there is space for an event that begins there.
        room = 9 * (most + 4)
        self.data = b"".join([*run.payloads, bytes(room + 8)])
        self.size = len(self.data) - room - 8
        self.bytes = np.frombuffer(self.data, "u1")
        #: The word at every byte, and a function that takes some of them.
        self.words = np.ndarray((self.size + room,), "<u8", self.data, strides=(1,))
        self.word: _t.Callable[[_t.Any], _t.Any] = self.words.__getitem__
        #: The starts of the payloads.
        self.starts = np.cumsum([0, *map(len, run.payloads[:-1])])
        #: By position, the end of the event that may begin there.
        self.end = np.empty(self.size + 2, "i4")
        #: Positions and values of events that were read number by number, by event number.
        self.others: list[tuple[int, _t.Any, list[_t.Any]]] = []
        #: By the first byte of a number.
        self.len, self.shift, self.keep = _of_first_byte(np)

    def read(self, at: _t.Any) -> None:
        """Reads the events at some positions number by number."""
        heads = self.word(at)
        for form, (code, sorts) in enumerate(zip(self.codes, self.sorts)):
            mask = self.np.uint64((1 << 8 * len(code)) - 1)
            bits = self.np.uint64(int.from_bytes(code, "little"))
            of_form = at.take(self.np.flatnonzero(heads & mask == bits))
            if len(of_form):
                values, self.end[of_form] = self.params(sorts, of_form + len(code))
                self.others.append((form, of_form, values))

    def numbers(self, at: _t.Any) -> tuple[_t.Any, _t.Any]:
        """Returns the unsigned numbers at some positions, and their ends."""
        first = self.bytes.take(at)
        value = self.word(at)
        value &= self.keep.take(first)
        value >>= self.shift.take(first)
        behind = self.len.take(first)
        behind += at
        if not first.all():
            nine = self.np.flatnonzero(first == 0)
            value[nine] = self.word(at.take(nine) + 1)
        return value, behind

    def params(self, sorts: list[tuple[str, int]], at: _t.Any) -> tuple[list[_t.Any], _t.Any]:
        """Returns encoded times and parameters, and their ends."""
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
                    # An event that reaches beyond the end is not one.
                    length = np.minimum(value, np.uint64(self.size + 1)).astype("i8")
                    value = np.stack((at, length), 1)
                    at = np.minimum(at + length, self.size + 1)
                elements.append(value)
            values.append(np.stack(elements, 1) if count else elements[0])
        return values, np.minimum(at, self.size + 1)


@_functools.lru_cache(maxsize=1)
def _of_first_byte(np: _t.Any) -> tuple[_t.Any, _t.Any, _t.Any]:
    """Returns what the first byte of a number says: its length, and which bits of the word there
    are the number."""
    keep = np.array([_MAX >> 64 - 8 * min(length, 8) for length in _LEN], "u8")
    return np.frombuffer(_LEN, "u1").astype("i8"), np.frombuffer(_SHIFT, "u1").astype("u8"), keep


def _packed_code(code: int) -> bytes:
    """Returns the shortest encoding of a code."""
    length = 1 if code < 1 << 7 else 2 if code < 1 << 14 else 3
    return ((code << 1 | 1) << length - 1).to_bytes(length, "little")
