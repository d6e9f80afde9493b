from __future__ import annotations

import builtins as _b
import dataclasses as _dataclasses
import functools as _functools
import typing as _t

from .base import _MAX
from .blocks import _Header
from .coverage import _Coverage
from .descriptions import KindDesc
from .sessions import Session

# --- The account of a lane's events.


# The counters of a lane in a header: pool, reentrant, sink, truncated, excluded. They only grow.
_Counters = tuple[int, ...]
_NOTHING: _Counters = (0,) * 5


def _highest(a: _Counters, b: _Counters) -> _Counters:
    return tuple(map(max, a, b))


class _Losses:
    """The losses and excluded events of a lane, from the headers of its blocks."""

    def __init__(self) -> None:
        #: By the number of the next event and the sum of the counters.
        self.keys: list[tuple[int, int]] = []
        #: The counters of blocks that state the same, and the events before the last of them.
        self.entries: list[tuple[_Counters, int]] = []

    def note(self, before: int, counters: _Counters) -> None:
        key = (before, sum(counters))
        index = len(self.keys)
        while index and self.keys[index - 1] > key:
            index -= 1
        if index and _highest(self.entries[index - 1][0], counters) == self.entries[index - 1][0]:
            known, last = self.entries[index - 1]
            # One that states less may be of another stream of the lane.
            if known == counters:
                self.entries[index - 1] = known, max(last, before)
            return
        last = before
        after = index - 1 if index and self.keys[index - 1] == key else index
        if after < len(self.keys) and self.entries[after][0] == counters:
            last = max(last, self.entries[after][1])
            del self.keys[after], self.entries[after]
            index = after
        if index and self.keys[index - 1] == key:
            self.entries[index - 1] = counters, last
            return
        self.keys.insert(index, key)
        self.entries.insert(index, (counters, last))

    def total(self) -> _Counters:
        return _functools.reduce(_highest, (entry[0] for entry in self.entries), _NOTHING)

    def steps(self) -> _t.Iterator[tuple[int, int, _Counters]]:
        """Returns what was lost or excluded, each with the events before the last block that states
        less, and before the first that states it."""
        total, after = _NOTHING, 0
        for (before, _), (counters, last) in zip(self.keys, self.entries):
            step = tuple(max(a - b, 0) for a, b in zip(counters, total))
            total = _highest(total, counters)
            if any(step):
                yield min(after, before), before, step
            after = last


