# What every generated module has: a reader of telemetry streams. Written by hand, and copied as it
# is; the part after it is generated from the registry. docs/format.md of the project describes
# the bytes, docs/python.md the use. It needs Python 3.9, and only its standard library.
#
# Names of the registry are CamelCase (kinds, types, events) and snake_case without a leading
# underscore (parameters). So names here begin with an underscore, are in lower case, or are
# reserved. Modules are imported under names that no event can have.
from __future__ import annotations

import argparse as _argparse
import bisect as _bisect
import builtins as _b
import collections as _collections
import dataclasses as _dataclasses
import enum as _enum
import functools as _functools
import heapq as _heapq
import importlib as _importlib
import io as _io
import itertools as _itertools
import keyword as _keyword
import math as _math
import operator as _operator
import os as _os
import signal as _signal
import stat as _stat
import struct as _struct
import sys as _sys
import tempfile as _tempfile
import typing as _t
import warnings as _warnings
import zlib as _zlib

_MAX = 0xFFFF_FFFF_FFFF_FFFF
_MAX_NS = 0x7FFF_FFFF_FFFF_FFFF


class StreamError(_b.Exception):
    """A text that is not a valid registry, or not valid facts."""


class VersionError(_b.Exception):
    """A stream whose registry has a version that this module cannot read."""


class IncompleteWarning(_b.UserWarning):
    """A stream that is damaged, or that lacks events. An error if the reader is told so."""

    def __init__(self, text: str, completeness: Completeness) -> None:
        super().__init__(text)
        #: What was read, and what was missing.
        self.completeness = completeness


