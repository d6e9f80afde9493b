from __future__ import annotations

import typing as _t

from .base import VersionError
from .registries import Registry, _Form, _Type, _dotted

# --- The events of a stream that this module knows: docs/versions.md has the rules.


class OtherForm(_t.NamedTuple):
    """An event that a stream has in another form than this module. Such events are skipped."""

    event: str
    code: int
    #: The version of the stream's registry.
    stream: tuple[int, int, int]
    #: The first difference.
    difference: str

    def __str__(self) -> str:
        return f"`{self.event}` ({self.code:#06x}): {self.difference}"


def _compare(own: Registry, other: Registry, strict: bool) -> tuple[dict[int, _Form], list[OtherForm]]:
    """Returns the events of another version of the registry: by code those that this module reads,
    and those that have another form."""
    if other.name != own.name:
        return {}, []
    same: dict[int, _Form] = {}
    differing: list[OtherForm] = []
    if other.version[0] == own.version[0]:
        for theirs in other._events:
            mine = own._by_code.get(theirs.code)
            if mine is None:
                mine = next((event for event in own._events if event.name == theirs.name), None)
                if mine is None:
                    continue
                difference: _t.Optional[str] = (
                    f"its code is {theirs.code:#06x} in the stream, {mine.code:#06x} in the module"
                )
            else:
                difference = _difference(own, mine, other, theirs)
            if difference is None:
                same[theirs.code] = mine
            else:
                differing.append(OtherForm(mine.name, mine.code, other.version, difference))
        if not (strict and differing):
            return same, differing
    text = f"registry `{own.name}` has version {_dotted(other.version)} in the stream, "
    text += f"{_dotted(own.version)} in this module: "
    if not differing:
        text += "another major version, in which no event means the same"
    else:
        text += "some events have another form"
    text += "".join(f"\n  {form}" for form in differing)
    text += "\nhelp: read it with the module that `telemetry py` makes of the stream itself"
    if differing:
        text += "; without `strict` those events are skipped, and the others are decoded"
    raise VersionError(text)


def _difference(own: Registry, mine: _Form, registry: Registry, theirs: _Form) -> _t.Optional[str]:
    """Returns the first difference of the form or meaning of an event."""
    if mine.name != theirs.name:
        return f"its code is that of `{theirs.name}` in the stream"
    for index, (my, their) in enumerate(zip(mine.params, theirs.params)):
        if my.name != their.name:
            return f"parameter {index + 1} is `{their.name}` in the stream, `{my.name}` in the module"
        if my.sort_text != their.sort_text:
            return f"parameter `{my.name}` is {their.sort_text} in the stream, {my.sort_text} in the module"
        # A unit that was added later is the same unit.
        was_given = (not their.unit and registry.version < own.version) or (
            not my.unit and registry.version > own.version
        )
        if my.unit != their.unit and not was_given:
            units = [f"in {unit}" if unit else "without a unit" for unit in (their.unit, my.unit)]
            return f"parameter `{my.name}` is {units[0]} in the stream, {units[1]} in the module"
        if my.sort in own._types:
            difference = _type_difference(own._types[my.sort], registry._types[their.sort])
            if difference is not None:
                return difference
    for missing in mine.params[len(theirs.params) :]:
        if missing.since is None:
            return f"parameter `{missing.name}` is not in the stream"
        if missing.since <= registry.version:
            since = _dotted(missing.since)
            return f"parameter `{missing.name}` is not in the stream, though it is since {since}"
    # Parameters that only a newer stream has were appended; those of only an older one, removed.
    if registry.version < own.version and len(theirs.params) > len(mine.params):
        return f"parameter `{theirs.params[len(mine.params)].name}` is in the stream, and not in the module"
    return None


def _type_difference(mine: _Type, theirs: _Type) -> _t.Optional[str]:
    def said(what: str, their: object, my: object) -> str:
        return f"{what} is {their} in the stream, {my} in the module"

    if mine.flags != theirs.flags:
        forms = ["flags" if ty.flags else "an enum" for ty in (theirs, mine)]
        return said(f"type `{mine.name}`", forms[0], forms[1])
    if mine.repr != theirs.repr:
        return said(f"the repr of type `{mine.name}`", theirs.repr, mine.repr)
    numbers = {name: number for number, name in theirs.values.items()}
    for number, name in mine.values.items():
        if theirs.values.get(number, name) != name:
            return said(f"{number} of type `{mine.name}`", f"`{theirs.values[number]}`", f"`{name}`")
        if numbers.get(name, number) != number:
            return said(f"`{name}` of type `{mine.name}`", numbers[name], number)
    return None
