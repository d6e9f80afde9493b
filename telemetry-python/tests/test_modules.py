"""Generated modules use the compiled reader underneath, and have the same results."""

import importlib.util
import subprocess
import sys

import pytest


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def everything(module, data, order):
    """Returns the events and the account of a stream, as text."""
    reader = module.read(data, order=order, incomplete="ignore")
    found = [f"{type(event).__qualname__} {event!r} {event.ticks} {event.session!r}" for event in reader]
    return found, reader.others, [str(form) for form in reader.other_forms], repr(reader.completeness)


@pytest.mark.parametrize("form", [[], ["--package"]])
@pytest.mark.parametrize("order", ["time", "stream"])
def test_modules(streams, command, tmp_path, monkeypatch, form, order):
    stream = tmp_path / "stream.tel"
    stream.write_bytes(streams["every-sort"])
    path = tmp_path / f"events_{len(form)}_{order}.py"
    subprocess.run([command, "py", stream, *form, "-o", path], check=True)
    module = load(path)
    for name in ("every-sort", "losses", "parts", "shuffled", "no-registry", "every-sort, twice", "every-sort, cut"):
        compiled = everything(module, streams[name], order)
        with monkeypatch.context() as pure:
            pure.setenv("TELEMETRY_EVENTS_PURE", "1")
            assert everything(module, streams[name], order) == compiled, name


def test_a_module_without_events_of_the_stream_counts_them(streams, command, tmp_path):
    stream = tmp_path / "stream.tel"
    stream.write_bytes(streams["every-sort"])
    path = tmp_path / "others.py"
    subprocess.run([command, "py", stream, "-o", path], check=True)
    other = next(data for name, data in streams.items() if name.startswith("mps") and data)
    reader = load(path).read(other, incomplete="ignore")
    assert list(reader) == []
    assert reader.others == reader.completeness.events > 0
