from __future__ import annotations

import builtins as _b
import dataclasses as _dataclasses
import itertools as _itertools
import typing as _t
import warnings as _warnings

from .accounts import Completeness, IncompleteWarning
from .blocks import _MAX_LISTED
from .inputs import _Files, _Input, _not_a_stream
from .modules import _Event, _Module
from .native import _Native, _native
from .orders import _by_time, _in_stream
from .parts import _Parts

# --- The reader.

_E = _t.TypeVar("_E", bound=_Event)


class Reader(_Parts, _t.Generic[_E]):
    """Iterates over the events of a stream that this module knows.

    All block headers of files are read first. So sessions, registries and names are known before
    the first event. Memory is in proportion to the number of lanes, and not to the stream.
    """

    def __init__(
        self,
        module: _Module,
        inputs: _t.Union[_Files, _t.Sequence[_Input]],
        order: str,
        strict: bool,
        incomplete: str,
        where: _t.Optional[str] = None,
        threads: _t.Optional[int] = None,
        show_sensitive: bool = False,
    ) -> None:
        if order not in ("time", "stream"):
            raise _b.ValueError(f"order is {order!r}, expected 'time' or 'stream'")
        self._set_incomplete(incomplete)
        self._threads = _number_of_threads(threads)
        super().__init__(module, inputs, strict, show_sensitive)
        self._is_done = False
        try:
            if self._files.names and self._files.length == 0:
                raise _not_a_stream(self._files.names[0], b"")
            self._blocks = self._scan()
            self._hide()
            if strict:
                for fingerprint in sorted(self._found):
                    self._forms(fingerprint)
            self._read_names()
            #: The compiled module, once it reads the events. With a condition, which is checked now.
            self._native: _t.Optional[_Native] = (
                None if where is None else _native(self, order, self._threads, where)
            )
        except _b.BaseException:
            self.close()
            raise
        chunks = self._all(self._chunks(order))
        self._events: _t.Iterator[_t.Any] = _itertools.chain.from_iterable(chunks)

    def __iter__(self) -> _t.Iterator[_E]:
        return _t.cast(_t.Iterator[_E], self._events)

    def __next__(self) -> _E:
        return _t.cast(_E, next(self._events))

    def __enter__(self) -> Reader[_E]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the files. They are closed at the end of the events, too."""
        if self._owns_files:
            self._files.close()

    @property
    def completeness(self) -> Completeness:
        """Returns what was read so far, and what was missing; after the last event, the verdict."""
        if self._native is not None:
            return self._native.completeness(self._files.length)
        report = _dataclasses.replace(self._report)
        written: dict[int, int] = {}
        for state in self._states.values():
            counters = state.losses.total()
            missing, excluded = state.missing()
            report.lost_pool += counters[0]
            report.lost_reentrant += counters[1]
            report.lost_sink += counters[2]
            report.truncated += counters[3]
            report.missing += missing
            report.excluded += excluded
            report.unread += state.unread.count_without(state.covered)
            written[state.session.id] = written.get(state.session.id, 0) + state.written()
        for session in self.sessions:
            report.missing += max(session._written - written.get(session.id, 0), 0)
        report.sessions = [(session.id, session.ended) for session in self.sessions]
        report.without_end_mark = sum(session.facts.get("end_mark") == "none" for session in self.sessions)
        unreadable = [*report.unreadable, *self._texts.incomplete(self.registries)]
        report.unreadable = sorted(unreadable)[:_MAX_LISTED]
        return report

    def _set_incomplete(self, incomplete: str) -> None:
        if incomplete not in ("warn", "error", "ignore"):
            raise _b.ValueError(f"incomplete is {incomplete!r}, expected 'warn', 'error' or 'ignore'")
        self._incomplete = incomplete

    def _chunks(self, order: str) -> _t.Iterator[list[_t.Any]]:
        # Columns are read without these events, so it is chosen when the first is asked for.
        if self._native is None:
            self._native = _native(self, order, self._threads, None)
        if self._native is not None:
            yield from self._native.chunks(self)
        else:
            yield from _by_time(self) if order == "time" else _in_stream(self)

    def _all(self, chunks: _t.Iterator[list[_t.Any]]) -> _t.Iterator[list[_t.Any]]:
        yield from chunks
        self._end(2)

    def _end(self, level: int) -> None:
        """Closes the files at the end of the events. Warns of an incomplete stream, or raises an
        error. The level is that of `warnings.warn`."""
        self.close()
        self._is_done = True
        if self._incomplete == "ignore":
            return
        completeness = self.completeness
        if completeness.is_whole:
            return
        warning = _incomplete(self._files.names, completeness, self._incomplete)
        if self._incomplete == "error":
            raise warning
        _warnings.warn(warning, stacklevel=level + 1)


def _number_of_threads(threads: _t.Optional[int]) -> _t.Optional[int]:
    """Checks the number of threads that a caller asks for."""
    if threads is not None and threads < 1:
        raise _b.ValueError(f"threads is {threads!r}, expected a number of at least 1")
    return threads


def _incomplete(names: list[str], completeness: Completeness, how: str) -> IncompleteWarning:
    """Returns the warning for inputs that are not whole, and were opened with this `incomplete`."""
    text = f"{', '.join(f'`{name}`' for name in names)}: {completeness}"
    others = [other for other in ("warn", "error", "ignore") if other != how]
    does = {"warn": "warns of it", "error": "raises this as an error", "ignore": "says nothing"}
    text += "\nhelp: " + "; ".join(f'incomplete="{other}" {does[other]}' for other in others)
    return IncompleteWarning(text, completeness)
