from __future__ import annotations

import dataclasses as _dataclasses
import importlib as _importlib
import os as _os
import tempfile as _tempfile
import typing as _t

from .accounts import Completeness, Lane
from .blocks import _Damage
from .descriptions import KindDesc
from .inputs import _Files
from .parts import _Parts
from .registries import _Form
from .sessions import Session

# --- The compiled reader, where it is installed.

# The interface of the compiled module that these files use.
_INTERFACE = 6
# Events that are made at once: few enough to stay in the cache.
_AT_A_TIME = 512


def _compiled_module() -> _t.Any:
    """Returns the compiled module of the installed package `telemetry_events`; None without one of
    this interface."""
    if _os.environ.get("TELEMETRY_EVENTS_PURE"):
        return None
    try:
        found = _importlib.import_module("telemetry_events._native")
    except ImportError:
        return None
    return found if found.INTERFACE == _INTERFACE else None


class _Opened:
    """The descriptors of inputs, for the compiled module, which opens them again."""

    def __init__(self, files: _Files) -> None:
        self.made: list[_t.BinaryIO] = []
        self.descriptors: list[int] = []
        self.lengths: list[int] = []
        for file, start, end in files.files:
            try:
                descriptor = file.fileno()
            except OSError:
                # Bytes in memory.
                copy = _t.cast(_t.BinaryIO, _tempfile.TemporaryFile())
                self.made.append(copy)
                file.seek(0)
                copy.write(file.read())
                copy.flush()
                descriptor = copy.fileno()
            self.descriptors.append(descriptor)
            self.lengths.append(end - start)

    def is_same(self) -> bool:
        """Returns false if an input has another length than at first."""
        sizes = [_os.fstat(descriptor).st_size for descriptor in self.descriptors]
        return sizes == self.lengths

    def close(self) -> None:
        for file in self.made:
            file.close()


class _Native:
    """Reads the events of a stream, whose sessions and registries Python has read, by the compiled
    module."""

    def __init__(
        self,
        compiled: _t.Any,
        opened: _Opened,
        order: str,
        threads: _t.Optional[int],
        parts: _Parts,
        where: _t.Optional[str],
    ) -> None:
        self.parts = parts
        own = parts._module
        text = own.text if own.name else None
        self.read = compiled.Objects(
            opened.descriptors, order, threads, text, self.forms, self.lane, where, parts._shows_sensitive
        )

    def forms(self, fingerprint: int) -> dict[int, tuple[type, list[tuple[str, object]]]]:
        """Returns the classes of a registry's events, and their slots."""
        parts = self.parts
        module = parts._module_for(fingerprint)
        forms: dict[int, _Form] = parts._forms(fingerprint)
        found: dict[int, tuple[type, list[tuple[str, object]]]] = {}
        for code, form in forms.items():
            # What is hidden has an object for all of its values.
            hidden = parts._hidden.get(fingerprint, {}).get(code, {})
            converts = [
                hidden.get(index, "label" if param.sort == "label" else module.types.get(param.sort))
                for index, param in enumerate(form.params)
            ]
            found[code] = module.classes[code], list(zip(module.attributes[code], converts))
        return found

    def lane(self, session: int, thread: int, fingerprint: int, bit: int) -> Lane:
        """Returns the lane of events."""
        known: Session = self.parts._by_id[session]
        kind = self.parts._module_for(fingerprint).kinds.get(bit) or KindDesc(str(bit), bit, "")
        return Lane(known, thread, kind)

    def chunks(self, reader: _t.Any) -> _t.Iterator[list[_t.Any]]:
        """Iterates over the events, some at a time."""
        while True:
            chunk = self.read.batch(_AT_A_TIME)
            reader.others = self.read.others
            if not chunk:
                return
            yield chunk

    def completeness(self, length: int) -> Completeness:
        """Returns what was read so far of an input of this length."""
        return _account(length, self.read.completeness())


def _account(length: int, fields: dict[str, _t.Any]) -> Completeness:
    """Returns the account of an input of this length, from the fields that the compiled module
    gives."""
    report = Completeness(bytes=length, **fields)
    return _dataclasses.replace(report, damage=[_Damage(*one) for one in report.damage])


def _needed_module(what: str) -> _t.Any:
    """Returns the compiled module, for what the pure reader does not have."""
    compiled = _compiled_module()
    if compiled is None:
        raise NotImplementedError(f"{what} need the compiled package; help: pip install ./telemetry-python")
    return compiled


def _native(
    parts: _Parts, order: str, threads: _t.Optional[int], where: _t.Optional[str]
) -> _t.Optional[_Native]:
    """Returns the compiled reader of a stream, on this many threads. None if it is not installed,
    or if an input has changed since its headers were read. A condition needs it."""
    compiled = _compiled_module() if where is None else _needed_module("conditions")
    if compiled is None:
        return None
    opened = _Opened(parts._files)
    try:
        native = _Native(compiled, opened, order, threads, parts, where)
        # It has opened the inputs now: if they are as long as before, it sees the same blocks.
        if opened.is_same():
            return native
        if where is not None:
            raise ValueError("an input has another length than before; help: open the stream again")
        return None
    finally:
        opened.close()
