from __future__ import annotations

import builtins as _b
import dataclasses as _dataclasses
import difflib as _difflib
import enum as _enum
import functools as _functools
import typing as _t
import warnings as _warnings

from .accounts import Completeness, IncompleteWarning, _count
from .load import _columns
from .descriptions import EventDesc, EventParam, KindDesc
from .inputs import _Files, _Input
from .modules import _Event, _Module, _module
from .native import _account, _compiled_module, _needed_module, _Opened
from .reader import Reader, _incomplete, _number_of_threads
from .registries import Registry, _attribute, _dotted, _Form, _Type
from .sessions import Session

# --- Streams without a generated module: the registry of a stream has all that is needed.


def open(
    *inputs: _Input,
    incomplete: str = "warn",
    threads: _t.Optional[int] = None,
    show_sensitive: bool = False,
) -> Stream:
    """Opens a stream. Several inputs are read as one. They are paths, `-` or bytes.

    An input that is not a stream raises `NotAStream`. A stream that is damaged or lacks events warns
    `IncompleteWarning` after its last event. With `incomplete="error"` it raises that, and with
    `incomplete="ignore"` it does not warn.

    The compiled package reads on this many threads, by default one for each core. Pure Python
    always reads on one. The results are the same.

    In place of the values of sensitive parameters there is a `HiddenValue`. With `show_sensitive`
    there are the values.
    """
    return Stream(inputs, incomplete, threads, show_sensitive)


@_dataclasses.dataclass(frozen=True)
class Info:
    """The contents of a stream, from the headers of its blocks."""

    #: The names of the inputs.
    inputs: list[str]
    #: Their length.
    bytes: int
    #: The sessions, in the order of their first blocks: facts, threads, times.
    sessions: list[Session]
    #: The registries of the stream.
    registries: list[Registry]
    #: Events that were written to the stream, by registry and kind: `gc:Trace`.
    events: dict[str, int]

    def __str__(self) -> str:
        lines = [f"{', '.join(self.inputs)}: {self.bytes:,} bytes"]
        for session in self.sessions:
            program = session.facts.get("program", "an unknown program")
            end = "ended" if session.ended else "without an end"
            threads = _count(len(session.threads), "thread")
            lines.append(f"session {session.id:016x} of {program}: {threads}, {end}")
        for registry in self.registries:
            lines.append(f"registry {registry.name} {_dotted(registry.version)}")
        lines += [f"{kind}: {_count(count, 'event')}" for kind, count in self.events.items()]
        return "\n  ".join(lines)


class Table(_t.Protocol):
    """The events of a type as a table of the compiled package, or a side table. It has Arrow's
    PyCapsule interface."""

    @property
    def name(self) -> str:
        """Returns its name, which no other table of the stream has."""
        ...

    @property
    def registry(self) -> str:
        """Returns the name of the registry. It is empty for a side table, as are event type and
        kind."""
        ...

    @property
    def event(self) -> str:
        """Returns the name of the event type."""
        ...

    @property
    def kind(self) -> str:
        """Returns the name of the event type's kind."""
        ...

    @property
    def doc(self) -> str:
        """Returns the meaning of the rows."""
        ...

    @property
    def column_names(self) -> list[str]:
        """Returns the names of the columns."""
        ...

    @property
    def error(self) -> _t.Optional[BaseException]:
        """Returns the exception that ended the latest reading. It is None if all was read."""
        ...

    def __arrow_c_schema__(self) -> object:
        """Returns the schema."""
        ...

    def __arrow_c_stream__(self, requested_schema: _t.Optional[object] = None) -> object:
        """Returns a new stream of all rows."""
        ...


