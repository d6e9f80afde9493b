from __future__ import annotations

import builtins as _b
import dataclasses as _dataclasses
import enum as _enum
import functools as _functools
import heapq as _heapq
import itertools as _itertools
import operator as _operator
import typing as _t
import warnings as _warnings

from .accounts import Completeness, Lane, _LaneState
from .base import IncompleteWarning, StreamError, _MAX
from .blocks import (
    _Block,
    _Blocks,
    _Damage,
    _END,
    _EVENTS,
    _HEADER_LEN,
    _Header,
    _LAST,
    _Loss,
    _MAX_LISTED,
    _REGISTRY,
    _SESSION,
    _SYNC,
    _THREAD,
    _header,
    _unpacked,
    _wrong_payload,
)
from .descriptions import KindDesc
from .events import _Decode, _PADDING, _decoder, _indexed
from .inputs import _Files, _Input, _not_a_stream
from .registries import Registry, _attribute, _facts, _Form
from .own_registry import _RUNTIME_NAME, _RUNTIME_TOML
from .sessions import Session, _Clock, _NAME_ROOM, _Texts, _block_name
from .versions import OtherForm, _compare

# --- The reader.

# Events that are created at once: few enough to stay in the cache until they are returned.
_BATCH = 512


@_dataclasses.dataclass(init=False)
class _Event:
    """What every event has beside its parameters. The fields are those of `repr` and `asdict`."""

    __slots__ = ("ticks", "lane")
    #: Nanoseconds since the session began.
    time_ns: int
    #: The session's number for the thread that emitted it.
    thread: int

    def __init__(self, ticks: int, lane: Lane) -> None:
        #: The clock reading.
        self.ticks = ticks
        #: Its source.
        self.lane = lane

    @property
    def session(self) -> Session:
        """Returns its session."""
        return self.lane.session


# Both follow from what is stored. They are set here, because a dataclass takes a property in its
# body for a default value.
setattr(_Event, "time_ns", property(lambda event: event.lane.session._clock.ns(event.ticks)))
setattr(_Event, "thread", property(lambda event: event.lane.thread))


class _Module(_t.NamedTuple):
    """The generated parts."""

    name: str
    #: By bit number.
    kinds: dict[int, KindDesc]
    #: By code.
    classes: dict[int, type[_t.Any]]
    #: Functions that turn numbers into values.
    types: dict[str, _t.Callable[[int], int]]
    #: The classes of enums and flags.
    enums: dict[str, type[_enum.Enum]]
    #: The text of the registry.
    text: str
    #: Names of the parameters in the objects, by code.
    attributes: dict[int, list[str]]
    #: The registry, parsed when it is first needed.
    registry: _t.Callable[[], Registry]


def _module(
    name: str,
    text: str,
    kinds: dict[int, KindDesc],
    classes: _t.Sequence[_t.Any],
    types: dict[str, _t.Any],
) -> _Module:
    by_code = {one.DESC.code: one for one in classes}
    of_types = {key: _enum_values(ty) for key, ty in types.items()}
    read = _functools.lru_cache(maxsize=None)(lambda: Registry(text))
    attributes = {code: [_attribute(param.name) for param in one.DESC.params] for code, one in by_code.items()}
    return _Module(name, kinds, by_code, of_types, types, text, attributes, read)


def _enum_values(ty: _t.Any) -> _t.Callable[[int], int]:
    """Returns a function that turns numbers into values, and keeps numbers without names. Sets of
    flags are created once each, unless there are too many."""
    known: dict[int, int] = {member.value: member for member in ty.__members__.values()}
    if not issubclass(ty, _enum.IntFlag):
        get = known.get
        return lambda number: get(number, number)

    def flags(number: int) -> int:
        value = known.get(number)
        if value is None:
            if len(known) >= 4096:
                return number
            value = known[number] = ty(number)
        return value

    return flags


class _Part:
    """A part of a block while its events are read."""

    __slots__ = ("block", "header", "state", "indexed", "padded", "decode", "wanted", "next", "pos", "time", "wrong")

    def __init__(self, block: _Block, header: _Header, payload: bytes, decode: _Decode, time: int) -> None:
        self.block = block
        #: The header without compression.
        self.header = header
        self.state = block.lane
        self.padded = payload + _PADDING
        self.indexed: _t.Optional[_t.Sequence[int]] = None
        self.decode = decode
        self.wanted = (header.before, header.before)
        self.next = header.before
        self.pos = 0
        self.time = time
        self.wrong: _t.Optional[str] = None


