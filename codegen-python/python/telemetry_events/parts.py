from __future__ import annotations

import typing as _t

from .accounts import Lane, _Block, _LaneState
from .blocks import _Damage, _Header, _LAST, _MAX_LISTED, _unpacked, _wrong_payload
from .contents import _Contents
from .descriptions import KindDesc
from .events import _Decode, _PADDING, _decoder, _indexed
from .hidden import _Hidden
from .inputs import _Files, _Input
from .modules import _Module
from .registries import _Form
from .sessions import _NAME_ROOM
from .versions import OtherForm, _compare

# --- Blocks of events, and parts of them.

# Events that are created at once: few enough to stay in the cache until they are returned.
_BATCH = 512


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


class _Parts(_Contents):
    """Reads the events of blocks, which may be in parts."""

    def __init__(
        self,
        module: _Module,
        inputs: _t.Union[_Files, _t.Sequence[_Input]],
        strict: bool,
        shows_sensitive: bool,
    ) -> None:
        super().__init__(module, inputs)
        self._shows_sensitive = shows_sensitive
        self._strict = strict
        #: By the fingerprint of a registry: the parameters that are hidden, and those by which
        #: names are not read.
        self._hidden: dict[int, _Hidden] = {}
        self._hidden_names: dict[int, _Hidden] = {}
        #: Events skipped so far: of other registries, unknown to this module, or of another form.
        self.others = 0
        #: Events that a registry of the stream has in another form.
        self.other_forms: list[OtherForm] = []
        self._blocks: list[_Block] = []
        self._same: dict[int, dict[int, _Form]] = {}
        self._decoders: dict[tuple[int, int], tuple[_Decode, int]] = {}
        self._name_room = _NAME_ROOM

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
        if header.is_withheld():
            return None
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
            hidden = self._hidden.get(fingerprint, {})
            decoder = self._decoders[fingerprint, kind] = _decoder(registry, kind, same, module, hidden)
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
                state.session._label,
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

    def _read_names(self) -> None:
        """Reads the names of a stream before its events, because names may follow these."""
        of_names = [block for block in self._blocks if self._has_names(block.header)]
        of_names.sort(key=_place)
        before: _t.Optional[tuple[_LaneState, int, int]] = None
        time, slots = 0, [0]
        for block in of_names:
            header, state = block.header, block.lane
            if header.is_withheld():
                continue
            payload = self._load(block)
            unpacked = "" if isinstance(payload, _Damage) else _unpacked(header, payload)
            if isinstance(unpacked, str):
                continue
            header, payload = unpacked
            registry = self.registries[header.registry]
            decode, count = self._decoders.setdefault(
                (~header.registry, header.kind), _decoder(registry, header.kind, {}, None, {})
            )
            if header.offset == 0:
                time, slots = header.base_ticks, [0] * count
            elif before != (state, header.seq, header.offset):
                continue
            before = state, header.seq, header.offset + header.payload_len
            hidden = self._hidden_names.get(header.registry, {})
            found: list[_t.Any] = []
            padded = payload + _PADDING
            _, time, _, _, _ = decode(padded, padded, 0, header.events, time, slots, None, int, found)
            for number, (code, ticks, *values) in enumerate(found, header.before):
                place = header.thread, header.registry, header.kind, number
                for mark in registry._marks[code]:
                    if mark.of in hidden.get(code, ()) or mark.by in hidden.get(code, ()):
                        continue
                    said = mark, registry._separate_names, ticks, place, values[mark.of], values[mark.by]
                    self._name_room = state.session._note(*said, self._name_room)

    def _hide(self) -> None:
        """Hides the values of sensitive parameters, after all headers were read."""
        if not self._shows_sensitive and not self._hiding.is_over(self._by_id):
            self._hidden, self._hidden_names, label = self._hiding.hidden(self.registries)
            for session in self.sessions:
                session._hidden_label = label

    def _has_names(self, header: _Header) -> bool:
        registry = self.registries.get(header.registry)
        return registry is not None and registry._gives_names(header.kind)


def _place(block: _Block) -> tuple[int, int, int, int]:
    return block.lane.number, block.header.seq, block.header.offset, block.at