class Stream:
    """A stream that is open. Each call of `events` reads it again."""

    def __init__(
        self,
        inputs: _t.Sequence[_Input],
        incomplete: str,
        threads: _t.Optional[int] = None,
        show_sensitive: bool = False,
    ) -> None:
        if not inputs:
            raise _b.TypeError("no input, expected at least one path, `-` or bytes")
        self._incomplete = incomplete
        self._threads = _number_of_threads(threads)
        self._shows_sensitive = show_sensitive
        self._verdict: _t.Optional[Completeness] = None
        self._columns: dict[int, dict[str, dict[str, _t.Any]]] = {}
        self._last: _t.Optional[_AnyReader] = None
        self._tables: _t.Optional[dict[str, Table]] = None
        self._files = _Files(inputs)
        try:
            first = self._read(None, "time", "ignore")
            # It is checked here, so that a wrong word is an error now.
            first._set_incomplete(incomplete)
        except _b.BaseException:
            self.close()
            raise
        self._modules = {found: first._module_for(found) for found in sorted(first._found)}
        self.info = _info(first)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        registries = ", ".join(f"{one.name} {_dotted(one.version)}" for one in self.info.registries)
        return f"<stream {', '.join(self.info.inputs)} of {registries or 'no registry'}>"

    def close(self) -> None:
        """Closes the inputs. Columns that were read stay."""
        self._files.close()

    def events(self, *names: str, order: str = "time", where: _t.Optional[str] = None) -> Reader[_t.Any]:
        """Returns the events, or those of some event types: `TraceStart`, or `gc:TraceStart` if
        several registries have one. The order is "time" or "stream".

        `where` selects events by a condition, as the option `--where` of the command:
        `size > 64k and why == Full`. It needs the compiled package. A wrong condition raises
        `ValueError`.
        """
        chosen = self._chosen(names) if names else None
        reader = self._read(chosen, order, self._incomplete, where)
        # The account of some events is not that of the stream.
        self._last = reader if where is None else None
        return reader

    def columns(self, name: str) -> dict[str, _t.Any]:
        """Returns all events of a type as columns: arrays of NumPy by parameter name, and `ticks`,
        `time_ns`, `thread` and `session`. For an enum, flags or a label `why` there are also its
        names, `why_name`. Rows are in the order of time.

        The first call reads the columns of all events of the registry, which stay in memory.
        """
        chosen = self._chosen((name,))
        # Versions of one registry are read as the latest of them, if its rules allow that.
        latest = max(chosen, key=lambda found: (self._modules[found].registry().version, found))
        registries = {self._modules[found].name for found in chosen}
        if len(registries) > 1:
            options = " or ".join(f"`{registry}:{name}`" for registry in sorted(registries))
            raise _b.ValueError(f"several registries have an event `{name}`, expected {options}")
        known = self._columns.get(latest)
        if known is None:
            known = _columns(
                self._modules[latest], self._files, False, self._incomplete, self._shows_sensitive
            )
            self._columns[latest] = known
        event = name.rpartition(":")[2]
        return known.get(event, {})

    def table(self, name: str) -> Table:
        """Returns the events of a type as a table, which programs that know Arrow's format read:
        `polars.DataFrame`, `pyarrow.table`, DuckDB, pandas. It needs the compiled package.

        Each use reads the stream again, a batch at a time. The rows are in the order of time.
        """
        known = self.tables()
        registry, _, event = name.rpartition(":")
        if registry:
            found = [one for one in known.values() if (one.registry, one.event) == (registry, event)]
        else:
            found = [known[name]] if name in known else []
        if not found:
            raise _b.ValueError(self._unknown(name, event, known))
        return found[0]

    def tables(self) -> dict[str, Table]:
        """Returns all tables by name: those of event types, and the side tables, such as `session`
        and `loss`. With several registries, a name has that of its registry in front:
        `gc.TraceStart`."""
        if self._tables is None:
            compiled = _needed_module("tables")
            # Tables do not refer to the stream, which refers to them.
            exception = _functools.partial(_exception, self._files.names, self._files.length)
            opened = _Opened(self._files)
            try:
                incomplete = exception if self._incomplete == "error" else None
                self._tables = dict(
                    compiled.tables(opened.descriptors, incomplete, self._threads, self._shows_sensitive)
                )
            finally:
                opened.close()
        return dict(self._tables)

    def read_tables(self, *names: str, where: _t.Optional[str] = None) -> dict[str, Table]:
        """Reads tables into memory, or all tables, and returns them by name. It reads the stream
        once for all of them. `where` selects events, as it does for `events`.

        A stream that is not whole warns or raises as `events` does.
        """
        batches = self._batches(names, where)
        tables = dict(batches.read())
        self._end(batches, not names and where is None)
        return tables

    def batches(self, *names: str, where: _t.Optional[str] = None) -> _t.Iterator[Table]:
        """Reads tables, or all tables, and iterates over some rows of a table at a time. Each item
        is a table of these rows in memory. It reads the stream once, and does not keep the rows.
        `where` selects events, as it does for `events`.

        A stream that is not whole warns or raises as `events` does.
        """
        return self._items(self._batches(names, where), not names and where is None)

    @property
    def completeness(self) -> Completeness:
        """Returns what was read, and what was missing. It reads the stream, unless another call has
        read all of it."""
        last = self._last
        if self._verdict is None and last is not None and last._is_done:
            self._verdict = last.completeness
        if self._verdict is None:
            self._verdict = self._compiled_verdict()
        if self._verdict is None:
            last = self._read(None, "stream", "ignore")
            for _ in last:
                pass
            self._verdict = last.completeness
        return self._verdict

    def _compiled_verdict(self) -> _t.Optional[Completeness]:
        """Reads the stream by the compiled module. Returns None if that is not installed, or if an
        input has changed."""
        compiled = _compiled_module()
        if compiled is None:
            return None
        opened = _Opened(self._files)
        try:
            if not opened.is_same():
                return None
            return _account(self._files.length, compiled.completeness(opened.descriptors, self._threads))
        finally:
            opened.close()

    def _batches(self, names: _t.Sequence[str], where: _t.Optional[str]) -> _t.Any:
        """Begins to read tables, or all tables."""
        tables = self.tables()
        chosen = [self.table(name) for name in names] or list(tables.values())
        return _compiled_module().Batches(list(dict.fromkeys(chosen)), where)

    def _items(self, batches: _t.Any, is_all: bool) -> _t.Iterator[Table]:
        yield from batches
        self._end(batches, is_all)

    def _end(self, batches: _t.Any, is_all: bool) -> None:
        """Warns if tables that were read are not whole, or raises an error."""
        fields = batches.completeness()
        if fields is None:
            # No table of events was read.
            return
        completeness = _account(self._files.length, fields)
        if is_all:
            self._verdict = completeness
        if self._incomplete == "ignore" or completeness.is_whole:
            return
        warning = _incomplete(self._files.names, completeness, self._incomplete)
        if self._incomplete == "error":
            raise warning
        _warnings.warn(warning, stacklevel=3)

    def _read(
        self,
        chosen: _t.Optional[dict[int, set[int]]],
        order: str,
        incomplete: str,
        where: _t.Optional[str] = None,
    ) -> _AnyReader:
        return _AnyReader(
            self._files, chosen, order, incomplete, where, self._threads, self._shows_sensitive
        )

    def _chosen(self, names: _t.Sequence[str]) -> dict[int, set[int]]:
        """Returns the codes of event types by the fingerprint of their registry."""
        chosen: dict[int, set[int]] = {}
        for name in names:
            registry, _, event = name.rpartition(":")
            found = [
                (fingerprint, desc.DESC.code)
                for fingerprint, module in self._modules.items()
                for desc in module.classes.values()
                if desc.DESC.name == event and registry in ("", module.name)
            ]
            if not found:
                raise _b.ValueError(self._unknown(name, event))
            for fingerprint, code in found:
                chosen.setdefault(fingerprint, set()).add(code)
        return chosen

    def _unknown(self, name: str, event: str, tables: _t.Iterable[str] = ()) -> str:
        known = {one.DESC.name for module in self._modules.values() for one in module.classes.values()}
        known |= set(tables)
        text = f"{', '.join(f'`{one}`' for one in self.info.inputs)} has no event type `{name}`"
        near = _difflib.get_close_matches(event, known, 1)
        if near:
            return f"{text}; help: did you mean `{near[0]}`?"
        return f"{text}, expected one of its {len(known)}: {', '.join(sorted(known)[:20])}"


