"""Spark without tables: the events of segments, and what they lack."""

import collections
import re
import sqlite3

from queries import LATEST, rows, run

#: The columns of `missing` in which `telemetry-lake complete` has its causes.
COLUMNS = {"pool": "lost_pool", "reentrant": "lost_reentrant", "sink": "lost_sink", "hole": "missing"}

#: The tables of the queries, from the events of segments. These have no versions and no names of
#: enums. Spans are those of all versions.
VIEWS = {
    "all_begins": """SELECT host, session, time_ns, CAST(get_json_object(params, '$.request') AS BIGINT) AS request
        FROM all_events WHERE event = 'RequestBegin'""",
    "all_ends": """SELECT host, session, time_ns, CAST(get_json_object(params, '$.request') AS BIGINT) AS request,
        CAST(get_json_object(params, '$.size') AS BIGINT) AS size FROM all_events WHERE event = 'RequestEnd'""",
    "all_evicted": """SELECT host, session, time_ns, get_json_object(params, '$.age') AS told,
        get_json_object(params, '$.cause') AS cause__name, get_json_object(params, '$.place') AS place,
        CASE get_json_object(params, '$.why') WHEN '1' THEN 'Full' WHEN '2' THEN 'Expired' WHEN '3' THEN 'Asked' END
        AS why__name FROM all_events WHERE event = 'Evicted'""",
    "app_RequestBegin": "SELECT * FROM all_begins WHERE session NOT IN ({majors})",
    "app_RequestEnd": "SELECT * FROM all_ends WHERE session NOT IN ({majors})",
    "app_Evicted": """SELECT *, try_cast(told AS BIGINT) AS age,
        CASE WHEN try_cast(told AS BIGINT) IS NULL THEN told END AS age_v2
        FROM all_evicted WHERE session NOT IN ({majors})""",
    "app_Evicted_m2": "SELECT *, try_cast(told AS BOOLEAN) AS age FROM all_evicted WHERE session IN ({majors})",
    "span": """SELECT e.time_ns - b.time_ns AS duration_ns FROM all_begins AS b JOIN all_ends AS e
        USING (host, session, request)""",
}

#: By session and event type: the events, and the sums of their times and of the sizes.
SUMS_OF_SQL = """SELECT S.id, E.event, count(*), sum(E.time_ns) FROM event AS E
    JOIN session AS S ON S.serial = E.session WHERE E.registry = 'app' GROUP BY S.id, E.event
    UNION ALL SELECT S.id, 'size', count(*), sum(E.size) FROM EVENT_RequestEnd AS E
    JOIN session AS S ON S.serial = E.session GROUP BY S.id"""

SUMS = """SELECT session, event, count(*), sum(time_ns) FROM {view} WHERE event <> 'Intern' GROUP BY session, event
    UNION ALL SELECT session, 'size', count(*), sum(CAST(get_json_object(params, '$.size') AS BIGINT))
    FROM {view} WHERE event = 'RequestEnd' GROUP BY session"""

#: The accounts of sessions in the tables.
ACCOUNTS = f"""SELECT host, session, sum(recorded), sum("rows"), sum(lost_pool), sum(lost_reentrant), sum(lost_sink),
    sum(excluded) FROM lane JOIN {LATEST} AS latest USING (host, session, batch) GROUP BY host, session"""


#: The sessions with a later major version.
LATER = """SELECT DISTINCT S.id FROM session AS S
    JOIN lane AS L ON L.session = S.serial
    JOIN registry AS R ON R.fingerprint = L.fingerprint
    WHERE R.name = 'app' AND R.major > 1"""


def signed(session):
    """The signed number of a session's id in hexadecimal."""
    number = int(session, 16)
    return number - (number >> 63 << 64)


def with_segments(root, spark, database, queries):
    """The answers that need no facts of sessions."""
    from telemetry_lake import events

    frame = events(spark, root.as_uri()).cache()
    frame.createOrReplaceTempView("all_events")
    check_sums(spark, "all_events", database)
    connection = sqlite3.connect(database)
    later = connection.execute(LATER)
    # No session has this number.
    majors = ", ".join(f"{signed(session)}L" for session in ["0", *(row[0] for row in later)])
    for name, view in VIEWS.items():
        spark.sql(view.replace("{majors}", majors)).createOrReplaceTempView(name)
    found = {
        name: rows(map(tuple, spark.sql(query).collect())) for name, query in queries.items() if name != "join"
    }
    frame.unpersist()
    return found