_E = _t.TypeVar("_E", bound=_Event)


class Reader(_t.Generic[_E]):
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
    ) -> None:
        if order not in ("time", "stream"):
            raise _b.ValueError(f"order is {order!r}, expected 'time' or 'stream'")
        self._set_incomplete(incomplete)
        self._module = module
        self._strict = strict
        self._is_done = False
        #: Files that are given stay open.
        self._owns_files = not isinstance(inputs, _Files)
        self._files = inputs if isinstance(inputs, _Files) else _Files(inputs)
        self._order = order
        self._report = Completeness(bytes=self._files.length)
        #: In the order of their first blocks.
        self.sessions: list[Session] = []
        #: The registries of the stream by fingerprint, and the module's own.
        self.registries: dict[int, Registry] = {}
        #: Events skipped so far: of other registries, unknown to this module, or of another form.
        self.others = 0
        #: Events that a registry of the stream has in another form.
        self.other_forms: list[OtherForm] = []
        self._by_id: dict[int, Session] = {}
        self._states: dict[tuple[int, int, int, int], _LaneState] = {}
        self._texts = _Texts()
        self._same: dict[int, dict[int, _Form]] = {}
        self._decoders: dict[tuple[int, int], tuple[_Decode, int]] = {}
        self._name_room = _NAME_ROOM
        #: Fingerprints of the registries that were found in the stream.
        self._found: set[int] = set()
        own = module.registry()
        self.registries[own.fingerprint] = own
        try:
            if self._files.names and self._files.length == 0:
                raise _not_a_stream(self._files.names[0], b"")
            self._blocks = self._scan()
            if strict:
                for fingerprint in sorted(self._found):
                    self._forms(fingerprint)
            self._read_names()
        except _b.BaseException:
            self.close()
            raise
        self._chunks = self._by_time() if order == "time" else self._in_stream()
        self._events: _t.Iterator[_t.Any] = _itertools.chain.from_iterable(self._chunks)

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
        text = f"{', '.join(f'`{name}`' for name in self._files.names)}: {completeness}"
        others = [how for how in ("warn", "error", "ignore") if how != self._incomplete]
        does = {"warn": "warns of it", "error": "raises this as an error", "ignore": "says nothing"}
        text += "\nhelp: " + "; ".join(f'incomplete="{how}" {does[how]}' for how in others)
        warning = IncompleteWarning(text, completeness)
        if self._incomplete == "error":
            raise warning
        _warnings.warn(warning, stacklevel=level + 1)

    # Contents of blocks.

    def _scan(self) -> list[_Block]:
        """Reads all headers, and all payloads but those of events."""
        blocks = _Blocks(self._files)
        found: list[_Block] = []
        checks = False
        while True:
            start = blocks.at
            piece = blocks.next(checks)
            if piece is None:
                break
            if isinstance(piece[0], _Damage):
                checks = False
                self._take_damage(piece[0], piece[1])
                continue
            at, header, payload = piece
            if header.block_type != _EVENTS:
                self._take(at, header, payload)
                continue
            if not checks:
                # Its length is trusted only if an events block of its session follows at its end.
                follows = _header(self._files.peek(blocks.at, _HEADER_LEN))
                if (
                    isinstance(follows, str)
                    or follows.block_type != _EVENTS
                    or follows.session != header.session
                ):
                    blocks.at, checks = start, True
                    continue
            checks = False
            state = self._state(header)
            state.note(header)
            found.append(_Block(at, header, state))
        for session in self.sessions:
            if not session.declared:
                session._clock = _Clock(*session._earliest, 0)
                session._clock.refine_farthest(*session._farthest)
        return found

    def _session(self, header: _Header) -> Session:
        moment = header.base_ticks, header.base_wall
        session = self._by_id.get(header.session)
        if session is None:
            session = self._by_id[header.session] = Session(header.session, *moment)
            self.sessions.append(session)
        if header.flags & _END:
            session.ended = True
        if moment != (0, 0):
            session._earliest = min(session._earliest, moment)
            session._farthest = max(session._farthest, moment)
            session._clock.refine_farthest(*moment)
        return session

    def _state(self, header: _Header) -> _LaneState:
        session = self._session(header)
        key = header.session, header.thread, header.registry, header.kind
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _LaneState(session, header, len(self._states))
        return state

    def _take(self, at: int, header: _Header, payload: bytes) -> None:
        """Reads a block that has no events."""
        self._report.blocks += 1
        unpacked = _unpacked(header, payload)
        if isinstance(unpacked, str):
            self._session(header)
            self._not_understood(at, header, True, unpacked)
            return
        header, payload = unpacked
        if header.block_type == _SESSION:
            self._session_block(at, header, payload)
        elif header.block_type == _REGISTRY:
            self._registry_block(at, header, payload)
        elif header.block_type == _THREAD:
            session = self._session(header)
            text, is_whole = self._texts.take(at, header, payload)
            if text is not None:
                session.threads[header.thread], wrong = _facts(text)
                self._not_understood(at, header, is_whole, wrong)
        elif header.block_type == _SYNC:
            session = self._session(header)
            session._written = max(session._written, header.before)
            if header.lost != _Loss():
                # Losses that belong to no lane.
                self._state(header).note_losses(0, header)
        else:
            unknown = self._report.unknown_blocks
            unknown[header.block_type] = unknown.get(header.block_type, 0) + 1

    def _session_block(self, at: int, header: _Header, payload: bytes) -> None:
        session = self._session(header)
        text, is_whole = self._texts.take(at, header, payload)
        if text is None or session.declared and session.facts and not (is_whole and not session._whole):
            return
        facts, wrong = _facts(text)
        per_second = facts.get("ticks_per_second", 0)
        if not isinstance(per_second, int) or isinstance(per_second, bool) or not 0 <= per_second <= _MAX:
            per_second = 0
        rate = None if facts.get("clock") == "os" else per_second
        session._clock = _Clock(header.base_ticks, header.base_wall, rate)
        session._clock.refine_farthest(*session._farthest)
        session.declared = True
        session.facts = facts
        session._whole |= is_whole
        self._not_understood(at, header, is_whole, wrong)

    def _registry_block(self, at: int, header: _Header, payload: bytes) -> None:
        self._session(header)
        # The stream's registry replaces the module's: units are not in the fingerprint.
        if header.registry in self._found:
            return
        text, is_whole = self._texts.take(at, header, payload)
        if text is None:
            return
        try:
            decoded = text.decode("utf-8")
            # To parse a long text takes as long as to read many events.
            own = self._module
            registry = own.registry() if decoded and decoded == own.text else Registry(decoded)
        except _b.UnicodeDecodeError:
            self._not_understood(at, header, is_whole, "not UTF-8")
        except (StreamError, _b.RecursionError) as error:
            self._not_understood(at, header, is_whole, str(error))
        else:
            found = registry.fingerprint
            if found == header.registry:
                self._texts.forget(header)
                self._found.add(found)
                # It may be older than the marks of its registry.
                registry._take_names(self._module.registry())
                if registry.name == _RUNTIME_NAME:
                    registry._take_names(Registry(_RUNTIME_TOML))
                self.registries[found] = registry
            else:
                why = f"a text of fingerprint {found:016x}, expected {header.registry:016x}"
                self._not_understood(at, header, is_whole, why)

    def _not_understood(self, at: int, header: _Header, is_whole: bool, wrong: _t.Optional[str]) -> None:
        if wrong is None:
            return
        if not is_whole:
            # Parts of it may follow: this is the reason if none do.
            waiting = self._texts.waiting.get(self._texts.key(header))
            if waiting is not None:
                waiting.wrong = wrong
        elif len(self._report.unreadable) < _MAX_LISTED:
            self._report.unreadable.append((at, f"{_block_name(header.block_type)}: {wrong}"))

    def _take_damage(self, damage: _Damage, header: _t.Optional[_Header]) -> None:
        # A block that is cut short may end in the next input.
        self._files.check(damage.start + (0 if header is None else header.block_len()), damage.end)
        report = self._report
        report.damaged_bytes += damage.end - damage.start
        report.damaged_ranges += 1
        if len(report.damage) < _MAX_LISTED:
            report.damage.append(damage)
        if header is not None:
            self._session(header)
            if header.block_type == _EVENTS:
                state = self._state(header)
                state.note(header)
                state.count_unreadable(header.before, header)

    def _read_names(self) -> None:
        """Reads the names of a stream before its events, because names may follow these."""
        of_names = [block for block in self._blocks if self._has_names(block.header)]
        of_names.sort(key=_place)
        before: _t.Optional[tuple[_LaneState, int, int]] = None
        time, slots = 0, [0]
        for block in of_names:
            header, state = block.header, block.lane
            payload = self._load(block)
            unpacked = "" if isinstance(payload, _Damage) else _unpacked(header, payload)
            if isinstance(unpacked, str):
                continue
            header, payload = unpacked
            registry = self.registries[header.registry]
            decode, count = self._decoders.setdefault(
                (~header.registry, header.kind), _decoder(registry, header.kind, {}, None)
            )
            if header.offset == 0:
                time, slots = header.base_ticks, [0] * count
            elif before != (state, header.seq, header.offset):
                continue
            before = state, header.seq, header.offset + header.payload_len
            found: list[_t.Any] = []
            padded = payload + _PADDING
            _, time, _, _, _ = decode(padded, padded, 0, header.events, time, slots, None, int, found)
            for code, ticks, *values in found:
                for mark in registry._marks[code]:
                    said = mark, registry._separate_names, ticks, values[mark.of], values[mark.by]
                    self._name_room = state.session._note(*said, self._name_room)

    def _has_names(self, header: _Header) -> bool:
        registry = self.registries.get(header.registry)
        return registry is not None and registry._gives_names(header.kind)

    # Parts of blocks.

    def _load(self, block: _Block) -> _t.Union[bytes, _Damage]:
        """Returns the payload of a block, checked."""
        return self._check(block, self._payload(block))

    def _payload(self, block: _Block) -> _t.Union[bytes, _Damage]:
        header = block.header
        data = self._files.read(block.at, header.block_len())
        end = block.at + header.block_len()
        if len(data) < header.block_len():
            text = f"the input ends after {len(data):,} bytes of a block of {header.block_len():,}"
            return _Damage(block.at, end, text)
        return data[header.header_len :]

    def _check(
        self, block: _Block, payload: _t.Union[bytes, _Damage], crc: _t.Optional[int] = None
    ) -> _t.Union[bytes, _Damage]:
        if isinstance(payload, _Damage):
            return payload
        wrong = _wrong_payload(block.header, payload, crc)
        return payload if wrong is None else _Damage(block.at, block.at + block.header.block_len(), wrong)

    def _open(
        self, block: _Block, payload: _t.Union[None, bytes, _Damage] = None
    ) -> _t.Optional[_Part]:
        """Begins to read a part. None if there is nothing to read, which is then counted."""
        header, state = block.header, block.lane
        payload = self._load(block) if payload is None else payload
        report = self._report
        if isinstance(payload, _Damage):
            state.count_unreadable(header.before, header)
            report.damaged_bytes += payload.end - payload.start
            report.damaged_ranges += 1
            if len(report.damage) < _MAX_LISTED:
                report.damage.append(payload)
            return None
        report.blocks += 1
        unpacked = _unpacked(header, payload)
        if not isinstance(unpacked, str):
            header, payload = unpacked
        if header.events == 0 and header.payload_len == 0:
            return None
        new_range = state.covered.first_gap(header.before, header.end())
        repeats = header.events > 0 and new_range is None
        if repeats:
            is_past = (
                state.open is not None
                and state.open[0] == header.seq
                and state.open[1] >= header.offset + header.payload_len
            )
            if header.flags & _LAST or is_past:
                return None
        begun = unpacked if isinstance(unpacked, str) else self._begin(header, state)
        if isinstance(begun, str):
            if not repeats:
                state.open = None
                state.count_unreadable(header.before, header)
                self._undecodable(block.at + header.header_len, block.at + block.header.block_len(), begun)
            return None
        part = _Part(block, header, payload, *begun)
        if new_range is not None:
            part.wanted = new_range
        return part

    def _begin(self, header: _Header, state: _LaneState) -> _t.Union[tuple[_Decode, int], str]:
        """Returns the function that reads a part, and the time before its first event."""
        registry = self.registries.get(header.registry)
        if registry is None:
            return f"no registry {header.registry:016x} before it"
        if registry._kind(header.kind) is None:
            return f"its registry has no kind {header.kind}"
        decode, slots = self._decoder_of(header.registry, header.kind)
        if header.offset == 0:
            state.slots = [0] * slots
            time = header.base_ticks
        elif state.open is None or state.open[:2] != (header.seq, header.offset):
            return "the part before it is missing"
        else:
            time = state.open[2]
        if state.lane is None:
            kind = self._module_for(header.registry).kinds.get(header.kind) or KindDesc(str(header.kind), header.kind, "")
            state.lane = Lane(state.session, state.thread, kind)
        return decode, time

    def _decoder_of(self, fingerprint: int, kind: int) -> tuple[_Decode, int]:
        decoder = self._decoders.get((fingerprint, kind))
        if decoder is None:
            registry = self.registries[fingerprint]
            same = self._forms(fingerprint)
            module = self._module_for(fingerprint)
            decoder = self._decoders[fingerprint, kind] = _decoder(registry, kind, same, module)
        return decoder

    def _module_for(self, fingerprint: int) -> _Module:
        """Returns the module that has the classes for a registry's events."""
        return self._module

    def _forms(self, fingerprint: int) -> dict[int, _Form]:
        same = self._same.get(fingerprint)
        if same is None:
            registry = self.registries[fingerprint]
            same, other = _compare(self._module.registry(), registry, self._strict)
            self._same[fingerprint] = same
            self.other_forms += other
        return same

    def _read(self, part: _Part, most: int) -> list[_t.Any]:
        """Returns the next events of a part. None, and the part is closed, if there are no more."""
        out: list[_t.Any] = []
        header, state, (first, last) = part.header, part.state, part.wanted
        end = header.end()
        indexed = part.indexed
        if indexed is None:
            indexed = part.indexed = _indexed(part.padded)
        while part.wrong is None and part.next < end and len(out) < most:
            # Events that were in another part are read because later ones depend on them.
            stop = first if part.next < first else last if part.next < last else end
            into = out if first <= part.next < last else []
            part.pos, part.time, done, others, part.wrong = part.decode(
                indexed,
                part.padded,
                part.pos,
                min(stop - part.next, most),
                part.time,
                state.slots,
                state.lane,
                state.session.label,
                into,
            )
            part.next += done
            if into is out:
                self._report.events += done
                self.others += others
        if part.wrong is None and part.next == end and part.pos != part.header.payload_len:
            part.wrong = "bytes after the last event"
        return out

    def _is_at_end(self, part: _Part) -> bool:
        return part.wrong is not None or part.next == part.header.end()

    def _close(self, part: _Part) -> None:
        header, state = part.header, part.state
        goes_on = not header.flags & _LAST and part.wrong is None
        state.open = (header.seq, header.offset + header.payload_len, part.time) if goes_on else None
        start = part.wanted[0]
        covered = max(min(part.wanted[1], part.next), start)
        state.read += covered - start
        state.covered.add(start, covered, header.base_ticks, header.end_ticks)
        if part.wrong is not None:
            start, end = part.block.at + header.header_len, part.block.at + part.block.header.block_len()
            # Positions in a compressed payload are not positions in the stream.
            self._undecodable(start if part.block.header.codec else start + part.pos, end, part.wrong)
            state.count_unreadable(part.next, header)

    def _undecodable(self, start: int, end: int, reason: str) -> None:
        self._report.undecodable_parts += 1
        if len(self._report.undecodable) < _MAX_LISTED:
            self._report.undecodable.append((start, end, reason))

    # Orders.

    def _in_stream(self) -> _t.Iterator[list[_t.Any]]:
        """Iterates in the order of the stream, but with the blocks of each lane in order."""
        places: dict[int, list[int]] = {}
        for place, block in enumerate(self._blocks):
            places.setdefault(block.lane.number, []).append(place)
        ordered = self._blocks[:]
        for of_lane in places.values():
            blocks = sorted((self._blocks[place] for place in of_lane), key=_place)
            for place, block in zip(of_lane, blocks):
                ordered[place] = block
        for block in ordered:
            part = self._open(block)
            while part is not None:
                yield self._read(part, _BATCH)
                if self._is_at_end(part):
                    self._close(part)
                    break
        self._end(2)

    def _by_time(self) -> _t.Iterator[list[_t.Any]]:
        """Iterates by time, over all threads and sessions.

        Every lane has some of its next events. Those up to the earliest end of these can be
        returned: lanes are in order, so the rest of each is later.
        """
        by_lane: dict[int, list[_Block]] = {}
        for block in sorted(self._blocks, key=_place):
            by_lane.setdefault(block.lane.number, []).append(block)
        ranked = sorted(self.sessions, key=lambda session: (session._clock.start_wall, session.id))
        for rank, session in enumerate(ranked):
            session._rank = rank
        queues = [_Queue(self, blocks) for blocks in by_lane.values()]
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
        self._end(2)


def _place(block: _Block) -> tuple[int, int, int, int]:
    return block.lane.number, block.header.seq, block.header.offset, block.at


_by_ticks = _operator.attrgetter("ticks")


def _by_wall(event: _Event) -> tuple[int, int, int]:
    session = event.lane.session
    return session._clock.wall_ns(event.ticks), session._rank, event.ticks


class _Queue:
    """The blocks of a lane that are not read yet, and some of its next events."""

    def __init__(self, reader: Reader[_t.Any], blocks: list[_Block]) -> None:
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
