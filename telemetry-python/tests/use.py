"""A use of the package that type checkers pass. They run it through no interpreter."""

import telemetry_events


def total(path: str) -> int:
    """Returns a sum over a stream."""
    with telemetry_events.open(path) as stream:
        table: telemetry_events.Table = stream.table("Evicted")
        names: list[str] = table.column_names
        capsule: object = table.__arrow_c_stream__()
        kinds = sum(stream.info.events.values())
        times: list[int] = [event.time_ns for event in stream.events("Evicted", order="stream")]
        verdict: telemetry_events.Completeness = stream.completeness
    assert capsule is not None
    return kinds + sum(times) + len(names) + verdict.missing + len(stream.tables())
