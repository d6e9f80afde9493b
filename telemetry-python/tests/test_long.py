"""Reading of a long stream: interrupts, other threads, and memory. TELEMETRY_LONG names it."""

import contextlib
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
    return os.environ.get("TELEMETRY_LONG") or pytest.skip("no TELEMETRY_LONG")


@pytest.fixture
def opened(recorded):
    with telemetry_events.open(recorded, incomplete="ignore") as opened:
        yield opened


class Interrupted:
    """A table whose readers get signals, as by Ctrl-C, once they have its stream."""

    def __init__(self, table):
        self.table = table
        self.has_begun = False

    def __arrow_c_stream__(self, requested_schema=None):
        stream = self.table.__arrow_c_stream__(requested_schema)
        self.has_begun = True
        return stream

    def __arrow_c_schema__(self):
        return self.table.__arrow_c_schema__()

    def handle(self, _, frame):
        if self.has_begun and frame.f_code is not Interrupted.__arrow_c_stream__.__code__:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt


@pytest.fixture
def interrupted(opened):
    found = Interrupted(opened.table("ObjectAlloc"))
    with signals(found.handle):
        yield found


@contextlib.contextmanager
def signals(handle):
    """Sends a signal again and again."""
    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def interrupts(read, exception):
    """Returns whether a call ends with Ctrl-C: as soon as the interpreter goes on."""
    try:
        try:
            read()
        except exception:
            for _ in range(1000):
                pass
    except KeyboardInterrupt:
        return True
    return False


def test_polars_is_interrupted(interrupted):
    polars = pytest.importorskip("polars")
    assert interrupts(lambda: polars.DataFrame(interrupted), polars.exceptions.PolarsError)
    assert isinstance(interrupted.table.error, KeyboardInterrupt)


def test_pyarrow_is_interrupted(interrupted):
    assert interrupts(lambda: pyarrow.table(interrupted), pyarrow.ArrowException)
    assert isinstance(interrupted.table.error, KeyboardInterrupt)


def test_duckdb_is_interrupted(interrupted):
    duckdb = pytest.importorskip("duckdb")
    events = interrupted
    # It looks at signals itself, and has an exception of its own.
    with pytest.raises((KeyboardInterrupt, RuntimeError, duckdb.Error)):
        duckdb.sql("SELECT sum(size) FROM events").fetchall()
    events = interrupted.table
    assert duckdb.sql("SELECT count(*) FROM events").fetchall()[0][0] > 1_000_000


@pytest.mark.parametrize("read", ["read_tables", "batches"])
def test_readings_of_several_tables_are_interrupted(opened, read):
    batches = opened.batches()
    next(batches)

    def handle(_, frame):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        with signals(handle):
            while True:
                list(batches) if read == "batches" else opened.read_tables()


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


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
@pytest.mark.parametrize("way", WAYS)
def test_memory(recorded, way):
    code = f"""
import pathlib, pyarrow, telemetry_events
opened = telemetry_events.open({str(recorded)!r}, incomplete="ignore")
assert {WAYS[way]} > 1_000_000
status = pathlib.Path("/proc/self/status").read_text(encoding="utf-8")
print(status.partition("VmHWM:")[2].split()[0])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) << 10 < MOST