def check_sums(spark, view, database):
    """Compares events, times and values of each session with those of `telemetry sql`. Returns their
    number."""
    found = sorted(map(tuple, spark.sql(SUMS.replace("{view}", view)).collect()))
    wanted = sqlite3.connect(database).execute(SUMS_OF_SQL)
    wanted = sorted((signed(session), *rest) for session, *rest in wanted)
    assert found == wanted and found, f"{view}: {found} is not {wanted}"
    return len(found)


def check_filters(telemetry, root, spark):
    """Compares the events of days and hosts with what `telemetry sql` says of the same segments. Returns
    the number of filters."""
    from telemetry_lake import events

    folders = sorted((root / "segments").glob("day=*/host=*"))
    days = sorted({folder.parent.name.removeprefix("day=") for folder in folders})
    host = folders[0].name.removeprefix("host=")
    assert len(days) == 2, f"{days}: a session goes on at midnight"
    cases = [(days[0], "*"), (days[1], "*"), ("*", host), (days[1], host)]
    for number, (day, of_host) in enumerate(cases):
        database = root.parent / f"filtered{number}.db"
        segments = sorted(map(str, (root / "segments").glob(f"day={day}/host={of_host}/*.tel")))
        run(telemetry, "sql", "-o", str(database), *segments, codes=(0, 1))
        events(spark, root.as_uri(), day=day, host=of_host).createOrReplaceTempView("filtered")
        check_sums(spark, "filtered", database)
    return len(cases)


def check_missing(connection, root, spark, told):
    """Compares the accounts of sessions and their verdict with the tables, in a connection of DuckDB,
    and with what `complete` told. Returns the number of accounts."""
    from telemetry_lake import missing, verdict_of

    accounts = missing(spark, root.as_uri()).cache()
    found = {(row["host"], row["session"]): row for row in accounts.collect()}
    of_complete, unknown, opened = collections.Counter(), collections.Counter(), set()
    for host, session, lane, _, _, count, why in (line.split("\t") for line in told.splitlines() if "\t" in line):
        key = host, signed(session)
        if why == "open":
            opened.add(key)
            continue
        of_complete[(*key, COLUMNS[why])] += int(count)
        # No block of a lane states these.
        unknown[key] += int(count) if lane == "-" else 0
    counted = {(*key, column): row[column] for key, row in found.items() for column in COLUMNS.values() if row[column]}
    assert counted == of_complete, f"{counted} is not {told}"
    assert {key for key, row in found.items() if not row["ended"]} == opened, f"{found} is not {told}"
    in_tables = {
        (host, session): (recorded + unknown[host, session], *counts)
        for host, session, recorded, *counts in rows(connection.sql(ACCOUNTS).fetchall())
    }
    columns = ("recorded", "read", "lost_pool", "lost_reentrant", "lost_sink", "excluded")
    in_segments = {key: tuple(row[column] for column in columns) for key, row in found.items()}
    assert in_segments == in_tables, f"{in_segments} is not {in_tables}"
    # Segments tell no lanes and no times.
    wanted = re.sub(r" of \d+ lanes?| between [^\s;]+ and [^\s;]+|, and complete to [^\s;]+", "", told.splitlines()[-1])
    wanted = wanted.replace("nothing is missing before", "nothing else is missing")
    assert verdict_of(accounts) == wanted, f"{verdict_of(accounts)} is not {wanted}"
    accounts.unpersist()
    return len(found)


def check_chosen(root, spark):
    """Sessions that are chosen by day and host have the same accounts, also of other days."""
    from telemetry_lake import missing, verdict_of

    found = {(row["host"], row["session"]): row for row in missing(spark, root.as_uri()).collect()}
    folders = sorted((root / "segments").glob("day=*/host=*"))
    day, host = folders[-1].parent.name.removeprefix("day="), folders[0].name.removeprefix("host=")
    for filters in ({"day": day}, {"host": host}, {"day": day, "host": host}):
        segments = (root / "segments").glob(f"day={filters.get('day', '*')}/host={filters.get('host', '*')}/*.tel")
        wanted = {(path.parent.name.removeprefix("host="), signed(path.name.split("-")[0])) for path in segments}
        chosen = {(row["host"], row["session"]): row for row in missing(spark, root.as_uri(), **filters).collect()}
        assert chosen == {key: found[key] for key in wanted}, f"{filters}: {chosen} is not of {wanted} in {found}"
    nothing = missing(spark, root.as_uri(), day="1970-01-01")
    assert nothing.count() == 0 and verdict_of(nothing) == "no sessions"
