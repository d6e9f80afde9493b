from __future__ import annotations

import typing as _t

from .base import _MAX, _MAX_NS
from .blocks import _Header, _LAST, _MAX_PAYLOAD, _REGISTRY, _SESSION
from .coverage import _Coverage
from .registries import _Mark

# --- Sessions, their clocks and their labels.


class _Clock:
    """The line through a session's start that turns ticks into nanoseconds."""

    def __init__(self, start_ticks: int, start_wall: int, per_second: _t.Optional[int]) -> None:
        self.start_ticks = start_ticks
        self.start_wall = start_wall
        #: Nanoseconds per tick, in parts of 2^64.
        self.rate = 1 << 64
        #: Ticks per second from the session's facts; 0 if they do not say.
        self.stated = 0
        #: Distance of the pair that gave the rate, in ticks.
        self.span = 0
        #: Ticks are nanoseconds.
        self.exact = per_second is None
        if per_second and self.set_rate(1_000_000_000, per_second):
            self.stated = per_second

    def refine_farthest(self, ticks: int, wall: int) -> None:
        """Takes the rate from a pair of readings with a longer distance than the last one."""
        ticks, ns = ticks - self.start_ticks, wall - self.start_wall
        if self.exact or ticks <= 0 or ns <= 0 or ticks < self.span + 1:
            return
        if self.stated:
            expected = ticks * 1_000_000_000 // self.stated
            # Too near, or the wall clock was set.
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
        """Returns nanoseconds from the session's start to a reading; negative before it."""
        distance = (ticks - self.start_ticks + (1 << 63) & _MAX) - (1 << 63)
        ns = min(abs(distance) * self.rate + (1 << 63) >> 64, _MAX_NS)
        return -ns if distance < 0 else ns

    def wall_ns(self, ticks: int) -> int:
        return min(self.ns(ticks) + self.start_wall, _MAX_NS)


class LabelRef(int):
    """The number of an interned string. As a string, it is that string, if it is known. A name that
    is not a label has the number 0."""

    #: The string of the number; None if the stream does not say.
    text: _t.Optional[str] = None

    def __str__(self) -> str:
        return int.__repr__(self) if self.text is None else self.text

    def __repr__(self) -> str:
        return f"LabelRef({int(self)}, {self.text!r})"


class _GivenName(_t.NamedTuple):
    """A name: a text, a number, or the name of `of`, a pointer or an address."""

    #: The place of its event: thread, registry, kind, and number in its lane. Of two names that a
    #: value has at one clock reading, the one with the higher place counts.
    place: tuple[int, int, int, int]
    text: _t.Optional[LabelRef]
    of: _t.Optional[str]
    numbers: tuple[str, str]
    value: int


# Bytes for the names of a stream, and of an entry beside its text.
_NAME_ROOM = 32 << 20
_NAME_ENTRY = 64


