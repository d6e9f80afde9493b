from __future__ import annotations

import builtins as _b
import importlib as _importlib
import typing as _t

from .accounts import _Block, _LaneState
from .blocks import _Damage, _FastCrc, _Header, _LAST, _MOST_TIMES, _fast_crc
from .columns import _Columns
from .encoded import _Run
from .index import _ColumnsReader, _Index
from .inputs import _Files, _Input
from .joined import _joined
from .modules import _Module
from .parts import _Part, _place

# --- Columns of streams: which blocks are read together.

# Bytes that are read at once: their arrays stay in the cache.
_PIECE = 1 << 18
# Bytes that are checked at once.
_AT_ONCE = 1 << 20


class _Load:
    """Reads the blocks of a stream as columns: whole ones of a kind together, others alone."""

    def __init__(self, np: _t.Any, reader: _ColumnsReader, module: _Module) -> None:
        self.np = np
        self.reader = reader
        self.found = _Columns(np, reader, module)
        #: By registry and kind: blocks that are read together, as parts or as rows of the index.
        self.parts: dict[tuple[int, int], list[_Part]] = {}
        self.rows: dict[tuple[int, int], list[_t.Any]] = {}
        self.sizes: dict[tuple[int, int], int] = {}
        #: The number of the event after a lane's blocks so far.
        self.ends: dict[int, int] = {}
        self._plain: dict[tuple[int, int], bool] = {}

    def is_plain(self, registry: int, kind: int) -> bool:
        key = registry, kind
        if key not in self._plain:
            known = self.reader.registries.get(registry)
            has_kind = known is not None and known._kind(kind) is not None
            self._plain[key] = has_kind and known is not None and self.found.is_plain(known, kind)
        return self._plain[key]

    # Block by block.

    def blocks(self, blocks: list[_Block]) -> None:
        """Reads a stream by its blocks."""
        for block in blocks:
            self.expect(block.header)
        checksum = _fast_crc(self.np)
        for block, payload in _loaded(self.reader, sorted(blocks, key=_place), checksum):
            self.block(block, payload)
        for key in list(self.parts):
            self.flush(key)

    def expect(self, header: _Header) -> None:
        # An event has at least two bytes.
        most = header.payload_len * (_MOST_TIMES if header.codec else 1) // 2
        key = header.registry, header.kind
        self.found.expected[key] = self.found.expected.get(key, 0) + min(header.events, most)

    def block(self, block: _Block, payload: _t.Union[None, bytes, _Damage] = None) -> None:
        """Reads a block, or lets it wait for others of its kind."""
        header = block.header
        key = header.registry, header.kind
        if header.before < self.ends.get(block.lane.number, 0) or header.offset:
            # It repeats or continues a block that is not read yet.
            self.flush(key)
        part = self.reader._open(block, payload)
        if part is None:
            return
        header = part.header
        self.ends[block.lane.number] = header.end()
        is_whole = header.offset == 0 and header.flags & _LAST and header.payload_len > 0
        if not (is_whole and self.is_plain(*key) and part.wanted == (header.before, header.end())):
            self.flush(key)
            self.found.take(part)
            return
        self.parts.setdefault(key, []).append(part)
        self.sizes[key] = self.sizes.get(key, 0) + header.payload_len
        if self.sizes[key] >= _PIECE:
            self.flush(key)

    def flush(self, key: tuple[int, int]) -> None:
        """Reads the blocks of a kind that wait."""
        self.sizes.pop(key, None)
        rows = self.rows.pop(key, [])
        if rows:
            self.read_rows(key, self.np.concatenate(rows))
        parts = self.parts.pop(key, [])
        if not parts:
            return
        if not self.found.read(self.reader.registries[key[0]], _Run.of(parts)):
            for part in parts:
                self.found.take(part)
            return
        for part in parts:
            part.next, part.pos = part.header.end(), part.header.payload_len
            self.reader._report.events += part.header.events
            self.reader._close(part)

    # All headers at once.

    def index(self, index: _Index) -> None:
        """Reads a stream by its index."""
        np, fields = self.np, index.fields
        #: The lane of each row, whether it continues the part before it, and whether its payload is
        #: right.
        self.lane_of = np.empty(len(index.at), "i8")
        self.continues, self.right = (np.zeros(len(index.at), "?") for _ in range(2))
        if len(index.sorted) == 0:
            return
        is_plain, continues = index.plain()
        self.continues[index.sorted] = continues
        sizes = fields["payload_len"][index.sorted].astype("i8")
        self.check(index, index.sorted[is_plain], self.np.cumsum(sizes[is_plain]))
        lanes = sorted(range(len(index.states)), key=lambda lane: index.states[lane].number)
        for lane in lanes:
            rows = index.sorted[index.bounds[lane] : index.bounds[lane + 1]]
            self.lane_of[rows] = lane
            key = index.states[lane].registry, index.states[lane].kind
            known = np.minimum(fields["events"][rows], fields["payload_len"][rows] // 2)
            # A compressed block may have more than two events in a byte.
            known = np.where(fields["codec"][rows] == 0, known, fields["events"][rows])
            self.found.expected[key] = self.found.expected.get(key, 0) + int(known.sum())
        for lane in lanes:
            start, stop = index.bounds[lane], index.bounds[lane + 1]
            plain = is_plain[start:stop]
            if not self.is_plain(index.states[lane].registry, index.states[lane].kind):
                plain = np.zeros(stop - start, "?")
            borders = [0, *(np.flatnonzero(plain[1:] != plain[:-1]) + 1).tolist(), stop - start]
            for first, last in zip(borders, borders[1:]):
                rows = index.sorted[start + first : start + last]
                if plain[first]:
                    self.whole(index, index.states[lane], rows, sizes[start + first : start + last])
                else:
                    for row in rows.tolist():
                        self.block(index.block(row, index.states[lane]))
        for key in list({**self.rows, **self.parts}):
            self.flush(key)

    def check(self, index: _Index, rows: _t.Any, total: _t.Any) -> None:
        """Checks the payloads of some blocks, several at once, by the sums of their lengths."""
        checksum = _fast_crc(self.np)
        start = taken = 0
        while start < len(rows):
            stop = int(self.np.searchsorted(total, taken + _AT_ONCE)) + 1
            payloads, crcs = index.payloads(rows[start:stop]), index.fields["payload_crc"][rows[start:stop]]
            are_right = checksum.are_right(payloads, crcs)
            self.right[rows[start:stop]] = are_right or self.np.array(checksum.of_all(payloads), "u4") == crcs
            start = min(stop, len(rows))
            taken = int(total[start - 1])

    def whole(self, index: _Index, state: _LaneState, rows: _t.Any, sizes: _t.Any) -> None:
        """Lets whole blocks of a lane wait for others of their kind."""
        key = state.registry, state.kind
        if key in self.parts:
            self.flush(key)
        self.ends[state.number] = int(index.fields["end"][rows[-1]])
        total = self.np.cumsum(sizes)
        # Parts of a block are read together.
        stops = self.np.flatnonzero(~self.np.append(self.continues[rows[1:]], False)) + 1
        limits = total[stops - 1]
        start = taken = 0
        while start < len(rows):
            room = _PIECE - self.sizes.get(key, 0)
            chosen = int(self.np.searchsorted(limits, taken + room))
            stop = int(stops[min(chosen, len(stops) - 1)])
            self.rows.setdefault(key, []).append(rows[start:stop])
            self.sizes[key] = self.sizes.get(key, 0) + int(total[stop - 1]) - taken
            start, taken = stop, int(total[stop - 1])
            if self.sizes[key] >= _PIECE:
                self.flush(key)

    def read_rows(self, key: tuple[int, int], rows: _t.Any) -> None:
        """Reads whole blocks of a kind. Each is opened alone if something is wrong."""
        reader, index = self.reader, self.reader.index
        assert index is not None
        np, fields = self.np, index.fields
        payloads = index.payloads(rows)
        states = [index.states[lane] for lane in self.lane_of[rows].tolist()]
        events, base = fields["events"][rows], fields["base_ticks"][rows]
        run = self.run(key, rows, payloads, [state.number for state in states])
        if not (self.right[rows].all() and self.found.read(reader.registries[key[0]], run)):
            for row, state in zip(rows.tolist(), states):
                part = reader._open(index.block(row, state))
                if part is not None:
                    self.found.take(part)
            return
        reader._report.events += int(events.sum())
        reader._report.blocks += len(rows)
        # Blocks that follow each other are one range of events.
        before, end = fields["before"][rows], fields["end"][rows]
        follows = (self.lane_of[rows][1:] == self.lane_of[rows][:-1]) & (before[1:] == end[:-1])
        borders = [0, *(np.flatnonzero(~follows) + 1).tolist(), len(rows)]
        for first, last in zip(borders, borders[1:]):
            state = states[first]
            state.open = None
            state.covered.add(int(before[first]), int(end[last - 1]), int(base[first]), int(base[last - 1]))


    def run(
        self, key: tuple[int, int], rows: _t.Any, payloads: list[memoryview], lanes: list[int]
    ) -> _Run:
        """Returns the run of some rows: parts of a block become one."""
        assert self.reader.index is not None
        fields = self.reader.index.fields
        events, base = fields["events"][rows], fields["base_ticks"][rows]
        firsts = self.np.flatnonzero(~self.continues[rows])
        if len(firsts) == len(rows):
            return _Run(*key, payloads, events, base, lanes)
        starts = firsts.tolist()
        joined = [
            b"".join(payloads[start:stop]) for start, stop in zip(starts, [*starts[1:], len(payloads)])
        ]
        events = self.np.add.reduceat(events, firsts, dtype="u8")
        return _Run(*key, joined, events, base[firsts], [lanes[start] for start in starts])


def _loaded(
    reader: _ColumnsReader, blocks: list[_Block], checksum: _FastCrc
) -> _t.Iterator[tuple[_Block, _t.Union[bytes, _Damage]]]:
    """Returns blocks and their payloads, several of which are checked at once."""
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
    module: _Module,
    inputs: _t.Union[_Files, _t.Sequence[_Input]],
    strict: bool,
    incomplete: str,
    show_sensitive: bool,
) -> dict[str, dict[str, _t.Any]]:
    try:
        np: _t.Any = _importlib.import_module("numpy")
    except _b.ImportError as error:
        raise _b.ImportError("columns need NumPy: pip install numpy; `read` does without") from error
    reader = _ColumnsReader(np, module, inputs, strict, incomplete, show_sensitive)
    load = _Load(np, reader, module)
    if reader.index is None:
        load.blocks(reader._blocks)
    else:
        load.index(reader.index)
    # Three calls are between this and the user's line.
    reader._end(3)
    names = {code: one.DESC.name for code, one in module.classes.items()}
    return {names[code]: _joined(load.found, code) for code in sorted(load.found.pieces)}
