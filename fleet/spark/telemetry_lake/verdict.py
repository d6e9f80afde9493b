"""The verdict on a lake or on segments: what is missing, in one line. `telemetry-lake complete` says the
same of a lake, and also how many segments wait for a commit."""

from __future__ import annotations

import dataclasses as _dataclasses
import datetime as _dt
import typing as _t

#: Why events are missing, in the order of the verdict.
CAUSES = {
    "pool": "lost for lack of memory",
    "reentrant": "lost because they were reentrant",
    "sink": "lost by the sink",
    "shed": "shed by the shipper",
    "hole": "not here",
}

#: Sessions that have not ended, and of which nothing has come for some time. All of it is committed.
GONE = """SELECT host, session FROM segment JOIN (SELECT host, session FROM watermark WHERE NOT ended)
USING (host, session) LEFT ANTI JOIN waiting USING (host, session)
GROUP BY host, session HAVING max(stored_ns) > 0 AND max(stored_ns) < :gone"""

#: Hosts of which nothing has come for some time. All of it is committed.
SILENT = """SELECT count(*) AS hosts, min(host) AS host, min(last_ns) AS last_ns FROM (
  SELECT host, max(stored_ns) AS last_ns FROM segment JOIN (SELECT host, session FROM session) USING (host, session)
  LEFT ANTI JOIN waiting USING (host)
  WHERE coalesce(host = :host, true) GROUP BY host HAVING max(stored_ns) > 0 AND max(stored_ns) < :silent
)"""

#: The sessions of a host and of times. The last time of one that has ended is that of its last event.
TOUCHED = """SELECT host, session, is_gone IS NOT NULL AS is_gone FROM session LEFT JOIN (
  SELECT host, session, max(until_ns) AS last_ns FROM (
    SELECT host, session, until_ns FROM watermark
    UNION ALL SELECT host, session, until_ns FROM lane_range
    UNION ALL SELECT host, session, until_ns FROM loss
    UNION ALL SELECT host, session, until_ns FROM arrived
  ) GROUP BY host, session
) USING (host, session)
LEFT JOIN (SELECT host, session, true AS is_gone FROM gone) USING (host, session)
WHERE started_ns < :until AND (NOT ended AND is_gone IS NULL OR coalesce(last_ns, started_ns) >= :from) AND coalesce(host = :host, true)"""

#: What is missing of them, by cause. An open session has no end.
OF_THEM = """SELECT why, count(*) AS rows, sum(events) AS events, min(from_ns) AS from_ns, max(until_ns) AS until_ns,
  count(DISTINCT host) AS hosts, min(host) AS host,
  CASE WHEN count(lane) = count(*) THEN count(DISTINCT host, session, lane) END AS lanes
FROM missing JOIN touched USING (host, session)
WHERE from_ns < :until AND coalesce(until_ns >= :from, true) AND NOT (is_gone AND why = 'open') GROUP BY why"""

EXCLUDED = "SELECT coalesce(sum(excluded), 0L) AS events FROM lane JOIN touched USING (host, session)"

#: Of a lake whose segments were committed by an older version.
NOT_TOLD = "SELECT '' AS host, 0L AS session, 0L AS until_ns WHERE false"

#: Times are integers of 64 bits.
EVER = (-(2**63), 2**63 - 1)


@_dataclasses.dataclass
class Missing:
    """The events that are missing for one cause."""

    events: int
    #: The number of hosts that they are missing on, and the name of one.
    hosts: int
    host: str
    #: The number of their lanes, if that is known.
    lanes: int | None = None
    #: When they can have happened, if that is known.
    times: tuple[int, int] | None = None


