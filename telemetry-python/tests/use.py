"""A use of the package that type checkers pass. They run it through no interpreter."""

from typing import Optional

import telemetry_events


def total(path: str) -> int:
    """Returns a sum over a stream."""
    with telemetry_events.open(path, threads=2) as stream:
        table: telemetry_events.Table = stream.table("Evicted")
        names: list[str] = table.column_names
        error: Optional[BaseException] = table.error
        held: dict[str, telemetry_events.Table] = stream.read_tables("Evicted", "session", where="time > 1ms")
        batches: list[str] = [batch.name for batch in stream.batches(where="kind == Cache")]
        capsule: object = table.__arrow_c_stream__()
        kinds = sum(stream.info.events.values())
        times: list[int] = [event.time_ns for event in stream.events("Evicted", order="stream", where="age > 5")]
        verdict: telemetry_events.Completeness = stream.completeness
    assert capsule is not None and error is None and len(held) == len(batches)
    return kinds + sum(times) + len(names) + verdict.missing + len(stream.tables())
