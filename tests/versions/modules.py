"""Reads each stream of a folder with modules of before and of now, and tells how the two modules differ.

The folder has `released.py`, `released.tel`, and for each name that is given a module and a stream. For each
reading there is a line `read NAME before|now`, a line for each event, and a line with the number of those passed over.
"""

import enum
import importlib.util
import sys


def load(folder, name):
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), f"{folder}/{name}.py")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def unnamed(module, event):
    """Says of an event that a number of an enum has no name."""
    for param in module.EVENT[event.DESC.code].params:
        sort = getattr(module, param.sort, None)
        is_enum = isinstance(sort, type) and issubclass(sort, enum.Enum)
        if is_enum and not isinstance(getattr(event, param.name), sort):
            return " Why()"
    return ""


def read(name, age, module, path):
    print(f"read {name} {age}")
    reader = module.read(path, show_sensitive=True)
    for event in reader:
        print(f"{event.DESC.code} {event!r}{unnamed(module, event)}")
    print(f"passed over {reader.others}")


def difference(old, new):
    """As the table of docs/versions.md words it."""
    if old.KIND.keys() != new.KIND.keys():
        if {kind.name for kind in old.KIND.values()} == {kind.name for kind in new.KIND.values()}:
            return "its name at another bit"
        return "one more kind" if len(new.KIND) > len(old.KIND) else "one kind fewer"
    if any(kind.name != new.KIND[bit].name for bit, kind in old.KIND.items()):
        return "another name at its bit"
    if old.EVENT.keys() != new.EVENT.keys():
        if {event.name for event in old.EVENT.values()} == {event.name for event in new.EVENT.values()}:
            return "its name at another code"
        return "one more code" if len(new.EVENT) > len(old.EVENT) else "one code fewer"
    for code, was in old.EVENT.items():
        event = new.EVENT[code]
        if was.name != event.name:
            return "another name at its code"
        if was.kind.code != event.kind.code:
            return "another kind at its code"
        before, now = ([(param.name, param.sort) for param in params] for params in (was.params, event.params))
        if before != now and before == now[: len(before)]:
            return "one more parameter"
        if [name for name, _ in before] == [name for name, _ in now] and before != now:
            types = [sort for _, sort in before if isinstance(getattr(old, sort, None), type)]
            renamed = any(sort not in [found for _, found in now] for sort in types)
            return "another type of its parameters" if renamed else "other parameters"
        if before != now:
            return "other parameters"
    return "the same"


folder, *names = sys.argv[1:]
released = load(folder, "released")
for name in names:
    module = load(folder, name)
    read(name, "before", released, f"{folder}/{name}.tel")
    read(name, "now", module, f"{folder}/released.tel")
    print(f"difference {name}: {difference(released, module)}")
