"""Children of a fork, which have no other threads. TELEMETRY_LONG names a long stream."""

import gc
import os
import signal

import pytest
import telemetry_events

pyarrow = pytest.importorskip("pyarrow")
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    # Python warns of a fork with several threads, which is what is tested.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]

# The seconds after which a child that waits for a thread is ended by a signal.
PATIENCE = 120


def objects(opened):
    return (event.ticks for event in opened.events())


def a_table(opened):
    batches = pyarrow.RecordBatchReader.from_stream(opened.table("ObjectAlloc"))
    return (batch.num_rows for batch in batches)


def all_tables(opened):
    return (len(batch.column_names) for batch in opened.batches())


@pytest.fixture(params=[objects, a_table, all_tables])
def begun(request):
    recorded = os.environ.get("TELEMETRY_LONG") or pytest.skip("no TELEMETRY_LONG")
    # Any machine has other threads then.
    with telemetry_events.open(recorded, incomplete="ignore", threads=3) as opened:
        values = request.param(opened)
        next(values)
        yield opened, values


def in_child(work):
    """Runs a function in a child, and returns what it returns as text."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(PATIENCE)
            os.write(write, str(work()).encode())
            os._exit(0)
        except BaseException as error:
            os.write(write, repr(error).encode())
        finally:
            os._exit(1)
    os.close(write)
    with open(read, "rb") as pipe:
        text = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with status {status}: {text}"
    return text


def test_a_child_reads_on(begun):
    _, values = begun

    def rest():
        count = total = 0
        for value in values:
            count, total = count + 1, total + value
        return count, total

    in_the_child = in_child(rest)
    expected = rest()
    assert expected[0] > 2
    assert in_the_child == str(expected)


def test_a_child_lets_go(begun):
    opened, values = begun

    def let_go():
        values.close()
        # It refers to its latest reader.
        vars(opened).clear()
        return gc.collect()

    in_child(let_go)