class Lane:
    """The source of an event: a thread of a session, and a kind."""

    __slots__ = ("session", "thread", "kind")

    def __init__(self, session: Session, thread: int, kind: KindDesc) -> None:
        #: The session.
        self.session = session
        #: The session's number for the thread.
        self.thread = thread
        #: The kind of its events.
        self.kind = kind

    @property
    def thread_name(self) -> _t.Optional[str]:
        """Returns the name of the thread, if the stream has one."""
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
        #: Number of the block, position in it and time, where the last part of an open block ended.
        self.open: _t.Optional[tuple[int, int, int]] = None
        self.slots: list[int] = []
        self.read = 0
        self.covered = _Coverage()
        #: Events whose blocks are in the stream, as their headers say.
        self.noted = _Coverage()
        self.unread = _Coverage()
        #: Events that were withheld after the stream was written. Another part may have them.
        self.withheld = _Coverage()
        self.losses = _Losses()
        self.recorded = 0
        #: The most events that one header says were written to its stream.
        self.stated = 0

    def note(self, header: _Header) -> None:
        self.note_losses(header.before, header)
        self.recorded = max(self.recorded, header.end())
        self.stated = max(self.stated, header.end() - header.excluded - header.lost.sink)
        if header.is_withheld():
            self.withheld.fill(header.before, header.end())
            return
        gap = self.noted.first_gap(header.before, header.end())
        if gap is not None:
            self.noted.add(*gap, 0, 0)

    def note_losses(self, before: int, header: _Header) -> None:
        self.losses.note(before, (*header.lost, header.excluded))

    def excluded(self, there: _Coverage) -> _t.Iterator[tuple[int, int]]:
        """Returns the excluded events that are not in a set of the lane's events. They come with the
        end of the gap in which they are. A block may state more than there are since the last one.
        It may also state a loss of the sink that lies before earlier blocks."""
        at = unexplained = 0
        for after, before, counters in self.losses.steps():
            unexplained += sum(end - start for start, end in there.gaps_in(at, after))
            gaps = there.gaps_in(after, before)
            absent = sum(end - start for start, end in gaps)
            left = min(counters[4], max(absent - max(counters[2] - unexplained, 0), 0))
            unexplained = max(unexplained + absent - left - counters[2], 0)
            at = before
            for start, end in reversed(gaps if counters[4] else []):
                yield end, min(left, end - start)
                left -= min(left, end - start)

    def written(self) -> int:
        """Returns the number of events that were written to the stream, as its headers say. Another
        stream of the session may have events that were not written to this one."""
        noted = self.noted.union(self.withheld)
        excluded = sum(events for _, events in self.excluded(noted))
        written = self.recorded - self.losses.total()[2] - excluded
        return min(max(written, noted.count()), self.stated)

    def count_unreadable(self, start: int, header: _Header) -> None:
        """Counts the events of a part as unreadable, from a number on."""
        gap = self.unread.first_gap(start, header.end())
        if gap is not None:
            self.unread.add(*gap, header.base_ticks, header.end_ticks)

    def missing(self) -> tuple[int, int]:
        """Returns events that were written but not read, and events that were excluded."""
        absent = max(self.recorded - self.covered.count(), 0)
        # Withheld events are not missing.
        explained = self.covered.union(self.withheld)
        # Gaps by the number of the event after them.
        gaps: dict[int, int] = {}
        at = 0
        for start, (end, _, _) in zip(explained.starts, explained.ranges):
            if at < start:
                gaps[start] = start - at
            at = end
        if self.recorded > at:
            gaps[self.recorded] = self.recorded - at
        ends = sorted(gaps)
        for before, events in self.excluded(explained):
            after = next((end for end in ends if end >= before), None)
            if after is not None:
                gaps[after] = max(gaps[after] - events, 0)
        excluded = max(absent - sum(gaps.values()), 0)
        return max(absent - excluded - self.losses.total()[2], 0), excluded


class _Block(_t.NamedTuple):
    """An events block, or a part of one."""

    at: int
    header: _Header
    lane: _LaneState