def _exception(names: list[str], length: int, fields: dict[str, _t.Any]) -> IncompleteWarning:
    """Returns the exception for an account of the compiled module."""
    return _incomplete(names, _account(length, fields), "error")


class _AnyReader(Reader[_t.Any]):
    """A reader of all registries of a stream, each by a module that is made of it."""

    def __init__(
        self,
        files: _Files,
        chosen: _t.Optional[dict[int, set[int]]],
        order: str,
        incomplete: str,
        where: _t.Optional[str],
        threads: _t.Optional[int],
        show_sensitive: bool,
    ) -> None:
        self._chosen = chosen
        self._modules: dict[int, _Module] = {}
        super().__init__(_NO_MODULE, files, order, False, incomplete, where, threads, show_sensitive)

    def _module_for(self, fingerprint: int) -> _Module:
        module = self._modules.get(fingerprint)
        if module is None:
            module = self._modules[fingerprint] = _known_module(self.registries[fingerprint])
        return module

    def _forms(self, fingerprint: int) -> dict[int, _Form]:
        known = self.registries[fingerprint]._by_code
        if self._chosen is None:
            return known
        codes = self._chosen.get(fingerprint, set())
        return {code: form for code, form in known.items() if code in codes}


def _info(reader: _AnyReader) -> Info:
    events: dict[str, int] = {}
    for state in reader._states.values():
        registry = reader.registries.get(state.registry)
        kind = registry._kind(state.kind) if registry is not None else None
        given = state.written()
        if registry is not None and given:
            name = f"{registry.name}:{kind.name if kind is not None else state.kind}"
            events[name] = events.get(name, 0) + given
    registries = [reader.registries[found] for found in sorted(reader._found)]
    registries.sort(key=lambda registry: (registry.name, registry.version))
    return Info(reader._files.names, reader._files.length, reader.sessions, registries, events)


