from __future__ import annotations

import struct as _struct
import typing as _t

from .accounts import _Block, _LaneState
from .arrays import _empty
from .base import _MAX
from .blocks import (
    _END,
    _EVENTS,
    _HEADER,
    _HEADER_LEN,
    _Header,
    _LAST,
    _MAX_PAYLOAD,
    _SESSION,
    _SYNC,
    _WITHHELD,
    _fast_crc,
    _header_of,
    _wrong_payload,
)
from .inputs import _Files, _Input, _MAGIC
from .modules import _Module
from .reader import Reader
from .sessions import Session

# --- The headers of all blocks at once, for columns.
#
# A slow program writes small blocks. So an object for each block, and its account, would take more
# time than its events. NumPy reads and checks all headers together. A stream with anything unusual,
# such as damage, is read block by block.

# Bytes of headers that are checked at once.
_HEADERS_AT_ONCE = 1 << 10
_FIELDS = {
    "type": (9, "u1"),
    "header_len": (10, "<u2"),
    "kind": (12, "u1"),
    "flags": (13, "u1"),
    "codec": (14, "u1"),
    "payload_len": (16, "<u4"),
    "events": (20, "<u4"),
    "session": (24, "<u8"),
    "registry": (32, "<u8"),
    "seq": (44, "<u4"),
    "offset": (48, "<u4"),
    "base_ticks": (56, "<u8"),
    "base_wall": (64, "<u8"),
    "before": (80, "<u8"),
    "payload_crc": (136, "<u4"),
    "crc": (140, "<u4"),
}


class _Index:
    """The blocks of a stream without damage. Each field of their headers is an array."""

    def __init__(self, np: _t.Any, data: memoryview, at: list[int], rows: _t.Any) -> None:
        self.np = np
        self.data = data
        #: Where the blocks begin.
        self.at = np.array(at, "i8")
        #: The bytes of the headers.
        self.rows = rows
        names, places = list(_FIELDS), [place for place, _ in _FIELDS.values()]
        formats = [form for _, form in _FIELDS.values()]
        dtype = np.dtype(dict(names=names, formats=formats, offsets=places, itemsize=_HEADER_LEN))
        packed = rows.view(dtype).reshape(-1)
        #: The fields by name.
        self.fields = {name: np.ascontiguousarray(packed[name]) for name in names}
        self.fields["end"] = self.fields["before"] + self.fields["events"]
        #: The bytes of the counters of losses, and of excluded events.
        self.losses = np.ascontiguousarray(rows[:, 88:128]).view("V40").reshape(-1)
        #: The blocks of events by lane, and in a lane by position; where each lane's begin; and the
        #: first block of each in the stream.
        self.sorted: _t.Any = None
        self.bounds: list[int] = []
        self.firsts: list[int] = []
        #: The lanes, in the same order.
        self.states: list[_LaneState] = []

    def header(self, row: int) -> _Header:
        return _header_of(_HEADER.unpack_from(self.data, int(self.at[row])))

    def block(self, row: int, state: _LaneState) -> _Block:
        return _Block(int(self.at[row]), self.header(row), state)

    def payload(self, row: int) -> memoryview:
        start = int(self.at[row]) + int(self.fields["header_len"][row])
        return self.data[start : start + int(self.fields["payload_len"][row])]

    def is_right(self) -> bool:
        """Returns whether all headers are right, and each session begins with its facts."""
        np, fields = self.np, self.fields
        crc = _fast_crc(np)
        for start in range(0, len(self.at), _HEADERS_AT_ONCE):
            rows = self.rows[start : start + _HEADERS_AT_ONCE]
            if not np.array_equal(crc.of_short(rows[:, :140]), fields["crc"][start : start + len(rows)]):
                return False
        magic = np.frombuffer(_MAGIC + b"\1", "u1")
        if (self.rows[:, :9] != magic).any() or (fields["payload_len"] > _MAX_PAYLOAD).any():
            return False
        if (fields["end"] < fields["before"]).any():
            return False
        _, first = np.unique(fields["session"], return_index=True)
        return all(
            (fields["type"][first] == _SESSION)
            & (fields["flags"][first] & _LAST != 0)
            & (fields["offset"][first] == 0)
            & (fields["codec"][first] == 0)
        )

    def payloads(self, rows: _t.Any) -> list[memoryview]:
        starts = self.at[rows] + self.fields["header_len"][rows]
        ends = starts + self.fields["payload_len"][rows]
        return [self.data[start:end] for start, end in zip(starts.tolist(), ends.tolist())]

    def plain(self) -> tuple[_t.Any, _t.Any]:
        """Returns which of the sorted blocks need no object, and which of them continue the one
        before as parts of one block.

        A block needs none if it is whole, or if all its parts follow each other. Besides, none of
        its events may be in an earlier block of the lane."""
        np, fields = self.np, self.fields
        rows = self.sorted
        seq, offset, length = (fields[name][rows] for name in ("seq", "offset", "payload_len"))
        before, end = fields["before"][rows], fields["end"][rows]
        has_events = (fields["codec"][rows] == 0) & (length > 0) & (fields["events"][rows] > 0)
        same = np.zeros(len(rows), "?")
        same[1:] = seq[1:] == seq[:-1]
        same[self.bounds[:-1]] = False
        continues = same.copy()
        continues[1:] &= (offset[1:] == offset[:-1] + length[:-1]) & (before[1:] == end[:-1])
        continues[1:] &= fields["flags"][rows][:-1] & _LAST == 0
        is_new = np.ones(len(rows), "?")
        for start, stop in zip(self.bounds, self.bounds[1:]):
            highest = np.maximum.accumulate(end[start:stop])
            is_new[start + 1 : stop] = before[start + 1 : stop] >= highest[:-1]
        plain = has_events & is_new & (continues | (offset == 0))
        # A block is written again, or a part is missing: both are looked at alone.
        odd = same & ~continues
        plain &= ~odd
        plain[:-1] &= ~odd[1:]
        firsts = np.flatnonzero(~continues)
        all_plain = np.logical_and.reduceat(plain, firsts)
        return np.repeat(all_plain, np.diff(firsts, append=len(rows))), continues