def verdict(
    spark: _t.Any,
    host: str | None,
    from_ns: int | None,
    until_ns: int | None,
    gone_before_ns: int | None,
    silent_before_ns: int | None,
    waiting: _t.Callable[[], list[tuple[str, int]]],
) -> str:
    """Returns the verdict on the sessions of the views that `Lake.register` has made. `waiting` returns
    the hosts and sessions with segments that are not committed."""
    chosen = (EVER[0] if from_ns is None else from_ns, EVER[1] if until_ns is None else until_ns)
    times = dict(zip(("from", "until"), chosen))
    if not spark.catalog.tableExists("session"):
        return no_sessions(host, chosen)
    views = ("waiting", "arrived", "gone", "touched")
    try:
        waits = [] if gone_before_ns is None and silent_before_ns is None else waiting()
        spark.createDataFrame(waits, "host string, session bigint").createOrReplaceTempView("waiting")
        is_told = spark.catalog.tableExists("segment") and "stored_ns" in spark.table("segment").columns
        arrived = spark.table("segment") if is_told else spark.sql(NOT_TOLD)
        arrived.select("host", "session", "until_ns").createOrReplaceTempView("arrived")
        gone = spark.sql(GONE, args={"gone": gone_before_ns or 0}) if is_told else spark.sql(NOT_TOLD)
        gone.createOrReplaceTempView("gone")
        silent = None
        if is_told and silent_before_ns is not None:
            silent = spark.sql(SILENT, args={"silent": silent_before_ns, "host": host}).first()
        touched = spark.sql(TOUCHED, args={**times, "host": host})
        touched.createOrReplaceTempView("touched")
        sessions, stopped = touched.selectExpr("count(*)", "count_if(is_gone)").first()
        if sessions == 0:
            return "; ".join([no_sessions(host, chosen), *silence(silent)])
        missing = {row.why: row for row in spark.sql(OF_THEM, args=times).collect()}
        (excluded,) = spark.sql(EXCLUDED).first()
    finally:
        for view in views:
            spark.catalog.dropTempView(view)
    is_open = missing.pop("open", None)
    causes = {
        why: Missing(row.events, row.hosts, row.host, row.lanes, (row.from_ns, row.until_ns))
        for why, row in missing.items()
    }
    opened, complete_ns = (is_open.rows, is_open.from_ns) if is_open else (0, None)
    return said(opened, complete_ns, causes, silence(silent), stopped, excluded)


def silence(silent: _t.Any) -> list[str]:
    """Returns what the verdict says of the hosts that are silent."""
    if silent is None or silent.hosts == 0:
        return []
    of = silent.host if silent.hosts == 1 else f"{silent.hosts} hosts"
    return [f"nothing from {of} since {time_text(silent.last_ns)}"]


def said(
    opened: int,
    complete_ns: int | None,
    causes: dict[str, Missing],
    silent: _t.Sequence[str] = (),
    stopped: int = 0,
    excluded: int = 0,
) -> str:
    """Returns the verdict on some sessions: how many are open, and up to when all of these is there, if
    that is known; what is missing, by cause; silent hosts; how many sessions stopped without an end; and
    excluded events."""
    parts = ["all sessions have ended"]
    if opened:
        until = "" if complete_ns is None else f", and complete to {time_text(complete_ns)}"
        parts = [("1 session is open" if opened == 1 else f"{opened} sessions are open") + until]
    for why, what in CAUSES.items():
        if missing := causes.get(why):
            events = "1 event" if missing.events == 1 else f"{missing.events} events"
            if missing.lanes is not None:
                events += " of 1 lane" if missing.lanes == 1 else f" of {missing.lanes} lanes"
            where = missing.host if missing.hosts == 1 else f"{missing.hosts} hosts"
            times = " between {} and {}".format(*map(time_text, missing.times)) if missing.times else ""
            parts.append(f"{events} on {where} {what}{times}")
    if len(parts) == 1 and not opened:
        parts = [f"complete: {parts[0]}"]
    elif len(parts) == 1:
        parts.append("nothing else is missing" if complete_ns is None else "nothing is missing before")
    parts += silent
    if stopped:
        sessions = "1 session" if stopped == 1 else f"{stopped} sessions"
        parts.append(f"{sessions} stopped without an end")
    if excluded:
        parts.append("1 event is excluded" if excluded == 1 else f"{excluded} events are excluded")
    return "; ".join(parts)


def no_sessions(host: str | None, times: tuple[int, int]) -> str:
    """Returns the verdict on a host and times that have no sessions."""
    text = "no sessions" if host is None else f"no sessions of host `{host}`"
    start, end = map(time_text, times)
    if times == EVER:
        return text
    if times[1] == EVER[1]:
        return f"{text} from {start}"
    if times[0] == EVER[0]:
        return f"{text} before {end}"
    return f"{text} between {start} and {end}"


def time_text(ns: int) -> str:
    """Returns a time in UTC, to the millisecond."""
    if ns == EVER[1]:
        return "now"
    time = _dt.datetime.fromtimestamp(max(ns, 0) // 10**9, _dt.timezone.utc)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{max(ns, 0) // 10**6 % 1000:03}Z"
