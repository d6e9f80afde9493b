"""Segments as rows of Spark, without tables: each executor reads those of some sessions."""

from __future__ import annotations

import json
import os
import typing as _t
import zipfile

SCHEMA = "host string, session bigint, thread bigint, kind string, event string, time_ns bigint, params string"


def events(spark: _t.Any, url: str, day: str = "*", host: str = "*") -> _t.Any:
    """Returns the events of all segments of a day and a host as a DataFrame, each event once.

    `params` is a JSON object. This package and `telemetry_events` are sent to the executors. Each
    reads all segments of a session together, so repeated ones add no rows."""
    context = spark.sparkContext
    context.addPyFile(_packages(context))
    pattern = f"{url.rstrip('/')}/segments/day={day}/host={host}/*.tel"
    of_sessions = context.binaryFiles(pattern).map(_with_key).groupByKey()
    return spark.createDataFrame(of_sessions.flatMap(_read), SCHEMA)


def _with_key(item: tuple[str, bytes]) -> tuple[tuple[str, str], tuple[str, bytes]]:
    path, data = item
    folder, name = path.rsplit("/", 2)[-2:]
    return (folder.removeprefix("host="), name.split("-")[0]), (name, data)


def _read(item: tuple[tuple[str, str], _t.Iterable[tuple[str, bytes]]]) -> _t.Iterator[tuple[_t.Any, ...]]:
    import telemetry_events

    (host, session), segments = item
    number = int(session, 16)
    number -= (number >> 63) << 64
    inputs = [data for _, data in sorted(segments)]
    with telemetry_events.open(*inputs, incomplete="ignore") as stream:
        for event in stream.events():
            desc = event.DESC
            params = {param.name: getattr(event, param.name, None) for param in desc.params}
            text = json.dumps(params, default=str)
            yield host, number, event.thread, desc.kind.name, desc.name, event.time_ns, text


def _packages(context: _t.Any) -> str:
    """Returns a file with this package and the reader, from where this process has them."""
    import telemetry_events

    path = os.path.join(context._temp_dir, "telemetry_segments.zip")
    with zipfile.ZipFile(path, "w") as archive:
        for package, file in (("telemetry_events", telemetry_events.__file__), ("telemetry_lake", __file__)):
            folder = os.path.dirname(file)
            for name in sorted(os.listdir(folder)):
                # The compiled part is for this machine. The executors have the pure package.
                if name.endswith(".py"):
                    archive.write(os.path.join(folder, name), f"{package}/{name}")
    return path