class Session:
    """The life of one process."""

    # What stands for all texts of labels, if a sensitive parameter has some of them. Only the events
    # that refer to a label show it. Pickles of earlier versions do not have it.
    _hidden_label: _t.Optional[str] = None

    def __init__(self, id_: int, ticks: int, wall: int) -> None:
        #: A number that no other session has.
        self.id = id_
        #: The facts of the session: `program`, `pid`, `host` and so on.
        self.facts: dict[str, object] = {}
        #: The facts of its threads, by number.
        self.threads: dict[int, dict[str, object]] = {}
        #: False if no session block was found.
        self.declared = False
        #: True if the session has its end mark.
        self.ended = False
        self._clock = _Clock(ticks, wall, 0)
        self._earliest = self._farthest = (ticks, wall)
        self._written = 0
        self._rank = 0
        self._whole = False
        self._labels: dict[int, LabelRef] = {}
        # The same for the registries' own numbers.
        self._numbers: dict[tuple[tuple[str, str], int], LabelRef] = {}
        # Names of pointers, of addresses, and of either, by value and clock reading.
        self._names: dict[str, dict[int, dict[int, _GivenName]]] = {"pointer": {}, "addr": {}, "": {}}
        self._texts: dict[str, LabelRef] = {}

    def __getstate__(self) -> dict[str, object]:
        """Returns what `pickle` stores: no text of a label that is hidden. Events have their own."""
        state = dict(self.__dict__)
        if self._hidden_label is not None:
            # Names of addresses and pointers are not hidden.
            names = [given for of in self._names.values() for at in of.values() for given in at.values()]
            labels = [given for given in names if given.text is None and given.of is None]
            used = {given.value for given in labels if not given.numbers[0]}
            state["_labels"] = {number: text for number, text in self._labels.items() if number in used}
        return state

    def label(self, number: int) -> LabelRef:
        """Returns the label of a number. If a sensitive parameter has labels, its text is a
        `HiddenValue`."""
        if self._hidden_label is None:
            return self._label(number)
        hidden = LabelRef(number)
        hidden.text = self._hidden_label
        return hidden

    def _label(self, number: int) -> LabelRef:
        """Returns the label that an event shows."""
        known = self._labels.get(number)
        return LabelRef(number) if known is None else known

    def string_of(self, registry: str, numbers: str, number: int) -> _t.Optional[str]:
        """Returns the string of a number of the space `numbers`: a parameter's mark, or its name."""
        return self._number((registry, numbers), number).text if registry else self.label(number).text

    def name_of(self, address: int, ticks: int) -> _t.Optional[LabelRef]:
        """Returns an address's name at a clock reading. Only a label's name begins at its event."""
        return self._look_up("addr", address, ticks)

    def name_of_pointer(self, pointer: int, ticks: int) -> _t.Optional[LabelRef]:
        """Returns the same for a pointer: the MPS, for example, names pointers separately."""
        return self._look_up("pointer", pointer, ticks)

    def _look_up(self, of: str, value: int, ticks: int) -> _t.Optional[LabelRef]:
        given = self._given_name(of, value, ticks)
        if given is None or given.text is not None:
            return None if given is None else given.text
        if given.of is None:
            return self._number(given.numbers, given.value)
        # Its name is not followed further: it might lead back here.
        given = self._given_name(given.of, given.value, ticks)
        if given is None or given.of is not None:
            return None
        name = self._number(given.numbers, given.value) if given.text is None else given.text
        return None if name.text is None else name

    def _number(self, numbers: tuple[str, str], number: int) -> LabelRef:
        known = self._labels.get(number) if not numbers[0] else self._numbers.get((numbers, number))
        return LabelRef(number) if known is None else known

    def _given_name(self, of: str, value: int, ticks: int) -> _t.Optional[_GivenName]:
        own, either = (self._latest_name(self._names[which].get(value), ticks) for which in (of, ""))
        if own is None or either is None:
            found = own or either
            return None if found is None else found[1]
        return either[1] if own[0] < either[0] else own[1]

    def _latest_name(self, names: _t.Optional[dict[int, _GivenName]], ticks: int) -> _t.Optional[tuple[int, _GivenName]]:
        if names is None:
            return None
        latest = max((at for at in names if at <= ticks), default=None)
        if latest is not None:
            return latest, names[latest]
        first = names[min(names)]
        return None if first.text is None and first.of is None else (-1, first)

    def _note(
        self,
        mark: _Mark,
        is_separate: bool,
        ticks: int,
        place: tuple[int, int, int, int],
        of: int,
        by: _t.Union[int, str],
        room: int,
    ) -> int:
        """Stores the name that an event gives. Returns the space that is left."""
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
            given = _GivenName(place, None, alias, mark.numbers, by)
        elif text in self._texts:
            given = _GivenName(place, self._texts[text], None, ("", ""), 0)
        elif not text or cost > room:
            return room
        else:
            room -= cost
            name = self._texts[text] = LabelRef(0)
            name.text = text
            given = _GivenName(place, name, None, ("", ""), 0)
        names = self._names[mark.named if is_separate else ""].setdefault(of, {})
        before = names.get(ticks)
        if before is None and room >= _NAME_ENTRY:
            room -= _NAME_ENTRY
            names[ticks] = given
        elif before is not None and before.place <= place:
            names[ticks] = given
        return room

    def thread_name(self, thread: int) -> _t.Optional[str]:
        """Returns the name of a thread, if the stream has one."""
        name = self.threads.get(thread, {}).get("name")
        return name if isinstance(name, str) else None

    @property
    def start_ns(self) -> int:
        """Returns the start of the session, in nanoseconds since 1970-01-01 UTC."""
        return self._clock.start_wall

    def __repr__(self) -> str:
        return f"<session {self.id:016x} of {self.facts.get('program', '?')}>"


class _Texts:
    """Texts that were written in parts, joined in any order."""

    def __init__(self) -> None:
        self.waiting: dict[tuple[int, int, int, int], _Waiting] = {}
        self.bytes = 0

    def take(self, at: int, header: _Header, payload: bytes) -> tuple[_t.Optional[bytes], bool]:
        """Returns the text that a block completes or begins, and whether it is whole."""
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
        self.covered.fill(offset, offset + len(payload))
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