@_dataclasses.dataclass
class Completeness:
    """What was read of a stream, and what was missing. As a string, the verdict in a few lines."""

    #: Events read, and whole blocks, and bytes of the input.
    events: int = 0
    blocks: int = 0
    bytes: int = 0
    #: Events that a condition did not select.
    filtered: int = 0
    #: Bytes outside of whole blocks.
    damaged_bytes: int = 0
    #: Events lost in the program, by cause.
    lost_pool: int = 0
    lost_reentrant: int = 0
    lost_sink: int = 0
    #: Strings and arrays truncated to their limit. Their events are not lost.
    truncated: int = 0
    #: Written, but not read; and of these, the events of blocks that are not readable.
    missing: int = 0
    unread: int = 0
    #: Events that were not meant for this stream.
    excluded: int = 0
    #: First byte, end and cause of each damaged range.
    damage: list[tuple[int, int, str]] = _dataclasses.field(default_factory=list)
    damaged_ranges: int = 0
    #: First byte, end and reason of each part of a block that could not be decoded.
    undecodable: list[tuple[int, int, str]] = _dataclasses.field(default_factory=list)
    undecodable_parts: int = 0
    #: Number of blocks of each unknown type.
    unknown_blocks: dict[int, int] = _dataclasses.field(default_factory=dict)
    #: Blocks that were not understood: position and reason.
    unreadable: list[tuple[int, str]] = _dataclasses.field(default_factory=list)
    #: Sessions, and whether each has its end mark.
    sessions: list[tuple[int, bool]] = _dataclasses.field(default_factory=list)
    #: Sessions made from logs whose format has no end mark.
    without_end_mark: int = 0

    @property
    def lost(self) -> int:
        """Returns the number of events lost in the program, for all causes."""
        return self.lost_pool + self.lost_reentrant + self.lost_sink

    @property
    def is_complete(self) -> bool:
        """Returns true if there is a session, every session has its end mark, and every event that
        their programs emitted was read. Returns false if the stream cannot tell: see
        `may_be_truncated`."""
        return self.is_whole and not self.may_be_truncated

    @property
    def may_be_truncated(self) -> bool:
        """Returns true if a session is from a log format without end mark. Its last events may be
        missing."""
        return self.without_end_mark > 0

    @property
    def is_whole(self) -> bool:
        """Returns true if nothing is known to be lost, missing or unfinished."""
        return bool(self.sessions) and not self.is_broken and not self.missing and not self.lost and self.ended

    @property
    def ended(self) -> bool:
        """Returns true if every session has its end mark, and no block is of an unknown type."""
        return all(ended for _, ended in self.sessions) and not self.unknown_blocks

    @property
    def is_broken(self) -> bool:
        """Returns true if a part of the stream is damaged or was not understood."""
        return self.damaged_ranges > 0 or self.undecodable_parts > 0 or bool(self.unreadable)

    def __str__(self) -> str:
        filtered = f", {self.filtered:,} filtered out" if self.filtered else ""
        if not self.sessions:
            lines = [f"nothing to read: no session in {_count(self.bytes, 'byte')}"]
        elif self.is_whole:
            counts = _count(self.events, "event") + filtered, _count(self.blocks, "block"), _count(self.bytes, "byte")
            lines = [("complete: " if self.is_complete else "read: ") + ", ".join(counts)]
        else:
            total = self.events + self.filtered + self.missing + self.lost
            lines = [f"incomplete: {self.events:,} of {_count(min(total, _MAX), 'event')} read{filtered}"]
        causes = (
            (self.lost_pool, "pool full"),
            (self.lost_reentrant, "reentrant"),
            (self.lost_sink, "not written"),
        )
        if self.lost:
            text = ", ".join(f"{number:,} {why}" for number, why in causes if number)
            lines.append(f"lost in the program: {_count(self.lost, 'event')} ({text})")
        if self.truncated:
            lines.append(f"truncated to their limit: {_count(self.truncated, 'string')} or array{_plural(self.truncated)}")
        if self.missing:
            unread = min(self.unread, self.missing)
            text = f"missing: {_count(self.missing, 'event')}"
            if unread == 0:
                text += " of absent blocks"
            elif unread == self.missing:
                text += " of damaged or undecodable blocks"
            else:
                text += f", {unread:,} of damaged or undecodable blocks, "
                text += f"{self.missing - unread:,} of absent blocks"
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
            lines.append(f"without an end: {text} (still running, killed, or truncated)")
        if self.may_be_truncated:
            lines.append("may be truncated: the log it was made from has no end mark")
        if self.excluded:
            lines.append(f"excluded: {_count(self.excluded, 'event')} of kinds that were not output")
        return "\n  ".join(lines)


class IncompleteWarning(_b.UserWarning):
    """A stream that is damaged, or that lacks events. An error if the reader is asked for that."""

    def __init__(self, text: str, completeness: Completeness) -> None:
        super().__init__(text, completeness)
        #: What was read, and what was missing.
        self.completeness = completeness

    def __str__(self) -> str:
        return str(self.args[0])


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{_plural(number)}"


def _plural(number: int) -> str:
    return "" if number == 1 else "s"
