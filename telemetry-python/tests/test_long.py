"""Reading of a long stream: interrupts, other threads, and memory. TELEMETRY_GCBENCH names it."""

import os
import signal
import subprocess
import sys
import threading

import pytest
import telemetry_events

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture
def recorded():
    return os.environ.get("TELEMETRY_GCBENCH") or pytest.skip("no TELEMETRY_GCBENCH")


@pytest.fixture
def opened(recorded):
    with telemetry_events.open(recorded, incomplete="ignore") as opened:
        yield opened


class Interrupted:
    """A table that gets Ctrl-C when a program begins to read it."""

    def __init__(self, table):
        self.table = table
        signal.signal(signal.SIGINT, self.handle)

    def __arrow_c_stream__(self, requested_schema=None):
        stream = self.table.__arrow_c_stream__(requested_schema)
        signal.raise_signal(signal.SIGINT)
        return stream

    def __arrow_c_schema__(self):
        return self.table.__arrow_c_schema__()

    def handle(self, _, frame):
        # It waits until the program goes on.
        if frame.f_code is Interrupted.__arrow_c_stream__.__code__:
            signal.raise_signal(signal.SIGINT)
        else:
            raise KeyboardInterrupt


@pytest.fixture
def interrupted(opened):
    before = signal.getsignal(signal.SIGINT)
    yield Interrupted(opened.table("ObjectAlloc"))
    signal.signal(signal.SIGINT, before)


def test_polars_is_interrupted(interrupted):
    polars = pytest.importorskip("polars")
    with pytest.raises((KeyboardInterrupt, polars.exceptions.PolarsError)):
        polars.DataFrame(interrupted)
    assert isinstance(interrupted.table.error, KeyboardInterrupt)


def test_pyarrow_is_interrupted(interrupted):
    with pytest.raises((KeyboardInterrupt, pyarrow.ArrowException)):
        pyarrow.table(interrupted)
    assert isinstance(interrupted.table.error, KeyboardInterrupt)


def test_duckdb_is_interrupted(interrupted):
    duckdb = pytest.importorskip("duckdb")
    events = interrupted
    with pytest.raises((KeyboardInterrupt, RuntimeError, duckdb.Error)):
        duckdb.sql("SELECT sum(size) FROM events").fetchall()
    events = interrupted.table
    assert duckdb.sql("SELECT count(*) FROM events").fetchall()[0][0] > 1_000_000


@pytest.mark.parametrize("read", ["read_tables", "batches"])
def test_passes_are_interrupted(opened, read):
    batches = opened.batches()
    next(batches)

    def handle(_, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        with pytest.raises(KeyboardInterrupt):
            while True:
                list(batches) if read == "batches" else opened.read_tables()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "read",
    [
        lambda opened: opened.read_tables("ObjectAlloc"),
        lambda opened: pyarrow.table(opened.table("ObjectAlloc")),
        lambda opened: opened._compiled_verdict(),
    ],
)
def test_other_threads_run_meanwhile(opened, read):
    """No thread gets the interpreter's lock unless the one that has it gives it up."""
    opened.tables()
    go, ran = threading.Event(), []
    other = threading.Thread(target=lambda: (go.wait(), ran.append(True)))
    interval = sys.getswitchinterval()
    other.start()
    try:
        sys.setswitchinterval(1000)
        go.set()
        for _ in range(100):
            read(opened)
            if ran:
                break
        assert ran
    finally:
        sys.setswitchinterval(interval)
        other.join()


# The most memory of a process that reads a stream by batches, with pyarrow in it.
MOST = 256 << 20

WAYS = {
    "a table": "sum(batch.num_rows for batch in pyarrow.RecordBatchReader.from_stream(opened.table('ObjectAlloc')))",
    "all tables": "sum(pyarrow.table(batch).num_rows for batch in opened.batches())",
    "objects": "sum(1 for _ in opened.events())",
    "the verdict": "opened.completeness.events",
}


@pytest.mark.parametrize("way", WAYS)
def test_memory(recorded, way):
    code = f"""
import pyarrow, resource, telemetry_events
opened = telemetry_events.open({str(recorded)!r}, incomplete="ignore")
assert {WAYS[way]} > 1_000_000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(run.stdout) * unit < MOST
