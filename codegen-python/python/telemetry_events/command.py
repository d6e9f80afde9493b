from __future__ import annotations

import argparse as _argparse
import builtins as _b
import enum as _enum
import math as _math
import os as _os
import signal as _signal
import sys as _sys
import typing as _t

from .base import VersionError
from .descriptions import _flags_text
from .hidden import HiddenValue
from .inputs import NotAStream
from .modules import _Module
from .reader import Reader
from .registries import _attribute
from .sessions import LabelRef

# --- The command: `python -m MODULE`.


def _cnv(value: object) -> bytes:
    """Returns a value as the MPS's `mpseventcnv` prints it."""
    if isinstance(value, HiddenValue):
        return b"0"
    if isinstance(value, int):
        return b"%X" % value if value >= 0 else b"-%X" % -value
    if isinstance(value, float):
        text = b"%.10G" % value
        is_negative = value != value and _math.copysign(1, value) < 0
        return b"-" + text if is_negative else text
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return b'"' + escaped.encode("utf-8", "surrogateescape") + b'"'
    if isinstance(value, (bytes, bytearray)):
        return b'"' + value.hex().upper().encode() + b'"'
    if isinstance(value, list):
        return b"[" + b",".join(map(_cnv, value)) + b"]"
    return b"-"


def _cnv_line(event: _t.Any, names: _t.Sequence[str]) -> bytes:
    values = b"".join(b" " + _cnv(getattr(event, name)) for name in names if getattr(event, name) is not None)
    return b"%016X %4X%b\n" % (event.ticks, event.DESC.code, values)


def _shown(value: object, sort: str) -> str:
    if isinstance(value, list):
        return "[" + " ".join(_shown(item, sort.strip("[]").partition(";")[0]) for item in value) + "]"
    if isinstance(value, _enum.IntEnum):
        return value.name
    if isinstance(value, _enum.IntFlag):
        return _flags_text(type(value), int(value))
    if sort in ("P", "A") and isinstance(value, int):
        return f"{value:#x}"
    if isinstance(value, LabelRef) and value.text is not None:
        return ascii(value.text) if not value.text.isprintable() else value.text
    if isinstance(value, HiddenValue):
        return str(value)
    if isinstance(value, str):
        return repr(value) if value.isprintable() else ascii(value)
    return repr(value) if not isinstance(value, LabelRef) else str(value)


def _print_line(event: _t.Any, names: _t.Sequence[str]) -> bytes:
    desc, lane = event.DESC, event.lane
    thread = lane.thread_name or f"#{lane.thread}"
    head = f"{event.time_ns:>17_}  {ascii(thread)[1:-1]:<16} {desc.kind.name:<7} {desc.name:<21}"
    params = [
        f"{param.name}:{_shown(getattr(event, name), param.sort)}"
        for param, name in zip(desc.params, names)
        if getattr(event, name) is not None
    ]
    return ("  ".join([head, *params]).rstrip() + "\n").encode("utf-8", "backslashreplace")


def _main(module: _Module, arguments: _t.Optional[_t.Sequence[str]]) -> int:
    """Prints the events of streams. Returns 1 if they have problems, 2 if they are not readable."""
    name = module.name
    program = _os.path.splitext(_os.path.basename(_sys.argv[0]))[0]
    parser = _argparse.ArgumentParser(
        prog=f"python -m {program}",
        description=f"Prints the events of the registry {name} in telemetry streams.",
        epilog="The verdict on what was read goes to standard error. Exit codes: 0 done, 1 a part of the "
        "stream is damaged or was not understood (with --strict also if anything is lost, missing or "
        "unfinished), 2 not done.",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="streams, read as one; - is standard input")
    parser.add_argument("--cnv", action="store_true", help="the text of mpseventcnv, in the stream's order")
    parser.add_argument("--order", choices=("time", "stream"), help="the order of events [default: time]")
    parser.add_argument("--strict", action="store_true", help="refuse streams whose events have another form")
    parser.add_argument("--show-sensitive", action="store_true", help="show the values of sensitive parameters")
    options = parser.parse_args(arguments)
    order = options.order or ("stream" if options.cnv else "time")
    line = _cnv_line if options.cnv else _print_line
    classes = module.classes.items()
    names = {code: [_attribute(param.name) for param in one.DESC.params] for code, one in classes}
    out = _sys.stdout.buffer
    try:
        reader: Reader[_t.Any] = Reader(
            module, options.files, order, options.strict, "ignore", show_sensitive=options.show_sensitive
        )
        for event in reader:
            out.write(line(event, names[event.DESC.code]))
        out.flush()
    except _b.BrokenPipeError:
        # The reader closed the output. Buffered output is discarded.
        _os.dup2(_os.open(_os.devnull, _os.O_WRONLY), _sys.stdout.fileno())
        return 0
    except _b.KeyboardInterrupt:
        # Ends by the signal as other programs do, so that a shell sees it, and without a traceback.
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        _signal.raise_signal(_signal.SIGINT)
        return 130
    except (_b.OSError, NotAStream, VersionError) as error:
        _sys.stderr.write(f"{name}: {error}\n")
        return 2
    completeness = reader.completeness
    for form in reader.other_forms:
        _sys.stderr.write(f"{name}: skipped, since its form differs: {form}\n")
    others = f"; {reader.others} skipped" if reader.others else ""
    _sys.stderr.write(f"{name}: {completeness}{others}\n")
    is_empty = completeness.blocks == 0
    wrong = is_empty or completeness.is_broken or options.strict and not completeness.is_whole
    return 1 if wrong else 0
