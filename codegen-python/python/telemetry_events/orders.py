from __future__ import annotations

import heapq as _heapq
import operator as _operator
import typing as _t

from .accounts import _Block
from .modules import _Event
from .parts import _BATCH, _Part, _Parts, _place

# --- The orders of events.


def _in_stream(reader: _Parts) -> _t.Iterator[list[_t.Any]]:
    """Iterates in the order of the stream, but with the blocks of each lane in order."""
    places: dict[int, list[int]] = {}
    for place, block in enumerate(reader._blocks):
        places.setdefault(block.lane.number, []).append(place)
    ordered = reader._blocks[:]
    for of_lane in places.values():
        blocks = sorted((reader._blocks[place] for place in of_lane), key=_place)
        for place, block in zip(of_lane, blocks):
            ordered[place] = block
    for block in ordered:
        part = reader._open(block)
        while part is not None:
            yield reader._read(part, _BATCH)
            if reader._is_at_end(part):
                reader._close(part)
                break


def _by_time(reader: _Parts) -> _t.Iterator[list[_t.Any]]:
    """Iterates by time, over all threads and sessions.

    Every lane has some of its next events. Those up to the earliest end of these can be
    returned: lanes are in order, so the rest of each is later.
    """
    by_lane: dict[int, list[_Block]] = {}
    for block in sorted(reader._blocks, key=_place):
        by_lane.setdefault(block.lane.number, []).append(block)
    ranked = sorted(reader.sessions, key=lambda session: (session._clock.start_wall, session.id))
    for rank, session in enumerate(ranked):
        session._rank = rank
    queues = [_Queue(reader, blocks) for blocks in by_lane.values()]
    queues.sort(key=lambda queue: (queue.tie, queue.state.number))
    of_one = len({queue.state.session.id for queue in queues}) < 2
    for order, queue in enumerate(queues):
        queue.order, queue.of_one = order, of_one
    # Lanes by the next thing of each.
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
        # At equal times, the lane that comes first is sorted first, and stays so.
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


_by_ticks = _operator.attrgetter("ticks")


def _by_wall(event: _Event) -> tuple[int, int, int]:
    session = event.lane.session
    return session._clock.wall_ns(event.ticks), session._rank, event.ticks


class _Queue:
    """The blocks of a lane that are not read yet, and some of its next events."""

    def __init__(self, reader: _Parts, blocks: list[_Block]) -> None:
        self.reader = reader
        self.blocks = blocks[::-1]
        self.state = state = blocks[0].lane
        self.part: _t.Optional[_Part] = None
        self.events: list[_t.Any] = []
        #: No unread event is earlier.
        self.time = 0
        registry = reader.registries.get(state.registry)
        kind = registry._kind(state.kind) if registry is not None else None
        #: At equal times, precise kinds come before those that inherit their clock.
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
        """Returns the events up to a key."""
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
