from __future__ import annotations

import builtins as _b
import typing as _t

from .accounts import Completeness, _Block, _LaneState
from .base import StreamError, _MAX
from .blocks import (
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
)
from .hidden import _Hiding
from .inputs import _Files, _Input
from .modules import _Module
from .own_registry import _RUNTIME_NAME, _RUNTIME_TOML
from .registries import Registry
from .sessions import Session, _Clock, _Texts, _block_name
from .toml import _facts

# --- The blocks of a stream without events.


class _Contents:
    """What the blocks of a stream say beside its events: sessions, registries, and lanes."""

    def __init__(self, module: _Module, inputs: _t.Union[_Files, _t.Sequence[_Input]]) -> None:
        self._module = module
        #: Files that are given stay open.
        self._owns_files = not isinstance(inputs, _Files)
        self._files = inputs if isinstance(inputs, _Files) else _Files(inputs)
        self._report = Completeness(bytes=self._files.length)
        #: In the order of their first blocks.
        self.sessions: list[Session] = []
        #: The registries of the stream by fingerprint, and the module's own.
        self.registries: dict[int, Registry] = {}
        self._by_id: dict[int, Session] = {}
        self._states: dict[tuple[int, int, int, int], _LaneState] = {}
        self._texts = _Texts()
        #: Fingerprints of the registries that were found in the stream.
        self._found: set[int] = set()
        self._hiding = _Hiding()
        own = module.registry()
        self.registries[own.fingerprint] = own
        self._hiding.take(own.fingerprint, own)

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
            if len(piece) == 2:
                checks = False
                self._take_damage(*piece)
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
        if header.block_type != _SESSION:
            self._hiding.cut()
        unpacked = _unpacked(header, payload)
        if isinstance(unpacked, str):
            self._session(header)
            if header.block_type == _SESSION:
                self._hiding.session_block(header.session, True, b"")
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
        self._hiding.session_block(header.session, header.flags & _LAST != 0, payload)
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
        is_known = header.registry in self._found
        text, is_whole = self._texts.take(at, header, payload)
        # Another program may have marked more parameters as sensitive.
        if text is None or is_known and text == self._hiding.texts.get(header.registry):
            return
        try:
            decoded = text.decode("utf-8")
            # To parse a long text takes as long as to read many events.
            own = self._module
            registry = own.registry() if decoded and decoded == own.text else Registry(decoded)
        except _b.UnicodeDecodeError:
            self._not_understood(at, header, is_whole, None if is_known else "not UTF-8")
        except (StreamError, _b.RecursionError) as error:
            self._not_understood(at, header, is_whole, None if is_known else str(error))
        else:
            found = registry.fingerprint
            if found == header.registry:
                self._texts.forget(header)
                self._hiding.take(found, registry)
                self._hiding.texts[found] = text
                if is_known:
                    return
                self._found.add(found)
                # It may be older than the marks of its registry.
                registry._take_names(self._module.registry())
                if registry.name == _RUNTIME_NAME:
                    registry._take_names(Registry(_RUNTIME_TOML))
                self.registries[found] = registry
            elif not is_known:
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
