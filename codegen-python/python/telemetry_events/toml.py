from __future__ import annotations

import builtins as _b
import typing as _t

from .base import StreamError

# --- TOML, as registries and facts in streams are written.

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}


class _Toml:
    """Reads the TOML of streams: keys that are not dotted, tables, and values that
    are strings, numbers, bools, arrays and inline tables."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        #: Of the last header.
        self.table: tuple[str, ...] = ()

    def fail(self, expected: str) -> StreamError:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - (self.text.rfind("\n", 0, self.at) + 1) + 1
        found = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
        return StreamError(f"line {line}, column {column}: found {found}, expected {expected}")

    def skip(self, what: str = " \t") -> None:
        """Skips blanks and, where lines may end, comments."""
        text, at, end = self.text, self.at, len(self.text)
        while at < end:
            if text[at] in what:
                at += 1
            elif text[at] == "#":
                at = (text.find("\n", at) + 1 or end + 1) - 1
            else:
                break
        self.at = at

    def take(self, token: str) -> bool:
        found = self.text.startswith(token, self.at)
        if found:
            self.at += len(token)
        return found

    def need(self, token: str) -> None:
        if not self.take(token):
            raise self.fail(f"`{token}`")

    def lines(self) -> _t.Iterator[tuple[tuple[str, ...], str, object]]:
        """Iterates over values, with their tables and keys. A table's header has no key."""
        while True:
            self.skip(" \t\r\n")
            if self.at == len(self.text):
                return
            yield self.line()

    def line(self) -> tuple[tuple[str, ...], str, object]:
        key, value = "", None
        if self.take("["):
            double = self.take("[")
            names = [self.key()]
            while self.take("."):
                names.append(self.key())
            self.need("]]" if double else "]")
            self.table = tuple(names)
        else:
            key = self.key()
            self.need("=")
            self.skip()
            value = self.value()
        self.skip()
        if self.at < len(self.text) and not (self.take("\n") or self.take("\r\n")):
            raise self.fail("the end of the line")
        return self.table, key, value

    def key(self) -> str:
        self.skip()
        if self.text[self.at : self.at + 1] in ('"', "'"):
            key = self.string()
        else:
            start = self.at
            while self.text[self.at : self.at + 1] in _BARE and self.at < len(self.text):
                self.at += 1
            key = self.text[start : self.at]
        if not key and self.text[self.at - 1 : self.at] not in ('"', "'"):
            raise self.fail("a key")
        self.skip()
        return key

    def value(self, depth: int = 0) -> object:
        first = self.text[self.at : self.at + 1]
        if first in ('"', "'") and first:
            return self.string()
        if depth < 8 and self.take("["):
            items: list[object] = []
            self.skip(" \t\r\n")
            while not self.take("]"):
                items.append(self.value(depth + 1))
                self.skip(" \t\r\n")
                if not self.take(","):
                    self.need("]")
                    break
                self.skip(" \t\r\n")
            return items
        if depth < 8 and self.take("{"):
            table: dict[str, object] = {}
            self.skip(" \t\r\n")
            while not self.take("}"):
                key = self.key()
                self.need("=")
                self.skip()
                table[key] = self.value(depth + 1)
                self.skip(" \t\r\n")
                if not self.take(","):
                    self.need("}")
                    break
                self.skip(" \t\r\n")
            return table
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in ",]}# \t\r\n":
            self.at += 1
        word = self.text[start : self.at]
        if word in ("true", "false"):
            return word == "true"
        for number in (lambda word: int(word, 0), lambda word: float(word)):
            try:
                if word[:1] in "+-0123456789in" and len(word) <= 64:
                    return _t.cast(object, number(word))
            except _b.ValueError:
                pass
        self.at = start
        raise self.fail("a value")

    def string(self) -> str:
        quote = self.text[self.at]
        if self.take(quote * 3):
            if not self.take("\n"):
                self.take("\r\n")
            return self.quoted(quote * 3)
        self.at += 1
        return self.quoted(quote)

    def quoted(self, end: str) -> str:
        parts: list[str] = []
        start = self.at
        while not self.text.startswith(end, self.at):
            if self.at >= len(self.text) or (len(end) == 1 and self.text[self.at] == "\n"):
                raise self.fail(f"`{end}`")
            self.at += 1
            if self.text[self.at - 1] == "\\" and end[0] == '"':
                parts.append(self.text[start : self.at - 1])
                parts.append(self.escape())
                start = self.at
        parts.append(self.text[start : self.at])
        self.at += len(end)
        # Quotes right before the end belong to the string.
        while len(end) == 3 and self.take(end[0]):
            parts.append(end[0])
        return "".join(parts)

    def escape(self) -> str:
        letter = self.text[self.at : self.at + 1]
        digits = {"x": 2, "u": 4, "U": 8}.get(letter)
        if digits is None:
            if letter not in _ESCAPES:
                raise self.fail("an escape")
            self.at += 1
            return _ESCAPES[letter]
        code = self.text[self.at + 1 : self.at + 1 + digits]
        try:
            char = chr(int(code, 16))
        except (_b.ValueError, _b.OverflowError):
            raise self.fail(f"{digits} hexadecimal digits") from None
        self.at += 1 + digits
        return char


def _facts(payload: bytes) -> tuple[dict[str, object], _t.Optional[str]]:
    """Returns the facts of a session or thread block, and what is wrong with its text."""
    facts: dict[str, object] = {}
    wrong: _t.Optional[str] = None
    text = payload.decode("utf-8", "replace")
    toml = _Toml(text)
    while True:
        try:
            for table, key, value in toml.lines():
                if key and not table:
                    facts.setdefault(key, value)
            return facts, wrong
        except StreamError as error:
            # Facts that cannot be read are left out.
            wrong = str(error)
            toml.at = text.find("\n", toml.at) + 1 or len(text)
