from __future__ import annotations

import typing as _t

from .arrays import _apart
from .encoded import _Encoded, _Run
from .events import _LEN, _unsigned
from .registries import Registry
from .shapes import _Shape, _Shapes

# --- Events of whole blocks, found by NumPy, all of one kind at once.
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
_FIXED = {"u8": 1, "i8": 1, "bool": 1, "f32": 4, "f64": 8}


class _Piece(_Encoded):
    """Payloads of one kind in sequence, and the events in them."""

    def __init__(self, np: _t.Any, registry: Registry, run: _Run, shapes: _Shapes) -> None:
        super().__init__(np, registry, run)
        self.shapes = shapes
        #: Positions at which events with a shape may begin.
        self.alike: list[tuple[_Shape, _t.Any]] = []
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
