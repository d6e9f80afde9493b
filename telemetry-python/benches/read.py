"""How fast Python reads a stream: as objects, compiled and pure, and as columns of Arrow.

    python telemetry-python/benches/read.py STREAM

Processor time, the best of some rounds that each take all ways. The table is that with the most
events. Its time includes the headers of all blocks.
"""

import os
import sys
import time

import pyarrow
import telemetry_events

ROUNDS = 3


def count(opened, **options):
    """Returns the number of events, each of which becomes an object."""
    return sum(1 for _ in opened.events(**options))


def rows(table):
    """Returns the number of rows of a table, of which each batch is made."""
    return sum(batch.num_rows for batch in pyarrow.RecordBatchReader.from_stream(table))


def main():
    opened = telemetry_events.open(sys.argv[1], incomplete="ignore")
    tables = opened.tables().values()
    largest = max(tables, key=rows)
    ways = {
        f"columns of {largest.name}": ("", lambda: rows(largest)),
        "objects by time": ("", lambda: count(opened)),
        "objects in stream order": ("", lambda: count(opened, order="stream")),
        "objects by time, pure": ("1", lambda: count(opened)),
    }
    best = {}
    for _ in range(ROUNDS):
        for name, (pure, work) in ways.items():
            os.environ["TELEMETRY_EVENTS_PURE"] = pure
            start = time.process_time()
            events = work()
            each = (time.process_time() - start) / events
            best[name] = min(each, best.get(name, each))
    for name, each in best.items():
        print(f"{name:32} {each * 1e9:7.0f} ns  {1e-6 / each:6.2f} M/s")


if __name__ == "__main__":
    main()
