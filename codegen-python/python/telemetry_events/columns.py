from __future__ import annotations

import functools as _functools
import typing as _t

from .base import _MAX, _MAX_NS
from .descriptions import _name_of_number
from .events import _LEN, _PADDING, _RANGE, _SHIFT, _unsigned
from .memory import _empty
from .reader import Reader, _BATCH, _Module, _Part
from .registries import Registry, _Param, _attribute
from .sessions import _Clock

# --- Columns: events of whole blocks read by NumPy, all of one kind at once.
#
# The start of an event is known only after the event before it was read. But an event can begin
# only at its code. So all such positions are read as events, and those that the first event of a
# block leads to are events. If the numbers do not add up, the block is read event by event.
#
# Most events of a kind have few shapes: one code, and numbers of the same lengths. A few bits of
# the words at a position show whether it has a shape. Its numbers are then parts of those words, at
# the same bits for all. Events without a common shape are read number by number, and only at
# the ends of others. If nearly all have one shape, they are runs: events at the same distance,
# which need not be found one by one.

# Arrays of more elements are not read as columns. These, and arrays of varying length, are read
# event by event.
_MOST_ELEMENTS = 16
# Shapes are taken from the first events of a piece. At most this number is tried in the next one.
_SAMPLE = 128
# At least this number of them is taken from each payload.
_SAMPLE_EACH = 8
_MOST_SHAPES = 16
# A shape that fewer than one event in this number has is ignored.
_RARE = 64
# Runs are used if at least this number of events of one shape are together.
_RARE_RUN = 32
# After this number of consecutive events without a shape, all remaining events are read.
_MOST_ROUNDS = 6
# Space is allocated in advance for at most this number of events.
_MOST_ROOM = 1 << 20
_FIXED = {"u8": 1, "i8": 1, "bool": 1, "f32": 4, "f64": 8}
_DTYPES = {"delta": "u8", "bool": "?", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8"}
_DTYPES.update(i8="i1", i16="i2", i32="i4", i64="i8", f32="f4", f64="f8")


class _Shape:
    """Events of one code, whose numbers have the same lengths."""

    def __init__(self, np: _t.Any, form: int, code: bytes, lengths: _t.Sequence[tuple[int, bool]]) -> None:
        self.np = np
        #: The event's number in the kind.
        self.form = form
        #: Bytes of the event.
        self.end = len(code)
        #: The number of events that had it at the last search.
        self.hits = 0
        # Words: their distance from the event's start, the bits that count, and their values.
        words = [[0, (1 << 8 * len(code)) - 1, int.from_bytes(code, "little")]]

        def word(length: int) -> int:
            """Returns the word that contains the next bytes."""
            if self.end + length > words[-1][0] + 8:
                words.append([self.end, 0, 0])
            return len(words) - 1

        #: For each number, first the time: its word, the shift to the right, and its
        #: bits if others are above.
        self.numbers: list[tuple[int, _t.Any, _t.Any]] = []
        for length, is_packed in lengths:
            if is_packed:
                # The first byte ends in a one, and a zero for each further byte.
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
        #: The same by bytes, without those that may be anything.
        self.bytes = [
            (offset + byte, mask >> 8 * byte & 0xFF, bits >> 8 * byte & 0xFF)
            for offset, mask, bits in words
            for byte in range(8)
            if mask >> 8 * byte & 0xFF
        ]

    def places(self, data: _t.Any, count: int) -> _t.Any:
        """Returns, for each of the first positions, whether the bytes there match the shape."""
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

    def take(self, words: list[_t.Any], index: int, out: _t.Any) -> None:
        """Writes one number of some events, from their words."""
        word, shift, keep = self.numbers[index]
        self.np.right_shift(words[word], shift, out=out)
        if keep is not None:
            out &= keep


class _Shapes:
    """The shapes of a registry's kind in the last pieces."""

    def __init__(self) -> None:
        self.all: list[_Shape] = []
        #: The number of pieces to read without shapes, because the events have none. It grows.
        self.pause = 0
        self.next_pause = 1


class _Rows:
    """The events of one code that were found: columns with space for more."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.used = 0
        self.columns: dict[str, _t.Any] = {}
        #: Numbers of lanes, and how many events of each are here, in sequence.
        self.lanes: list[tuple[int, int]] = []


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


class _Piece:
    """Payloads of one kind in sequence, and the events in them."""

    def __init__(self, columns: _Columns, registry: Registry, run: _Run) -> None:
        np = self.np = columns.np
        self.columns = columns
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
        self.shapes = columns.shapes.setdefault((run.registry, run.kind), _Shapes())
        #: By position, the end of the event that may begin there.
        self.end = np.empty(self.size + 2, "i4")
        #: Positions at which events with a shape may begin.
        self.alike: list[tuple[_Shape, _t.Any]] = []
        #: Positions and values of events that were read number by number, by event number.
        self.others: list[tuple[int, _t.Any, list[_t.Any]]] = []
        #: The starts of events, once found.
        self.at: _t.Any = None
        #: Or, for runs, their bytes as words; and the positions and event numbers of events that are
        #: not in a run, and -1 at the end.
        self.rows: _t.Any = None
        self.odd: _t.Any = None
        self.odd_rows: _t.Any = None

    def find(self) -> _t.Any:
        """Finds the events: how many are before each payload and in all. None if something is
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
        # The events of a block begin at its start.
        bounds = np.append(np.searchsorted(at, self.starts), len(at))
        return bounds if np.array_equal(at.take(bounds[:-1], mode="clip"), self.starts) else None

    def runs(self, shape: _Shape) -> _t.Any:
        """Finds the events as runs of a shape. None if there are too many others, or damage."""
        np, size, length = self.np, self.size, shape.end
        found = shape.places(self.bytes, size)
        # Positions at which a run may end, and the events there.
        ends = np.flatnonzero(found[:-length] > found[length:]) + length
        if len(ends) * length * _RARE_RUN > size:
            return None
        # Where others and runs begin.
        begins = np.zeros(size, "?")
        runs, next_ = [self.starts], np.concatenate((ends, self.starts))
        for _ in range(_MOST_ROUNDS):
            at = next_[~(found | begins).take(next_)]
            if len(at) == 0:
                break
            begins[at] = True
            self.end[at] = size + 1
            self.read(at)
            next_ = self.end.take(at)
            next_ = next_[next_ < size]
            runs.append(next_)
        else:
            return None
        of_runs = np.concatenate(runs)
        of_runs = of_runs[found.take(of_runs)]
        self.end[of_runs] = self.run_ends(of_runs, ends, length)
        begins[of_runs] = True
        at = self.led(np.flatnonzero(begins))
        if at is None:
            return None
        is_run = found.take(at)
        lengths = self.end.take(at) - at
        counts = np.where(is_run, lengths // length, 1)
        # Events of each payload, which begins with a run or with another event.
        firsts = np.searchsorted(at, self.starts)
        if (lengths[is_run] % length).any() or not np.array_equal(at.take(firsts, mode="clip"), self.starts):
            return None
        befores = np.append(0, np.cumsum(counts))
        shape.hits = int(befores[-1])
        self.odd = np.append(at[~is_run], size)
        self.odd_rows = np.append(befores[:-1][~is_run], -1)
        self.rows = self.copied(shape, at, lengths, is_run)
        return befores[np.append(firsts, len(at))]

    def run_ends(self, runs: _t.Any, ends: _t.Any, length: int) -> _t.Any:
        """Returns where runs end, by the sorted positions at which one may."""
        np = self.np
        # Those at a multiple of the length from the start, by the rest of both.
        step = self.size + 1
        keys = np.sort(ends % length * step + ends)
        base = runs % length * step
        next_ = np.append(keys, length * step).take(np.searchsorted(keys, base + runs, "right")) - base
        stops = np.append(self.starts[1:], self.size)
        return np.minimum(next_, stops.take(np.searchsorted(self.starts, runs, "right") - 1))

    def copied(self, shape: _Shape, at: _t.Any, lengths: _t.Any, is_run: _t.Any) -> _t.Any:
        """Returns the bytes of the events of runs as words, with any bytes for each other event."""
        np, view, length = self.np, memoryview(self.data), shape.end
        room = -(-(shape.words[-1][0] + 8) // 8)
        # A run is copied with bytes before it for the others since the last run.
        of_runs = np.flatnonzero(is_run)
        others = np.diff(of_runs, prepend=-1) - 1
        stops = at[of_runs] + lengths[of_runs]
        pieces = [
            view[start:stop] if start >= 0 else bytes(-start) + view[:stop]
            for start, stop in zip((at[of_runs] - others * length).tolist(), stops.tolist())
        ]
        last = len(at) - int(of_runs[-1]) - 1 if len(of_runs) else len(at)
        data = b"".join([*pieces, bytes(last * length + 8 * room)])
        dtype = np.dtype(f"V{8 * room}")
        count = (len(data) - 8 * room) // length
        rows = np.empty((count, room), "<u8")
        rows.view(dtype).reshape(-1)[:] = np.ndarray((count,), dtype, data, 0, (length,))
        return rows

    def each(self) -> _t.Any:
        """Finds the starts of events. None if something is wrong with them."""
        np = self.np
        shapes = self.shapes
        # There are enough of them that an aligned copy is faster.
        self.words = self.words.copy()
        self.word = self.words.take
        # Positions at which an event ends, and at which one may begin.
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
        # An event without a shape counts only if another one ends there.
        others = 0
        rounds = _MOST_ROUNDS if self.alike else 0
        for number in range(rounds + 1):
            open_ = is_led[: self.size] > begins
            if number == rounds and open_.any():
                # They follow each other: all possible ones are read.
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
            # The next piece looks for its own shapes.
            shapes.all.clear()
            shapes.pause, shapes.next_pause = shapes.next_pause - 1, min(2 * shapes.next_pause, 64)
        else:
            shapes.next_pause = 1
        return self.led(np.flatnonzero(begins))

    def learn(self) -> None:
        """Finds the shapes of the first events of payloads."""
        found: dict[tuple[int, tuple[tuple[int, bool], ...]], int] = {}
        starts = self.starts.tolist()
        # For each number of an event: whether it is a text, and its length if that does not vary.
        numbers = [
            [
                (packing in ("string", "bytes"), _FIXED.get(packing))
                for packing, count in [("u64", 0), *sorts]
                for _ in range(count or 1)
            ]
            for sorts in self.sorts
        ]
        ends = [*starts[1:], self.size]
        # The first event of a payload is unlike the others: its deltas are whole values.
        step = -(-len(starts) * _SAMPLE_EACH // _SAMPLE)
        for start, end in zip(starts[::step], ends[::step]):
            at = start
            for number in range(max(_SAMPLE_EACH, _SAMPLE // len(starts)) + 1):
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
                        # Wrong bytes are found when they are read.
                        length, at = _unsigned(self.data, at, len(self.data))
                        at = min(at + length, self.size)
                    else:
                        at += length
                if number and not has_text:
                    key = code, tuple(lengths)
                    found[key] = found.get(key, 0) + 1
        common = sorted(found, key=lambda key: -found[key])[:_MOST_SHAPES]
        shapes = [_Shape(self.np, form, self.codes[form], lengths) for form, lengths in common]
        self.shapes.all = [shape for key, shape in zip(common, shapes) if found[key] * _RARE > _SAMPLE]

    def match(self, shape: _Shape, at: _t.Any, heads: _t.Any) -> tuple[_t.Any, _t.Any]:
        """Finds a shape at positions with known first words, and returns the other positions."""
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
        value &= self.columns.keep.take(first)
        value >>= self.columns.shift.take(first)
        behind = self.columns.len.take(first)
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

    def led(self, at: _t.Any) -> _t.Any:
        """Returns the positions that the first one leads to, by the ends of events, to the last.
        None if it leads elsewhere."""
        np = self.np
        if len(at) == 0 or at[0] != 0:
            return None
        end = self.end.take(at)
        if end[-1] == self.size and not (end[:-1] != at[1:]).any():
            return at
        # Steps from each to the next. The last two are a dead end, and the last end.
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
        """Returns the event number of each event, or of all."""
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
        """Returns which of all or some events begin at some positions; -1 for none."""
        np = self.np
        if self.rows is None:
            at = self.at if rows is None else self.at.take(rows)
            rank = np.full(self.size, -1, "i4")
            rank[at] = np.arange(len(at), dtype="i4")
            return lambda places: rank.take(places)

        def ranks(places: _t.Any) -> _t.Any:
            index = np.searchsorted(self.odd, places)
            found = np.where(self.odd.take(index) == places, self.odd_rows.take(index), -1)
            if rows is None:
                return found
            of_rows = np.searchsorted(rows, found)
            return np.where(rows.take(of_rows, mode="clip") == found, of_rows, -1)

        return ranks

    def values(self, form: int, rows: _t.Any, count: int) -> _t.Iterator[_t.Any]:
        """Iterates over the encoded times, and over each parameter, of the events of one form, which
        are all or some."""
        np = self.np
        if count == 0:
            return
        of_most: _t.Optional[tuple[_Shape, list[_t.Any]]] = None
        alike = [(shape, places) for shape, places in self.alike if shape.form == form]
        if self.rows is not None and self.shapes.all[0].form == form:
            (shape,) = self.shapes.all
            bytes_ = self.rows if rows is None else self.rows.take(rows, 0)
            stride = bytes_.strides[0]
            of_most = shape, [np.ndarray((count,), "<u8", bytes_, offset, (stride,)) for offset, _, _ in shape.words]
        elif alike and len(alike[0][1]) * 2 > count:
            # As if all events had it.
            shape, _ = alike.pop(0)
            of_most = shape, self.words_of(shape, self.at if rows is None else self.at.take(rows))
        others = [(places, values) for other, places, values in self.others if other == form]
        # Where the rest belongs, and what it is.
        ranks = self.ranks(rows) if alike or others else None
        of_shapes: list[tuple[_t.Any, _Shape, list[_t.Any]]] = []
        of_others: list[tuple[_t.Any, _t.Any, list[_t.Any]]] = []
        for shape, places in alike:
            into, chosen = self.chosen(ranks, places)
            of_shapes.append((into, shape, self.words_of(shape, places.take(chosen))))
        for places, values in others:
            into, chosen = self.chosen(ranks, places)
            of_others.append((into, chosen, values))
        index = 0
        for number, (packing, elements) in enumerate([("u64", 0), *self.sorts[form]]):
            is_text = packing in ("string", "bytes")
            shape_ = (count, *([elements] if elements else []), *([2] if is_text else []))
            # Times are added up.
            value = np.empty(shape_, "u8") if number else _apart(np, count)
            for column in [value] if value.ndim == 1 else value.T:
                if of_most is not None:
                    of_most[0].take(of_most[1], index, column)
                for into, shape, words in of_shapes:
                    found = np.empty(len(into), "u8")
                    shape.take(words, index, found)
                    column[into] = found
                index += 1
            for into, chosen, values in of_others:
                value[into] = values[number].take(chosen, 0)
            yield value

    def chosen(self, ranks: _t.Any, places: _t.Any) -> tuple[_t.Any, _t.Any]:
        """Returns the event numbers of those positions at which an event begins, and which these are."""
        into = ranks(places)
        chosen = self.np.flatnonzero(into >= 0)
        return into.take(chosen).astype("i8"), chosen

    def words_of(self, shape: _Shape, at: _t.Any) -> list[_t.Any]:
        """Returns the words of a shape for events at some positions."""
        return [self.words.take(at + offset if offset else at) for offset, _, _ in shape.words]


def _apart(np: _t.Any, count: int) -> _t.Any:
    """Returns a new array of numbers that are not adjacent. NumPy adds up adjacent ones four times
    slower, because each sum waits until the one before it is in memory."""
    return np.empty((count, 2), "u8")[:, 0]


class _Columns:
    """The events of each code that were found: columns in pieces."""

    def __init__(self, np: _t.Any, reader: Reader[_t.Any], module: _Module) -> None:
        self.np = np
        self.reader = reader
        self.module = module
        self.pieces: dict[int, list[_Rows]] = {}
        #: The pieces to which more can be added, by code and registry.
        self.open: dict[tuple[int, int], _Rows] = {}
        #: The most events of a registry's kind.
        self.expected: dict[tuple[int, int], int] = {}
        self.shapes: dict[tuple[int, int], _Shapes] = {}
        #: By the first byte of a number.
        self.len = np.frombuffer(_LEN, "u1").astype("i8")
        self.shift = np.frombuffer(_SHIFT, "u1").astype("u8")
        self.keep = np.array([_MAX >> 64 - 8 * min(length, 8) for length in _LEN], "u8")

    def is_plain(self, registry: Registry, bit: int) -> bool:
        """Returns whether all events of a kind can be read as columns."""
        params = [param for event in registry._events if event.kind.bit == bit for param in event.params]
        return all(0 <= param.count <= _MOST_ELEMENTS for param in params)

    def read(self, registry: Registry, run: _Run) -> bool:
        """Reads whole blocks of one kind. Returns False and reads nothing if one is unusual."""
        np = self.np
        forms = [event for event in registry._events if event.kind.bit == run.kind]
        piece = _Piece(self, registry, run)
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
            self.sums(time, bounds, time, base)
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
                self.sums(next(values), limits, ticks, base)
            else:
                ticks[:] = time.take(rows)
            for param, value in zip(event.params, values):
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

    def sums(self, values: _t.Any, bounds: _t.Any, out: _t.Any, base: _t.Any = None) -> None:
        """Writes the sum of the values up to each, in groups between some bounds. The values are
        changed. This is fast if they are `_apart`."""
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
        np.add.accumulate(values, out=out)

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
                self.sums(np.bitwise_xor(values, sign, out=_apart(np, len(values))), bounds, out)
                if rotation:
                    np.right_shift(out, np.uint64(64 - rotation), out=values)
                    np.left_shift(out, np.uint64(rotation), out=out)
                    np.bitwise_or(out, values, out=out)
                return True
            values ^= sign
            if packing == "delta":
                # The first is a distance from the last first one, the others from the one before.
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
        if packing in _DTYPES and 0 <= param.count <= _MOST_ELEMENTS:
            return self.np.array(values, _DTYPES[packing])
        out = self.np.empty(len(values), object)
        for index, value in enumerate(values):
            out[index] = self.np.array(value, _DTYPES[packing]) if param.count else value
        return out

    def joined(self, code: int) -> dict[str, _t.Any]:
        """Returns the columns of an event, by time."""
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
        params = self.module.registry()._by_code[code].params
        taken = {*columns, *(_attribute(param.name) for param in params)}
        for param in params:
            arrays = [piece.columns.get(param.name + "'") for piece in pieces]
            arrays = [None if array is None else array[: piece.used] for array, piece in zip(arrays, pieces)]
            if not any(array is None for array in arrays):
                columns[_attribute(param.name)] = self.whole(arrays)[order]
                self.add_names(columns, param, taken)
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
            self.add_names(columns, param, taken)
        return columns

    def add_names(self, columns: dict[str, _t.Any], param: _Param, taken: set[str]) -> None:
        """Adds the column of names for one of enums, flags or labels: `why_name` for `why`."""
        np = self.np
        ty = self.module.enums.get(param.sort)
        if ty is None and param.sort != "label":
            return
        attribute = _attribute(param.name)
        values = columns[attribute]
        name = attribute + "_name"
        while name in taken:
            name += "_"
        taken.add(name)
        if ty is not None:
            names = self.names_of(values, _functools.partial(_name_of_number, ty))
        else:
            names = np.empty(values.shape, object)
            for session in self.reader.sessions:
                rows = columns["session"] == session.id
                names[rows] = self.names_of(values[rows], lambda number: session.label(number).text)
        mask = np.ma.getmask(values)
        columns[name] = names if mask is np.ma.nomask else np.ma.masked_array(names, mask)

    def names_of(self, numbers: _t.Any, name_of: _t.Callable[[int], _t.Optional[str]]) -> _t.Any:
        """Returns the names of numbers, or of arrays of numbers, in an array of the same shape."""
        np = self.np
        numbers = np.ma.getdata(numbers)
        if numbers.dtype == object:
            out = np.empty(len(numbers), object)
            for row, elements in enumerate(numbers):
                # A row without the parameter has a zero.
                out[row] = self.names_of(np.asarray(elements), name_of)
            return out
        flat = numbers.reshape(-1)
        least, most = (int(flat.min()), int(flat.max())) if len(flat) else (0, 0)
        if most - least < 1 << 16:
            places = flat.astype("i8") - least if least < 0 else (flat - flat.dtype.type(least)).astype("i8")
            is_used = np.zeros(most - least + 1, "?")
            is_used[places] = True
            table = np.empty(len(is_used), object)
            for place in np.flatnonzero(is_used).tolist():
                table[place] = name_of(least + place)
        else:
            used, places = np.unique(flat, return_inverse=True)
            table = np.empty(len(used), object)
            table[:] = [name_of(number) for number in used.tolist()]
        return table.take(places).reshape(numbers.shape)

    def whole(self, arrays: list[_t.Any]) -> _t.Any:
        """Returns one array of several."""
        return arrays[0] if len(arrays) == 1 else self.np.concatenate(arrays)

    def repeated(self, values: _t.Any, counts: _t.Any) -> _t.Any:
        """Repeats each value the given number of times."""
        if (values != values[0]).any():
            return self.np.repeat(values, counts)
        out = _empty(self.np, (int(counts.sum()),), values.dtype.str)
        out.fill(values[0])
        return out

    def nanoseconds(self, clock: _Clock, ticks: _t.Any) -> _t.Any:
        np = self.np
        start = np.uint64(clock.start_ticks)
        if clock.rate == 1 << 64 or len(ticks) == 0:
            return (ticks - start).view("i8")
        out = _empty(self.np, (len(ticks),), "i8")
        # Some at a time, so that the results in between stay in the cache.
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
        """Converts distances that are less than 2^31 from the first to nanoseconds, in place:
        the first one's product has 128 bits, the others have 96."""
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
        # Rounds to the nearest.
        near += np.uint64((low >> 32) + (1 << 31))
        near >>= np.uint64(32)
        np.add(near, whole, out=out)

    def far_nanoseconds(self, rate: int, distance: _t.Any) -> _t.Any:
        """Converts distances of any size to nanoseconds."""
        np = self.np
        whole, part = np.uint64(rate >> 64), rate & _MAX
        half, low = np.uint64(32), np.uint64(0xFFFF_FFFF)
        c, d = np.uint64(part >> 32), np.uint64(part & 0xFFFF_FFFF)
        span = np.abs(distance).view("u8")
        a, b = span >> half, span & low
        ad, bc = a * d, b * c
        middle = (b * d >> half) + (ad & low) + (bc & low)
        high = a * c + (ad >> half) + (bc >> half) + (middle >> half)
        # Rounds to the nearest: by the highest bit of the remainder.
        ns = (span * whole + high + (middle >> np.uint64(31) & np.uint64(1))).view("i8")
        return np.where(distance < 0, -ns, ns)


def _packed_code(code: int) -> bytes:
    """Returns the shortest encoding of a code."""
    length = 1 if code < 1 << 7 else 2 if code < 1 << 14 else 3
    return ((code << 1 | 1) << length - 1).to_bytes(length, "little")
