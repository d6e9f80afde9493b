from __future__ import annotations

import builtins as _b

# --- Limits and errors.

_MAX = 0xFFFF_FFFF_FFFF_FFFF
_MAX_NS = 0x7FFF_FFFF_FFFF_FFFF


class StreamError(_b.Exception):
    """A text that is not a valid registry, or not valid facts."""


class VersionError(_b.Exception):
    """A stream whose registry has a version that this module cannot read."""
