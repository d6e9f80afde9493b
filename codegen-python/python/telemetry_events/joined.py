from __future__ import annotations

import functools as _functools
import typing as _t

from .arrays import _nanoseconds, _repeated
from .base import _MAX_NS
from .columns import _Columns, _DTYPES
from .descriptions import _name_of_number
from .hidden import HiddenValue
from .registries import _Param, _attribute

# --- The columns of an event type by time, and the columns of names.


def _joined(found: _Columns, code: int) -> dict[str, _t.Any]:
    """Returns the columns of an event, by time."""
    np = found.np
    states = list(found.reader._states.values())
    ranked = sorted(found.reader.sessions, key=lambda session: (session._clock.start_wall, session.id))
    registries = found.reader.registries

    def tie(number: int) -> tuple[int, bool, int, int]:
        state = states[number]
        registry = registries.get(state.registry)
        kind = registry._kind(state.kind) if registry is not None else None
        return state.thread, kind is not None and kind.inherits, state.kind, number

    pieces = found.pieces[code]
    ticks = _whole(np, [piece.columns["ticks"][: piece.used] for piece in pieces])
    lanes = [lane for piece in pieces for lane in piece.lanes]
    numbers = np.array([number for number, _ in lanes])
    counts = np.array([count for _, count in lanes])
    of_lanes = [states[number] for number, _ in lanes]
    ids = np.array([state.session.id for state in of_lanes], "u8")
    # Each lane is in order.
    tied = sorted(range(len(states)), key=tie)
    place = np.empty(len(states), "i8")
    place[tied] = np.arange(len(tied))
    order: _t.Any = slice(None)
    if len(ranked) < 2:
        time = _nanoseconds(np, ranked[0]._clock, ticks)
        if (numbers != numbers[0]).any() or (ticks[1:] < ticks[:-1]).any():
            order = np.lexsort((np.repeat(place.take(numbers), counts), ticks))
    else:
        time, wall, rank = (np.empty(len(ticks), "i8") for _ in range(3))
        of_events = np.repeat(ids, counts)
        for number, session in enumerate(ranked):
            chosen = of_events == session.id
            time[chosen] = _nanoseconds(np, session._clock, ticks[chosen])
            wall[chosen] = session._clock.start_wall & _MAX_NS
            rank[chosen] = number
        order = np.lexsort((np.repeat(place.take(numbers), counts), ticks, rank, wall + time))
    columns = {"ticks": ticks[order], "time_ns": time[order]}
    threads = np.array([state.thread for state in of_lanes], "u4")
    columns["thread"] = _repeated(np, threads, counts)[order]
    columns["session"] = _repeated(np, ids, counts)[order]
    params = found.module.registry()._by_code[code].params
    taken = {*columns, *(_attribute(param.name) for param in params)}
    for param in params:
        arrays = [piece.columns.get(param.name + "'") for piece in pieces]
        arrays = [None if array is None else array[: piece.used] for array, piece in zip(arrays, pieces)]
        # Some of the streams may hide what others show.
        if len({array.ndim for array in arrays if array is not None}) > 1:
            arrays = [None if array is None else _by_row(np, array) for array in arrays]
        if not any(array is None for array in arrays):
            columns[_attribute(param.name)] = _whole(np, arrays)[order]
            _add_names(found, columns, param, taken)
            continue
        # Absent from some of the streams, or all.
        packing = found.module.registry()._repr(param.sort)
        dtype = _DTYPES.get(packing, "O") if not param.count else "O"
        shown = [array for array in arrays if array is not None]
        shape = shown[0].shape[1:] if shown else ()
        dtype = shown[0].dtype if shown else dtype
        absent = [array is None for array in arrays]
        filled = [
            np.zeros((piece.used, *shape), dtype) if array is None else array
            for array, piece in zip(arrays, pieces)
        ]
        masks = [np.full(array.shape, is_absent) for array, is_absent in zip(filled, absent)]
        whole = np.ma.masked_array(np.concatenate(filled), np.concatenate(masks))
        columns[_attribute(param.name)] = whole[order]
        _add_names(found, columns, param, taken)
    return columns


def _add_names(found: _Columns, columns: dict[str, _t.Any], param: _Param, taken: set[str]) -> None:
    """Adds the column of names for one of enums, flags or labels: `why_name` for `why`."""
    np = found.np
    ty = found.module.enums.get(param.sort)
    if ty is None and param.sort != "label":
        return
    attribute = _attribute(param.name)
    values = columns[attribute]
    name = attribute + "_name"
    while name in taken:
        name += "_"
    taken.add(name)
    if ty is not None:
        names = _names_of(np, values, _functools.partial(_name_of_number, ty))
    else:
        names = np.empty(values.shape, object)
        for session in found.reader.sessions:
            rows = columns["session"] == session.id
            names[rows] = _names_of(np, values[rows], lambda number: session._label(number).text)
    mask = np.ma.getmask(values)
    columns[name] = names if mask is np.ma.nomask else np.ma.masked_array(names, mask)


def _names_of(np: _t.Any, numbers: _t.Any, name_of: _t.Callable[[int], _t.Optional[str]]) -> _t.Any:
    """Returns the names of numbers, or of arrays of numbers, in an array of the same shape."""
    numbers = np.ma.getdata(numbers)
    if numbers.dtype == object:
        out = np.empty(len(numbers), object)
        for row, elements in enumerate(numbers):
            # A row without the parameter has a zero.
            is_hidden = isinstance(elements, HiddenValue)
            out[row] = elements if is_hidden else _names_of(np, np.asarray(elements), name_of)[()]
        return out
    flat = numbers.reshape(-1)
    least, most = (int(flat.min()), int(flat.max())) if len(flat) else (0, 0)
    if most - least < 1 << 16:
        places = flat.astype("i8") - least if least < 0 else (flat - flat.dtype.type(least)).astype("i8")
        is_used = np.zeros(most - least + 1, "?")
        is_used[places] = True
        table = np.empty(len(is_used), object)
        for place in np.flatnonzero(is_used).tolist():
            table[place] = name_of(least + place)
    else:
        used, places = np.unique(flat, return_inverse=True)
        table = np.empty(len(used), object)
        table[:] = [name_of(number) for number in used.tolist()]
    return table.take(places).reshape(numbers.shape)


def _by_row(np: _t.Any, values: _t.Any) -> _t.Any:
    """Returns an array of the rows of an array."""
    rows = np.empty(len(values), object)
    for row, value in enumerate(values):
        rows[row] = value
    return rows


def _whole(np: _t.Any, arrays: list[_t.Any]) -> _t.Any:
    """Returns one array of several."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