def _index_of(np: _t.Any, files: _Files) -> _t.Optional[_Index]:
    """Reads a stream. Returns None if there is anything but whole blocks in it."""
    data = memoryview(_empty(np, (files.length,), "u1"))
    if not files.read_all(data):
        return None
    lengths = _struct.Struct("<10xH4xI").unpack_from
    at: list[int] = []
    place = 0
    while place + _HEADER_LEN <= len(data):
        at.append(place)
        header_len, payload_len = lengths(data, place)
        if header_len < _HEADER_LEN:
            return None
        place += header_len + payload_len
    if not at or place != len(data):
        return None
    headers = np.ndarray((len(data) - _HEADER_LEN + 1, _HEADER_LEN), "u1", data, 0, (1, 1))
    index = _Index(np, data, at, headers[at])
    return index if index.is_right() else None


class _ColumnsReader(Reader[_t.Any]):
    """A reader for columns, which takes all headers at once if it can."""

    def __init__(
        self,
        np: _t.Any,
        module: _Module,
        inputs: _t.Union[_Files, _t.Sequence[_Input]],
        strict: bool,
        incomplete: str,
        show_sensitive: bool,
    ) -> None:
        self.np = np
        self.index: _t.Optional[_Index] = None
        super().__init__(module, inputs, "stream", strict, incomplete, show_sensitive=show_sensitive)

    def _scan(self) -> list[_Block]:
        index = _index_of(self.np, self._files)
        if index is None:
            return super()._scan()
        fields = index.fields
        is_events = fields["type"] == _EVENTS
        # Sync blocks that tell of no loss belong to no lane.
        is_sync = (fields["type"] == _SYNC) & (fields["payload_len"] == 0) & (fields["payload_crc"] == 0)
        is_sync &= ~index.rows[:, 88:120].any(1)
        others = self.np.flatnonzero(~is_events & ~is_sync).tolist()
        headers = {row: index.header(row) for row in others}
        if any(_wrong_payload(header, bytes(index.payload(row))) for row, header in headers.items()):
            return super()._scan()
        self.index = index
        self._lanes(index, self.np.flatnonzero(is_events))
        first_of = {row: lane for lane, row in enumerate(index.firsts)}
        states: dict[int, _LaneState] = {}
        for row in sorted([*others, *index.firsts]):
            if row in first_of:
                states[first_of[row]] = self._state(index.header(row))
            else:
                self._take(int(index.at[row]), headers[row], bytes(index.payload(row)))
        index.states = [states[lane] for lane in range(len(index.firsts))]
        self._report.blocks += int(is_sync.sum())
        for session in self.sessions:
            self._moments(index, session, is_sync)
        for lane, state in enumerate(index.states):
            rows = index.sorted[index.bounds[lane] : index.bounds[lane + 1]]
            # The order of the stream.
            self._note(index, state, self.np.sort(rows))
        return self._of_names(index)

    def _lanes(self, index: _Index, rows: _t.Any) -> None:
        """Sorts the blocks of events by lane."""
        np, fields = self.np, index.fields
        keys = np.concatenate((index.rows[rows, 24:44], index.rows[rows, 12:13]), 1)
        keys = np.ascontiguousarray(keys).view("V21").reshape(-1)
        _, first, lane = np.unique(keys, return_index=True, return_inverse=True)
        order = np.lexsort((index.at[rows], fields["offset"][rows], fields["seq"][rows], lane))
        index.sorted = rows[order]
        index.bounds = [0, *np.cumsum(np.bincount(lane, minlength=len(first))).tolist()]
        index.firsts = rows[first].tolist()

    def _moments(self, index: _Index, session: Session, is_sync: _t.Any) -> None:
        """Takes what all headers say of a session: its end, its clock and its events."""
        np, fields = self.np, index.fields
        rows = np.flatnonzero(fields["session"] == session.id)
        session.ended |= bool((fields["flags"][rows] & _END).any())
        written = fields["before"][rows[is_sync[rows]]]
        session._written = max(session._written, int(written.max()) if len(written) else 0)
        ticks, wall = fields["base_ticks"][rows], fields["base_wall"][rows]
        # The first of the farthest pairs that the clock accepts gives the rate.
        order = np.lexsort((np.arange(len(rows)), ~ticks))
        for moment in order:
            span = session._clock.span
            pair = int(ticks[moment]), int(wall[moment])
            if pair == (0, 0):
                continue
            if session._clock.exact or pair[0] - session._clock.start_ticks <= span:
                break
            session._clock.refine_farthest(*pair)

    def _note(self, index: _Index, state: _LaneState, rows: _t.Any) -> None:
        """Takes what the headers of a lane's blocks say of its events."""
        np, fields = self.np, index.fields
        before, end, losses = fields["before"][rows], fields["end"][rows], index.losses[rows]
        tells = np.ones(len(rows), "?")
        if (before[1:] >= before[:-1]).all():
            # Of blocks with the same counters, only the first and the last tell something.
            differs = losses[1:] != losses[:-1]
            tells[1:-1] = differs[1:] | differs[:-1]
        lengths, sums = fields["payload_len"][rows], fields["payload_crc"][rows]
        withheld = (fields["flags"][rows] & _WITHHELD != 0) & (lengths == 0) & (sums == 0)
        tells |= withheld
        for row in rows[tells].tolist():
            state.note(index.header(row))
        state.recorded = max(state.recorded, min(int(end.max()), _MAX))
        sink, _, excluded = np.ascontiguousarray(index.rows[rows, 104:128]).view("<u8").T
        given = end - np.minimum(end, sink)
        given -= np.minimum(given, excluded)
        state.stated = max(state.stated, int(given.max()))
        borders = np.flatnonzero(before[1:] != end[:-1])
        starts, stops = before[np.append(0, borders + 1)], end[np.append(borders, len(rows) - 1)]
        for first, last in zip(starts.tolist(), stops.tolist()):
            state.noted.fill(first, last)

    def _of_names(self, index: _Index) -> list[_Block]:
        """Returns the blocks that are read for their names."""
        found: list[_Block] = []
        for lane, state in enumerate(index.states):
            if self._has_names(index.header(index.firsts[lane])):
                rows = index.sorted[index.bounds[lane] : index.bounds[lane + 1]].tolist()
                found += [index.block(row, state) for row in rows]
        return found

    def _has_names(self, header: _Header) -> bool:
        # Columns have the names of labels alone.
        registry = self.registries.get(header.registry)
        if registry is None:
            return False
        codes = [event.code for event in registry._events if event.kind.bit == header.kind]
        return any(mark.named == "label" for code in codes for mark in registry._marks[code])
