"""Reads streams with generated modules, and writes every bit of what they give.

A line of input is: module, order, way (`read`, `hide`, `strict` or `columns`), stream. The answer ends with a line `end`.
"""

import importlib.util
import struct
import sys


def load(path):
    spec = importlib.util.spec_from_file_location("events", path)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules["events"] = module
    spec.loader.exec_module(module)
    return module


def shown(value, sort):
    if isinstance(value, list):
        one = sort.strip("[]").partition(";")[0]
        return "[" + ",".join(shown(item, one) for item in value) + "]"
    if value is None:
        return "-"
    if isinstance(value, float):
        if value != value and sort == "f32":
            return "nan"
        return struct.pack("<d" if sort in ("D", "f64") else "<f", value)[::-1].hex()
    if isinstance(value, str):
        return "s" + value.encode("utf-8", "surrogateescape").hex()
    if isinstance(value, bytes):
        return "b" + value.hex()
    if sort == "label":
        return f"{int(value)}:{'-' if value.text is None else value.text.encode().hex()}"
    return str(int(value))


def by_events(module, order, path, way):
    strict, shows = way == "strict", way != "hide"
    reader = module.read(path, order=order, strict=strict, incomplete="ignore", show_sensitive=shows)
    attributes = {
        code: [(module._attribute(param.name), param.sort) for param in desc.params]
        for code, desc in module.EVENT.items()
    }
    for event in reader:
        assert type(event) in (getattr(module, module.EVENT[event.DESC.code].name, None), type(event))
        values = []
        for name, sort in attributes[event.DESC.code]:
            value = getattr(event, name)
            text = shown(value, sort)
            if sort in ("P", "A") and not isinstance(value, module.HiddenValue):
                look_up = event.session.name_of_pointer if sort == "P" else event.session.name_of
                name = look_up(value, event.ticks)
                if name is not None:
                    text += f"@#{int(name)}" if name.text is None else f"@{name.text.encode().hex()}"
            values.append(text)
        desc = event.DESC
        head = f"{event.session.id:x} {event.thread} {event.lane.kind.code} {desc.code} {event.ticks} {event.time_ns}"
        print(" ".join([head, *values]))
    print(f"others {reader.others}")
    for form in reader.other_forms:
        print(f"other {form}")
    print(reader.completeness)


def main():
    modules = {}
    for line in sys.stdin:
        path, order, way, stream = line.rstrip("\n").split(" ", 3)
        module = modules.get(path) or modules.setdefault(path, load(path))
        try:
            if way == "columns":
                import columns

                columns.dump(module, stream, shown)
            else:
                by_events(module, order, stream, way)
        except ImportError as error:
            print(f"no numpy: {error}")
        except module.NotAStream as error:
            print(f"no stream: {error.found}")
        except (module.VersionError, OSError) as error:
            print(f"error: {error}")
        print("end", flush=True)


if __name__ == "__main__":
    main()