# What has no registry, has no events.
_NO_MODULE = _module("", '[registry]\nname = ""\nversion = { major = 0, median = 0, minor = 0 }\n', {}, [], {})


# By the text of the registry: all readers make the same classes of it, and so does `pickle`.
_MODULES: dict[str, _Module] = {}
_MOST_MODULES = 64


def _known_module(registry: Registry) -> _Module:
    """Returns the module of a registry, which is made once."""
    module = _MODULES.get(registry._text)
    if module is None:
        if len(_MODULES) >= _MOST_MODULES:
            _MODULES.clear()
        module = _MODULES[registry._text] = _module_of(registry)
    return module


def _module_of_text(text: str) -> _Module:
    return _MODULES.get(text) or _known_module(Registry(text))


def _blank(text: str, code: int) -> object:
    """Returns an event without values, for `pickle`."""
    made: _t.Any = _module_of_text(text).classes[code]
    return made.__new__(made)


def _member(text: str, name: str, number: int) -> object:
    """Returns the value of an enum or of flags, for `pickle`."""
    return _module_of_text(text).enums[name](number)


def _module_of(registry: Registry) -> _Module:
    """Returns the module of a registry from a stream.

    A stream may have any text for a name, and code is generated with names. So names that are not
    plain identifiers are replaced.
    """
    kinds = {kind.bit: KindDesc(kind.name, kind.bit, kind.doc) for kind in registry._kinds}
    types = {name: _class_of_type(ty, registry._text) for name, ty in registry._types.items()}
    attributes = {form.code: _attributes(form) for form in registry._events}
    classes = [_class_of(form, kinds, attributes[form.code], registry._text) for form in registry._events]
    module = _module(registry.name, "", kinds, classes, types)
    return module._replace(attributes=attributes, registry=lambda: registry)


def _is_plain(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not name.startswith("_")


def _attributes(form: _Form) -> list[str]:
    names: list[str] = []
    for index, param in enumerate(form.params):
        name = _attribute(param.name)
        names.append(name if _is_plain(name) and name not in names else f"param_{index}")
    return names


def _class_of(form: _Form, kinds: dict[int, KindDesc], attributes: list[str], text: str) -> type[_t.Any]:
    params = [EventParam(param.sort_text, param.name, param.doc) for param in form.params]
    desc = EventDesc(form.name, form.code, form.used, kinds[form.kind.bit], params, 0, "")

    def reduced(event: _t.Any) -> tuple[_t.Any, ...]:
        values = {name: getattr(event, name) for name in ("ticks", "lane", *attributes)}
        return _blank, (text, form.code), (None, values)

    body = {
        "__reduce__": reduced,
        "__slots__": tuple(attributes),
        "__annotations__": dict.fromkeys(attributes, _t.Any),
        "__doc__": form.doc,
        "__module__": __name__,
        "DESC": desc,
    }
    return _dataclasses.dataclass(init=False)(type(form.name, (_Event,), body))


def _class_of_type(ty: _Type, text: str) -> type[_enum.Enum]:
    # The functional form refuses names that an enum has for something else.
    members = {name: number for number, name in ty.values.items() if _is_plain(name) and name != "mro"}
    base: _t.Any = _enum.IntFlag if ty.flags else _enum.IntEnum
    made = base(ty.name, members, module=__name__)
    made.__reduce_ex__ = lambda value, _: (_member, (text, ty.name, int(value)))
    return _t.cast("type[_enum.Enum]", made)
