from __future__ import annotations

import builtins as _b
import typing as _t

from .registries import Registry, _Mark

# --- Sensitive parameters, whose values are hidden.


class HiddenValue(_b.str):
    """What stands for a value that is hidden: `<personal>` or `<secret>`."""

    __slots__ = ()


#: By strictness: none, and those of a parameter that is personal or secret.
_SHOWN: tuple[_t.Optional[HiddenValue], ...] = (None, HiddenValue("<personal>"), HiddenValue("<secret>"))
_SECRET = 2

#: By the code of an event: the strictness of its parameters.
_Strictness = dict[int, list[int]]
#: By the code of an event and the place of a parameter: what stands for its values.
_Hidden = dict[int, dict[int, HiddenValue]]


class _Hiding:
    """Which values of a stream are hidden. The rules are those of the command."""

    def __init__(self) -> None:
        #: By the fingerprint of a registry.
        self.marked: dict[int, _Strictness] = {}
        #: The latest text of a registry, by fingerprint.
        self.texts: dict[int, bytes] = {}
        #: By session: whether all its blocks say that it is scrubbed.
        self.scrubbed: dict[int, bool] = {}
        #: The session of which a text has begun that is in several parts.
        self.begun: _t.Optional[int] = None

    def take(self, fingerprint: int, registry: Registry) -> None:
        """Takes the marks of a registry. Of two with one fingerprint, the stricter mark counts."""
        own = {event.code: [param.strictness for param in event.params] for event in registry._events}
        known = self.marked.setdefault(fingerprint, own)
        for code, marks in own.items():
            known[code] = [max(one, other) for one, other in zip(known[code], marks)]

    def session_block(self, session: int, is_last: bool, payload: bytes) -> None:
        """Takes a block of facts. The last part of a text has the fact."""
        if self.begun != session:
            self.cut()
        self.begun = None if is_last else session
        if is_last:
            self.decide(session, any(line.startswith(b"scrubbed = ") for line in payload.split(b"\n")))

    def cut(self) -> None:
        """Takes that a text of facts has no last part."""
        if self.begun is not None:
            self.decide(self.begun, False)
            self.begun = None

    def decide(self, session: int, says: bool) -> None:
        self.scrubbed[session] = says and self.scrubbed.get(session, True)

    def is_over(self, sessions: _t.Iterable[int]) -> bool:
        """Returns whether nothing needs to be hidden, because all sessions are scrubbed."""
        self.cut()
        return all(self.scrubbed.get(session, False) for session in sessions)

    def hidden(
        self, registries: dict[int, Registry]
    ) -> tuple[dict[int, _Hidden], dict[int, _Hidden], _t.Optional[HiddenValue]]:
        """Returns what is hidden, by fingerprint, and the part of it by which names are not read. If
        a list of all labels is hidden, too, returns what stands for each."""
        marked = {
            found: _with_numbers(registries[found], marks) for found, marks in self.marked.items() if found in registries
        }
        names = {found: _stand_ins(marks) for found, marks in marked.items()}
        if not any(_has_label(registries[found], marks) for found, marks in marked.items()):
            return names, names, None
        # Only events that refer to a label show it.
        for found, marks in marked.items():
            for code, mark in _namings(registries[found], "label"):
                for place in (mark.of, mark.by):
                    marks[code][place] = marks[code][place] or _SECRET
            marked[found] = _with_numbers(registries[found], marks)
        return {found: _stand_ins(marks) for found, marks in marked.items()}, names, _SHOWN[_SECRET]


def _namings(registry: Registry, named: str) -> _t.Iterator[tuple[int, _Mark]]:
    for code, marks in registry._marks.items():
        yield from ((code, mark) for mark in marks if mark.named == named)


def _with_numbers(registry: Registry, marks: _Strictness) -> _Strictness:
    """Returns stricter marks: what tells a string for a number is as strict as the number."""
    marks = {code: list(of) for code, of in marks.items()}
    namings = list(_namings(registry, "number"))
    is_done = not namings
    while not is_done:
        is_done = True
        spaces: dict[str, int] = {}
        for event in registry._events:
            for param, mark in zip(event.params, marks[event.code]):
                if mark and param.has_numbers:
                    spaces[param.number_space] = max(mark, spaces.get(param.number_space, 0))
        for code, naming in namings:
            strictness = spaces.get(registry._by_code[code].params[naming.of].number_space, 0)
            if strictness > marks[code][naming.by]:
                marks[code][naming.by] = strictness
                is_done = False
    return marks


def _has_label(registry: Registry, marks: _Strictness) -> bool:
    params = [one for event in registry._events for one in zip(event.params, marks[event.code])]
    return any(mark and param.sort == "label" for param, mark in params)


def _stand_ins(marks: _Strictness) -> _Hidden:
    hidden: _Hidden = {}
    for code, of in marks.items():
        for place, strictness in enumerate(of):
            shown = _SHOWN[strictness]
            if shown is not None:
                hidden.setdefault(code, {})[place] = shown
    return hidden
