from __future__ import annotations

import typing as _t

# --- Sets of events.


class _Coverage:
    """A set of a lane's events by their numbers: ranges without a gap, each with its times."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ranges: list[tuple[int, int, int]] = []

    def before(self, number: int) -> int:
        """Returns the index after the last range that begins at a number or before."""
        low, high = 0, len(self.starts)
        while low < high:
            middle = (low + high) // 2
            if self.starts[middle] <= number:
                low = middle + 1
            else:
                high = middle
        return low

    def first_gap(self, start: int, end: int) -> _t.Optional[tuple[int, int]]:
        """Returns the first events of a range that are not in the set, as a range."""
        index = self.before(start)
        if index:
            start = max(start, self.ranges[index - 1][0])
        index = self.before(start - 1)
        while index < len(self.starts) and self.starts[index] < start:
            index += 1
        if index < len(self.starts):
            end = min(end, self.starts[index])
        return (start, end) if start < end else None

    def gaps_in(self, start: int, end: int) -> list[tuple[int, int]]:
        """Returns the parts of a range that are not in the set, in order."""
        gaps: list[tuple[int, int]] = []
        gap = self.first_gap(start, end)
        while gap is not None:
            gaps.append(gap)
            gap = self.first_gap(gap[1], end)
        return gaps

    def fill(self, start: int, end: int) -> None:
        """Adds what is not in the set of a range."""
        for gap in self.gaps_in(start, end):
            self.add(*gap, 0, 0)

    def add(self, start: int, end: int, base: int, last: int) -> None:
        """Adds a range that is not in the set."""
        if start >= end:
            return
        index = self.before(start)
        if index and self.ranges[index - 1][0] == start:
            index -= 1
            start = self.starts[index]
            _, base_before, last_before = self.ranges[index]
            base, last = min(base, base_before), max(last, last_before)
            del self.starts[index], self.ranges[index]
        if index < len(self.starts) and self.starts[index] == end:
            end, base_after, last_after = self.ranges[index]
            base, last = min(base, base_after), max(last, last_after)
            del self.starts[index], self.ranges[index]
        self.starts.insert(index, start)
        self.ranges.insert(index, (end, base, last))

    def union(self, other: _Coverage) -> _Coverage:
        """Returns a set of the events of both."""
        if not other.starts:
            return self
        both = _Coverage()
        both.starts, both.ranges = self.starts.copy(), self.ranges.copy()
        for start, (end, _, _) in zip(other.starts, other.ranges):
            both.fill(start, end)
        return both

    def count(self) -> int:
        """Returns the number of events in the set."""
        return sum(run[0] - start for start, run in zip(self.starts, self.ranges))

    def count_without(self, other: _Coverage) -> int:
        """Returns the number of events that are in this set and not in the other."""
        total = 0
        for start, (end, _, _) in zip(self.starts, self.ranges):
            total += sum(last - first for first, last in other.gaps_in(start, end))
        return total
