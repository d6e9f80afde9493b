from __future__ import annotations

import builtins as _b
import io as _io
import os as _os
import shutil as _shutil
import stat as _stat
import struct as _struct
import sys as _sys
import tempfile as _tempfile
import typing as _t

from .descriptions import HEADER_SIZE

# --- Inputs that are not streams: what they are instead, and what to do about them.

# How a block begins.
_MAGIC = b"\x89TEL\r\n\x1a\n"

_CONVERT = "convert it: `telemetry convert --to telemetry {} -o telemetry.tel`"
_RECOVER = "recover its events: `telemetry recover {} -o telemetry.tel`"
_NAME_STREAM = "name the stream that the program writes: TELEMETRY_FILENAME, or `telemetry.tel`"
_UNPACK = "decompress it first: `{} {{}}`"

# Files by their first bytes: what they are, and the help.
_OTHER_FILES = (
    (b"\x89TELRING", "a ring file", _RECOVER),
    (b"\x7fELF", "an ELF program or library", _NAME_STREAM),
    (b"hdrb", "an eventlog of GHC", _CONVERT),
    (b"\x01ZPM", "a log of Mono's profiler", _CONVERT),
    (b"\x1f\x8b", "gzip data", _UNPACK.format("gunzip -k")),
    (b"\x28\xb5\x2f\xfd", "zstd data", _UNPACK.format("unzstd")),
    (b"\xfd7zXZ\0", "xz data", _UNPACK.format("unxz -k")),
    (b"BZh", "bzip2 data", _UNPACK.format("bunzip2 -k")),
    (b"PK\x03\x04", "a zip archive", _UNPACK.format("unzip")),
    (b"SQLite format 3\0", "an SQLite database", "name the stream that it was made from"),
)
# Bytes of an input that are enough to say what it is.
_FOUND_BY = 4096
# The first event of a log of the MPS.
_EVENT_INIT = 0x1D


class NotAStream(_b.ValueError):
    """An input that has no block of a stream, such as a text or a log of another system."""

    def __init__(self, name: str, found: str, help_: str) -> None:
        #: The name of the input.
        self.name = name
        #: What it is instead.
        self.found = found
        #: What to do about it.
        self.help = help_
        super().__init__(name, found, help_)

    def __str__(self) -> str:
        text = f"`{self.name}` is not a telemetry stream: found {self.found}, expected a block at byte 0, "
        return text + f"which begins {_hex(_MAGIC)}; help: {self.help}"


def _is_image(first: bytes) -> bool:
    """Returns whether an input with these first bytes has blocks that are not a stream."""
    return first.startswith((b"\x89TELRING", b"\x7fELF"))


def _not_a_stream(name: str, first: bytes) -> NotAStream:
    """Returns the error for an input with these first bytes."""
    found, help_ = _what_is(first)
    return NotAStream(name, found, help_.format(name))


def _what_is(first: bytes) -> tuple[str, str]:
    if not first:
        return "no bytes", "check that the program ran with its events on, and ended or flushed"
    if first.startswith(b"\x7fELF") and first[16:18] in (b"\x04\0", b"\0\x04"):
        return "a core dump", _RECOVER
    for magic, found, help_ in _OTHER_FILES:
        if first.startswith(magic):
            return found, help_
    code, size = _struct.unpack("<HH", first[:4].ljust(4, b"\xff"))
    if code == _EVENT_INIT and size % 8 == 0 and HEADER_SIZE < size < 256:
        return "a log of the MPS", _CONVERT
    text = _as_text(first)
    if text is None:
        return f"bytes that begin {_hex(first[:8])}", _NAME_STREAM
    if any(line.strip() == "[registry]" for line in text.splitlines()):
        return "a registry file", "read a stream with the module that `telemetry py {}` makes of it"
    line = text.strip().partition("\n")[0].strip()
    shown = line if len(line) <= 40 else line[:37] + "..."
    return f"text that begins `{shown}`" if line else "white space", _NAME_STREAM


