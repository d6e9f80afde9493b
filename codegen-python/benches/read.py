"""How fast a generated module reads work W, in units of `struct.unpack` of the same 36 bytes.

    python3 codegen-python/benches/read.py [--against MODULE] [EVENTS]

Processor time, the best of some rounds; each round takes both, since machines are not equally fast
from one moment to the next. The goal, 250,000 events a second where `unpack` takes 0.2 us, is 20 of
them an event. The columns are left out where there is no NumPy. Small blocks have 300 events each, of
two kinds in turn. With the module `work_events.py` of an older version, both are measured in turn.
"""

import argparse
import functools
import importlib.util
import os
import struct
import subprocess
import sys
import tempfile
import time
import timeit

ROUNDS = 7
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def unpack_ns():
    """Nanoseconds of `struct.unpack` of 36 bytes."""
    data = bytes(36)
    run = "struct.unpack('<QQQQI', data)"
    names = {"struct": struct, "data": data}
    return min(timeit.repeat(run, globals=names, number=20_000, repeat=5, timer=time.process_time)) / 20_000 * 1e9


def measure(name, works, events, goal):
    """Prints the best of some rounds, each with the floor of its own moment. If there is other work,
    each round does it too: then also prints how many times as fast the first is."""
    rounds = []
    for _ in range(ROUNDS):
        before = unpack_ns()
        each = []
        for work in works:
            start = time.process_time()
            assert work() == events
            each.append((time.process_time() - start) / events * 1e9)
        floor = min(before, unpack_ns())
        rounds.append((each[0] / floor, each[0], floor, each[-1] / each[0]))
    times = sorted(round[3] for round in rounds)[len(rounds) // 2]
    rounds.sort()
    ratio, each, floor, _ = rounds[0]
    median = rounds[len(rounds) // 2][0]
    verdict = f", goal {goal:g}: {'met' if ratio <= goal else 'MISSED'}" if goal else ""
    print(
        f"{name:24} {each:7.0f} ns  {1e3 / each:6.2f} M/s  unpack {floor:4.0f} ns  "
        f"{ratio:5.2f} unpacks (median {median:.2f}){verdict}; "
        f"{5e3 / ratio:.0f} k/s where unpack takes 0.2 us"
        + (f"; {times:.2f} times as fast as before (median)" if len(works) > 1 else "")
    )


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("events", metavar="EVENTS", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--against", metavar="MODULE", help="work_events.py that another version made")
    options = parser.parse_args()
    events = options.events
    with tempfile.TemporaryDirectory() as directory:
        command = ["cargo", "run", "--release", "-q", "-p", "telemetry-codegen-python", "--example", "work", "--"]
        subprocess.run([*command, directory, str(events)], cwd=ROOT, check=True)
        modules = [load(os.path.join(directory, "work_events.py"), "work_events")]
        if options.against:
            modules.append(load(options.against, "before"))

        path, small = (os.path.join(directory, name) for name in ("work.tel", "small.tel"))
        print(f"Python {sys.version.split()[0]}, {events} events, {os.path.getsize(path) / events:.1f} bytes each")

        def all_modules(work):
            return [functools.partial(work, module) for module in modules]

        def columns(module, path):
            return sum(len(rows["ticks"]) for rows in module.columns(path).values())

        in_stream = all_modules(lambda module: sum(1 for _ in module.read(path, order="stream")))
        measure("read, stream order", in_stream, events, 20)
        measure("read, by time", all_modules(lambda module: sum(1 for _ in module.read(path))), events, 20)
        try:
            import numpy
        except ImportError:
            print("SKIPPED: columns: no NumPy")
            return
        print(f"NumPy {numpy.__version__}")
        measure("columns", all_modules(lambda module: columns(module, path)), events, 1)
        measure("columns of small blocks", all_modules(lambda module: columns(module, small)), events, None)


main()
