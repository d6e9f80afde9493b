from __future__ import annotations

import typing as _t

from .arrays import _apart, _empty, _sums
from .encoded import _Run
from .events import _RANGE
from .hidden import HiddenValue
from .modules import _Module
from .parts import _BATCH, _Part, _Parts
from .pieces import _Piece
from .registries import Registry, _Param
from .shapes import _Shapes

# --- Columns of the events that were found, by code.

# Arrays of more elements are not read as columns. These, and arrays of varying length, are read
# event by event.
_MOST_ELEMENTS = 16
# Space is allocated in advance for at most this number of events.
_MOST_ROOM = 1 << 20
_DTYPES = {"delta": "u8", "bool": "?", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8"}
_DTYPES.update(i8="i1", i16="i2", i32="i4", i64="i8", f32="f4", f64="f8")


class _Rows:
    """The events of one code that were found: columns with space for more."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.used = 0
        self.columns: dict[str, _t.Any] = {}
        #: Numbers of lanes, and how many events of each are here, in sequence.
        self.lanes: list[tuple[int, int]] = []


class _Columns:
    """The events of each code that were found: columns in pieces."""

    def __init__(self, np: _t.Any, reader: _Parts, module: _Module) -> None:
        self.np = np
        self.reader = reader
        self.module = module
        self.pieces: dict[int, list[_Rows]] = {}
        #: The pieces to which more can be added, by code and registry.
        self.open: dict[tuple[int, int], _Rows] = {}
        #: The most events of a registry's kind.
        self.expected: dict[tuple[int, int], int] = {}
        self.shapes: dict[tuple[int, int], _Shapes] = {}

    def is_plain(self, registry: Registry, bit: int) -> bool:
        """Returns whether all events of a kind can be read as columns."""
        params = [param for event in registry._events if event.kind.bit == bit for param in event.params]
        return all(0 <= param.count <= _MOST_ELEMENTS for param in params)

    def read(self, registry: Registry, run: _Run) -> bool:
        """Reads whole blocks of one kind. Returns False and reads nothing if one is unusual."""
        np = self.np
        forms = [event for event in registry._events if event.kind.bit == run.kind]
        piece = _Piece(np, registry, run, self.shapes.setdefault((run.registry, run.kind), _Shapes()))
        bounds = piece.find()
        if bounds is None:
            return False
        total = int(bounds[-1])
        if not np.array_equal(np.diff(bounds), run.events):
            return False
        # Times are sums over the events of a block, deltas over those of a code in it.
        base = np.array(run.bases, "u8")
        time = None
        #: The events of each form: which, how many, and their values.
        found: list[tuple[_t.Any, int, _t.Iterator[_t.Any]]] = []
        of_forms = piece.forms()
        if isinstance(of_forms, int):
            for form in range(len(forms)):
                count = total if form == of_forms else 0
                found.append((None, count, piece.values(form, None, count)))
        else:
            time = _apart(np, total)
            for form in range(len(forms)):
                rows = np.flatnonzero(of_forms == form)
                found.append((rows, len(rows), piece.values(form, rows, len(rows))))
                if len(rows):
                    time[rows] = next(found[-1][2])
            _sums(np, time, bounds, time, base)
        known = self.reader._forms(run.registry)
        done: list[tuple[int, _Rows, _t.Any]] = []
        for event, (rows, count, values) in zip(forms, found):
            is_known = event.code in known
            if count == 0:
                continue
            limits = bounds if rows is None else np.searchsorted(rows, bounds)
            into = self.rows(event.code, run, count, total) if is_known else _Rows(count)
            ticks = self.out(into, "ticks", "u8", (), count)
            if time is None:
                _sums(np, next(values), limits, ticks, base)
            else:
                ticks[:] = time.take(rows)
            hidden = self.reader._hidden.get(run.registry, {}).get(event.code, {})
            for index, (param, value) in enumerate(zip(event.params, values)):
                packing = registry._repr(param.sort)
                elements = (param.count,) if param.count else ()
                dtype = _DTYPES.get(packing, "O")
                if index in hidden:
                    self.out(into, param.name + "'", "O", (), count).fill(hidden[index])
                    # The values are still checked.
                    out = _empty(np, (count, *elements), dtype)
                else:
                    out = self.out(into, param.name + "'", dtype, elements, count)
                if not self.column(packing, param.rotation, value, limits, out, piece.data):
                    return False
            done.append((event.code if is_known else -1, into, np.diff(limits).tolist()))
        # All of it is right: now it counts.
        for code, into, counts in done:
            if code < 0:
                self.reader.others += sum(counts)
            else:
                into.used += sum(counts)
                into.lanes += [(lane, of) for lane, of in zip(run.lanes, counts) if of]
                if self.open.get((code, run.registry)) is not into:
                    self.open[code, run.registry] = into
                    self.pieces.setdefault(code, []).append(into)
        return True

    def rows(self, code: int, run: _Run, count: int, of_all: int) -> _Rows:
        """Returns the rows for further events of a code. The last number counts all codes."""
        into = self.open.get((code, run.registry))
        if into is not None and into.room - into.used >= count:
            return into
        if into is not None:
            return _Rows(max(count, min(2 * into.room, _MOST_ROOM)))
        if code in self.pieces:
            return _Rows(count)
        # As if their share stays what it is.
        expected = self.expected.get((run.registry, run.kind), 0) * count // max(of_all, 1)
        return _Rows(count if count == of_all and expected < count else max(count, expected + expected // 16))

    def out(self, rows: _Rows, name: str, dtype: str, elements: tuple[int, ...], count: int) -> _t.Any:
        """Returns the part of a column that its next values go to."""
        column = rows.columns.get(name)
        if column is None:
            column = rows.columns[name] = _empty(self.np, (rows.room, *elements), dtype)
        return column[rows.used : rows.used + count]

    def column(
        self, packing: str, rotation: int, values: _t.Any, bounds: _t.Any, out: _t.Any, data: bytes
    ) -> bool:
        """Writes the values of encoded ones, which are changed. Returns false if one is not of its
        type."""
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
            if packing == "delta" and values.ndim == 1:
                _sums(np, np.bitwise_xor(values, sign, out=_apart(np, len(values))), bounds, out)
                if rotation:
                    np.right_shift(out, np.uint64(64 - rotation), out=values)
                    np.left_shift(out, np.uint64(rotation), out=out)
                    np.bitwise_or(out, values, out=out)
                return True
            values ^= sign
            if packing == "delta":
                # The first is a distance from the last first one, the others from the one before.
                _sums(np, np.ascontiguousarray(values[:, 0]), bounds, out[:, 0])
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
        # Later events follow these.
        self.open.clear()
        for code, events in by_code.items():
            rows = _Rows(len(events))
            rows.used = len(events)
            rows.lanes.append((part.state.number, len(events)))
            rows.columns["ticks"] = self.np.array([event.ticks for event in events], "u8")
            for param, attribute in zip(own._by_code[code].params, self.module.attributes[code]):
                values = [getattr(event, attribute) for event in events]
                if values[0] is not None:
                    rows.columns[param.name + "'"] = self.array(own, param, values)
            self.pieces.setdefault(code, []).append(rows)

    def array(self, registry: Registry, param: _Param, values: list[_t.Any]) -> _t.Any:
        packing = registry._repr(param.sort)
        if isinstance(values[0], HiddenValue):
            hidden = self.np.empty(len(values), object)
            hidden.fill(values[0])
            return hidden
        if packing in _DTYPES and 0 <= param.count <= _MOST_ELEMENTS:
            return self.np.array(values, _DTYPES[packing])
        out = self.np.empty(len(values), object)
        for index, value in enumerate(values):
            out[index] = self.np.array(value, _DTYPES[packing]) if param.count else value
        return out
