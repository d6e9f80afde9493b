from __future__ import annotations

import math as _math
import typing as _t

from .base import _MAX, _MAX_NS
from .sessions import _Clock

# --- Arrays of NumPy: their memory, sums, and times in nanoseconds.

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


def _apart(np: _t.Any, count: int) -> _t.Any:
    """Returns a new array of numbers that are not adjacent. NumPy adds up adjacent ones four times
    slower, because each sum waits until the one before it is in memory."""
    return np.empty((count, 2), "u8")[:, 0]


def _sums(np: _t.Any, values: _t.Any, bounds: _t.Any, out: _t.Any, base: _t.Any = None) -> None:
    """Writes the sum of the values up to each, in groups between some bounds. The values are
    changed. This is fast if they are `_apart`."""
    groups = np.flatnonzero(bounds[1:] > bounds[:-1])
    if len(groups) == 0:
        return
    starts = bounds.take(groups)
    firsts = np.zeros(len(groups), "u8") if base is None else base.take(groups)
    if len(groups) > 1:
        # What is to be taken away where the next begins.
        firsts[1:] -= firsts[:-1] + np.add.reduceat(values, starts)[:-1]
    values[starts] += firsts
    np.add.accumulate(values, out=out)


def _repeated(np: _t.Any, values: _t.Any, counts: _t.Any) -> _t.Any:
    """Repeats each value the given number of times."""
    if (values != values[0]).any():
        return np.repeat(values, counts)
    out = _empty(np, (int(counts.sum()),), values.dtype.str)
    out.fill(values[0])
    return out


def _nanoseconds(np: _t.Any, clock: _Clock, ticks: _t.Any) -> _t.Any:
    start = np.uint64(clock.start_ticks)
    if clock.rate == 1 << 64 or len(ticks) == 0:
        return (ticks - start).view("i8")
    out = _empty(np, (len(ticks),), "i8")
    # Some at a time, so that the results in between stay in the cache.
    for at in range(0, len(ticks), 8192):
        of, into = ticks[at : at + 8192] - start, out[at : at + 8192]
        first, last = int(of.view("i8").min()), int(of.view("i8").max())
        if max(-first, last) * clock.rate >> 64 >= _MAX_NS:
            into[:] = [clock.ns(int(reading)) for reading in ticks[at : at + 8192]]
        elif first < 0 or last - first >> 31:
            into[:] = _far_nanoseconds(np, clock.rate, of.view("i8"))
        else:
            _near_nanoseconds(np, clock.rate, first, of, into.view("u8"))
    return out


def _near_nanoseconds(np: _t.Any, rate: int, first: int, near: _t.Any, out: _t.Any) -> None:
    """Converts distances that are less than 2^31 from the first to nanoseconds, in place:
    the first one's product has 128 bits, the others have 96."""
    near -= np.uint64(first)
    product = first * rate
    high, low = product >> 64, product & _MAX
    part = rate & _MAX
    carry = near * np.uint64(part & 0xFFFF_FFFF)
    carry += np.uint64(low & 0xFFFF_FFFF)
    carry >>= np.uint64(32)
    whole: _t.Any = np.uint64(high)
    if rate >> 64:
        whole = near * np.uint64(rate >> 64)
        whole += np.uint64(high)
    near *= np.uint64(part >> 32)
    near += carry
    # Rounds to the nearest.
    near += np.uint64((low >> 32) + (1 << 31))
    near >>= np.uint64(32)
    np.add(near, whole, out=out)


def _far_nanoseconds(np: _t.Any, rate: int, distance: _t.Any) -> _t.Any:
    """Converts distances of any size to nanoseconds."""
    whole, part = np.uint64(rate >> 64), rate & _MAX
    half, low = np.uint64(32), np.uint64(0xFFFF_FFFF)
    c, d = np.uint64(part >> 32), np.uint64(part & 0xFFFF_FFFF)
    span = np.abs(distance).view("u8")
    a, b = span >> half, span & low
    ad, bc = a * d, b * c
    middle = (b * d >> half) + (ad & low) + (bc & low)
    high = a * c + (ad >> half) + (bc >> half) + (middle >> half)
    # Rounds to the nearest: by the highest bit of the remainder.
    ns = (span * whole + high + (middle >> np.uint64(31) & np.uint64(1))).view("i8")
    return np.where(distance < 0, -ns, ns)
