"""How fast Python reads a stream: as objects, compiled and pure, and as columns of Arrow.

    python telemetry-python/benches/read.py STREAM

The variable CTF may name the folder of another tracer's trace in the Common Trace Format. Then the
Python bindings of babeltrace2 read it in the same run.

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


def babeltrace():
    """Returns the reading of a trace by babeltrace2, if there is one."""
    trace = os.environ.get("CTF")
    if not trace:
        return {}
    import bt2

    def fields():
        count = total = 0
        for message in bt2.TraceCollectionMessageIterator(trace):
            if type(message) is bt2._EventMessageConst:
                for value in message.event.payload_field.values():
                    total ^= int(value)
                count += 1
        return count

    return {"events of babeltrace2": ("", fields)}


def main():
    opened = telemetry_events.open(sys.argv[1], incomplete="ignore")
    tables = [table for table in opened.tables().values() if table.event]
    largest = max(tables, key=rows)
    ways = {
        f"columns of {largest.name}": ("", lambda: rows(largest)),
        "all tables, by batch": ("", lambda: sum(rows(batch) for batch in opened.batches())),
        "all tables, in memory": ("", lambda: sum(map(rows, opened.read_tables().values()))),
        "all tables, one after the other": ("", lambda: sum(map(rows, opened.tables().values()))),
        "objects by time": ("", lambda: count(opened)),
        "objects in stream order": ("", lambda: count(opened, order="stream")),
        "objects by time, pure": ("1", lambda: count(opened)),
    }
    ways = {name: way for name, way in ways.items() if len(sys.argv) < 3 or name in sys.argv[2:]}
    ways.update(babeltrace())
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
