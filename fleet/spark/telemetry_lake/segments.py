"""Segments as rows of Spark, without tables: each executor reads those of some sessions."""

from __future__ import annotations

import json
import os
import typing as _t
import zipfile

from .verdict import EVER, Missing, no_sessions, said

SCHEMA = "host string, session bigint, thread bigint, kind string, event string, time_ns bigint, params string"

#: The accounts of sessions, with the names of the table `lane` where it has the same.
ACCOUNTS = """host string, session bigint, ended boolean, recorded bigint, read bigint,
  lost_pool bigint, lost_reentrant bigint, lost_sink bigint, excluded bigint, missing bigint"""

#: The column of each cause in the verdict. Segments do not tell holes from what a shipper shed.
COLUMNS = {"pool": "lost_pool", "reentrant": "lost_reentrant", "sink": "lost_sink", "hole": "missing"}


def events(spark: _t.Any, url: str, day: str = "*", host: str = "*") -> _t.Any:
    """Returns the events of all segments of a day and a host as a DataFrame, each event once.

    `params` is a JSON object, in which a label is its string. This package and `telemetry_events` are
    sent to the executors. Each reads all segments of a session together, so repeated ones add no rows.
    `missing` tells which events are not among them."""
    context = spark.sparkContext
    context.addPyFile(_packages(context))
    pattern = _pattern(url, day, host)
    return spark.createDataFrame(_by_session(context, pattern).flatMap(_read), SCHEMA)


def missing(spark: _t.Any, url: str, day: str = "*", host: str = "*") -> _t.Any:
    """Returns the accounts of the sessions that have segments of a day and a host, as a DataFrame:
    `recorded = read + lost_sink + excluded + missing`, and what was never recorded.

    An account is of all segments of its session, also those of other days. It reads them all, so keep
    the result with `cache()` for several questions. `verdict_of` makes a line of it."""
    context = spark.sparkContext
    context.addPyFile(_packages(context))
    patterns = _of_whole_sessions(spark, url, day, host)
    if not patterns:
        return spark.createDataFrame([], ACCOUNTS)
    return spark.createDataFrame(_by_session(context, ",".join(patterns)).map(_account), ACCOUNTS)


def verdict_of(accounts: _t.Any) -> str:
    """Returns in one line what `missing` found, in the words of `Lake.verdict`, but without times."""
    from pyspark.sql import functions

    # Numbers of wrong headers may be the highest.
    sums = [f"sum(CAST({column} AS DECIMAL(38, 0))) AS {column}" for column in (*COLUMNS.values(), "excluded")]
    chosen = map(functions.expr, ["count_if(NOT ended) AS opened", *sums])
    hosts = accounts.groupBy("host").agg(*chosen).orderBy("host").collect()
    if not hosts:
        return no_sessions(None, EVER)
    causes = {}
    for why, column in COLUMNS.items():
        if touched := [row for row in hosts if row[column]]:
            causes[why] = Missing(int(sum(row[column] for row in touched)), len(touched), touched[0]["host"])
    opened, excluded = (int(sum(row[column] for row in hosts)) for column in ("opened", "excluded"))
    return said(opened, None, causes, excluded=excluded)


def _pattern(url: str, day: str, host: str, session: str = "") -> str:
    return f"{url.rstrip('/')}/segments/day={day}/host={host}/{session}*.tel"


def _of_whole_sessions(spark: _t.Any, url: str, day: str, host: str) -> list[str]:
    """Returns patterns of all segments of the sessions that have some of a day and a host."""
    chosen = _pattern(url, day, host)
    # Spark's own API lists no files without reading them.
    path = spark._jvm.org.apache.hadoop.fs.Path(chosen)
    found = path.getFileSystem(spark._jsc.hadoopConfiguration()).globStatus(path) or ()
    sessions: dict[str, set[str]] = {}
    for status in found:
        of_host, session = _key(str(status.getPath().toString()))
        sessions.setdefault(of_host, set()).add(session)
    if day == "*":
        return [chosen] if sessions else []
    return [_pattern(url, "*", name, "{" + ",".join(sorted(of)) + "}-") for name, of in sorted(sessions.items())]


def _by_session(context: _t.Any, patterns: str) -> _t.Any:
    """Returns the segments that match, by host and session: a session may have some on several days."""
    return context.binaryFiles(patterns).map(_with_key).groupByKey()


def _with_key(item: tuple[str, bytes]) -> tuple[tuple[str, str], tuple[str, bytes]]:
    path, data = item
    return _key(path), (path.rsplit("/", 1)[-1], data)


def _key(path: str) -> tuple[str, str]:
    """Returns the host and the session of a segment, by its path."""
    folder, name = path.rsplit("/", 2)[-2:]
    return folder.removeprefix("host="), name.split("-")[0]


_OfSession = tuple[tuple[str, str], _t.Iterable[tuple[str, bytes]]]


def _opened(segments: _t.Iterable[tuple[str, bytes]]) -> _t.Any:
    """Opens the segments of a session as one stream. What it lacks is asked of `missing`."""
    import telemetry_events

    return telemetry_events.open(*(data for _, data in sorted(segments)), incomplete="ignore")


def _read(item: _OfSession) -> _t.Iterator[tuple[_t.Any, ...]]:
    (host, session), segments = item
    number = _signed(session)
    with _opened(segments) as stream:
        for event in stream.events():
            desc = event.DESC
            params = {param.name: _plain(getattr(event, param.name, None)) for param in desc.params}
            text = json.dumps(params, default=str)
            yield host, number, event.thread, desc.kind.name, desc.name, event.time_ns, text


def _account(item: _OfSession) -> tuple[_t.Any, ...]:
    (host, session), segments = item
    with _opened(segments) as stream:
        # In the order of `events`, so `read` is the number of its rows.
        for _ in stream.events():
            pass
        found = stream.completeness
    ended = dict(found.sessions).get(int(session, 16), False)
    recorded = found.events + found.lost_sink + found.excluded + found.missing
    lost = found.lost_pool, found.lost_reentrant, found.lost_sink
    # A wrong header may state any number.
    counts = [min(count, EVER[1]) for count in (recorded, found.events, *lost, found.excluded, found.missing)]
    return host, _signed(session), ended, *counts


def _signed(session: str) -> int:
    """Returns the id of a session as a signed number with the same bits."""
    number = int(session, 16)
    return number - (number >> 63 << 64)


def _plain(value: _t.Any) -> _t.Any:
    """Returns a value for JSON, in which a label would be its number."""
    import telemetry_events

    if isinstance(value, telemetry_events.LabelRef):
        return int(value) if value.text is None else value.text
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


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
