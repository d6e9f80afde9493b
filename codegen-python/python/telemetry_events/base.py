from __future__ import annotations

import builtins as _b
import typing as _t

if _t.TYPE_CHECKING:
    from .accounts import Completeness

# --- Limits and errors.

_MAX = 0xFFFF_FFFF_FFFF_FFFF
_MAX_NS = 0x7FFF_FFFF_FFFF_FFFF


class StreamError(_b.Exception):
    """A text that is not a valid registry, or not valid facts."""


class VersionError(_b.Exception):
    """A stream whose registry has a version that this module cannot read."""


class IncompleteWarning(_b.UserWarning):
    """A stream that is damaged, or that lacks events. An error if the reader is asked for that."""

    def __init__(self, text: str, completeness: Completeness) -> None:
        super().__init__(text, completeness)
        #: What was read, and what was missing.
        self.completeness = completeness

    def __str__(self) -> str:
        return str(self.args[0])
