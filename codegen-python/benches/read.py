"""How fast a generated module reads work W, in units of `struct.unpack` of the same 36 bytes.

    python3 codegen-python/benches/read.py [EVENTS]

Processor time, the best of some rounds; each round takes both, since machines are not equally fast
from one moment to the next. The goal, 250,000 events a second where `unpack` takes 0.2 us, is 20 of
them an event. The columns are left out where there is no NumPy.
"""

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


def measure(name, work, events, goal):
    """Prints the best of some rounds, each with the floor of its own moment."""
    rounds = []
    for _ in range(ROUNDS):
        before = unpack_ns()
        start = time.process_time()
        assert work() == events
        each = (time.process_time() - start) / events * 1e9
        floor = min(before, unpack_ns())
        rounds.append((each / floor, each, floor))
    rounds.sort()
    ratio, each, floor = rounds[0]
    median = rounds[len(rounds) // 2][0]
    verdict = "met" if ratio <= goal else "MISSED"
    print(
        f"{name:22} {each:7.0f} ns  {1e3 / each:6.2f} M/s  unpack {floor:4.0f} ns  "
        f"{ratio:5.2f} unpacks (median {median:.2f}), goal {goal:g}: {verdict}; "
        f"{5e3 / ratio:.0f} k/s where unpack takes 0.2 us"
    )


def main():
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as directory:
        command = ["cargo", "run", "--release", "-q", "-p", "telemetry-codegen-python", "--example", "work", "--"]
        subprocess.run([*command, directory, str(events)], cwd=ROOT, check=True)
        sys.path.insert(0, directory)
        import work_events

        path = os.path.join(directory, "work.tel")
        print(f"Python {sys.version.split()[0]}, {events} events, {os.path.getsize(path) / events:.1f} bytes each")
        measure("read, stream order", lambda: sum(1 for _ in work_events.read(path, order="stream")), events, 20)
        measure("read, by time", lambda: sum(1 for _ in work_events.read(path)), events, 20)
        try:
            import numpy
        except ImportError:
            print("SKIPPED: columns: no NumPy")
            return
        print(f"NumPy {numpy.__version__}")
        measure("columns", lambda: len(work_events.columns(path)["Alloc"]["ticks"]), events, 1)


main()