def _as_text(first: bytes) -> _t.Optional[str]:
    """Returns the first bytes of a text; None if they are not one."""
    try:
        text = first.decode("utf-8")
    except _b.UnicodeDecodeError as error:
        # The last character may be cut.
        if len(first) < _FOUND_BY or error.start < len(first) - 3:
            return None
        text = first[: error.start].decode("utf-8")
    return text if all(char.isprintable() or char in "\t\n\r\f" for char in text) else None


def _hex(data: bytes) -> str:
    return " ".join(f"{byte:02x}" for byte in data)


_Input = _t.Union[str, "_os.PathLike[str]", bytes]


def _name_of(one: _Input) -> str:
    if isinstance(one, (bytes, bytearray, memoryview)):
        return f"{len(one)} bytes in memory"
    path = str(_os.fspath(one))
    return "standard input" if path == "-" else path


class _Files:
    """Files in sequence, each with the length that it had when it was opened."""

    def __init__(self, inputs: _t.Sequence[_Input]) -> None:
        self.files: list[tuple[_t.BinaryIO, int, int]] = []
        #: Their names for messages.
        self.names: list[str] = []
        self.length = 0
        try:
            for one in inputs:
                self.names.append(_name_of(one))
                file, length = self.open(one)
                self.files.append((file, self.length, self.length + length))
                self.length += length
        except _b.BaseException:
            self.close()
            raise
        self.at, self.ahead = 0, b""

    def open(self, one: _Input) -> tuple[_t.BinaryIO, int]:
        if isinstance(one, (bytes, bytearray, memoryview)):
            return _io.BytesIO(bytes(one)), len(one)
        if _os.path.isdir(one):
            raise NotAStream(_name_of(one), "a directory", "name the files in it")
        pipe: _t.BinaryIO = _sys.stdin.buffer if _os.fspath(one) == "-" else open(one, "rb", buffering=0)
        if pipe is not _sys.stdin.buffer:
            status = _os.fstat(pipe.fileno())
            if _stat.S_ISREG(status.st_mode):
                return pipe, status.st_size
        # Input that can be read only once is copied to a temporary file.
        file = _tempfile.TemporaryFile()
        try:
            _shutil.copyfileobj(pipe, file, 1 << 20)
        finally:
            if pipe is not _sys.stdin.buffer:
                pipe.close()
        return _t.cast(_t.BinaryIO, file), file.tell()

    def close(self) -> None:
        for file, _, _ in self.files:
            file.close()

    def check(self, start: int, end: int) -> None:
        """Raises `NotAStream` for an input that begins in a range without blocks and is not a stream.

        It is none if it is an image of memory. It is none either if it is in that range completely
        and does not begin like a block."""
        for name, (_, first, last) in zip(self.names, self.files):
            if start <= first < end:
                found = self.read(first, min(last - first, _FOUND_BY))
                if _is_image(found) or last <= end and found[: len(_MAGIC)] != _MAGIC[: len(found)]:
                    raise _not_a_stream(name, found)

    def read(self, at: int, count: int) -> bytes:
        """Returns some bytes; fewer only at the end."""
        if self.at <= at and at + count <= self.at + len(self.ahead):
            return self.ahead[at - self.at : at - self.at + count]
        parts = []
        for file, start, end in self.files:
            if start <= at < end and count > 0:
                file.seek(at - start)
                most = min(count, end - at)
                while most > 0:
                    piece = file.read(most)
                    if not piece:
                        break
                    parts.append(piece)
                    most, count, at = most - len(piece), count - len(piece), at + len(piece)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read_all(self, into: memoryview) -> bool:
        """Reads everything into memory of its length. Returns false if an input has become shorter."""
        at = 0
        for file, _, end in self.files:
            file.seek(0)
            while at < end:
                count = _t.cast(_io.RawIOBase, file).readinto(into[at:end])
                if not count:
                    return False
                at += count
        return True

    def peek(self, at: int, count: int) -> bytes:
        """Returns the same, when the following bytes will be needed, too."""
        if not self.at <= at <= at + count <= self.at + len(self.ahead):
            self.at, self.ahead = at, self.read(at, max(count, 4096))
        return self.ahead[at - self.at : at - self.at + count]
