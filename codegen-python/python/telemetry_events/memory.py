from __future__ import annotations

import math as _math
import typing as _t

# --- Memory of large arrays.

# Bytes of a large page of memory.
_LARGE_PAGE = 1 << 21


def _empty(np: _t.Any, shape: tuple[int, ...], dtype: str) -> _t.Any:
    """Returns a new array. A large one gets large pages of memory of its own, if the system has
    them: small pages are created one by one, when they are first written to."""
    size = _math.prod(shape) * np.dtype(dtype).itemsize
    if dtype == "O" or size < _LARGE_PAGE // 2:
        return np.empty(shape, dtype)
    # NumPy asks for large pages if an array has twice the size of one.
    room = np.empty(size + -size % _LARGE_PAGE + _LARGE_PAGE, "u1")
    start = -room.__array_interface__["data"][0] % _LARGE_PAGE
    return room[start : start + size].view(dtype).reshape(shape)
