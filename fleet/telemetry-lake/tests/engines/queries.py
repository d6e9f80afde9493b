"""The queries that all engines answer, and the answers of `telemetry sql`."""

import sqlite3
import subprocess

TABLES = ("app_RequestBegin", "app_RequestEnd", "app_Evicted", "span", "session")

LATEST = "(SELECT host, session, max(batch) AS batch FROM session GROUP BY host, session)"

#: All engines take the same text. Columns have names, because some engines want them.
QUERIES = {
    "counts": """SELECT what, n FROM (
        SELECT 'b' AS what, count(*) AS n FROM app_RequestBegin UNION ALL
        SELECT 'e' AS what, count(*) AS n FROM app_RequestEnd UNION ALL
        SELECT 'v' AS what, count(*) AS n FROM app_Evicted) AS x ORDER BY what""",
    "spans": """SELECT max(CASE WHEN 2 * r <= c + 1 THEN d END) AS median,
        max(CASE WHEN 100 * r <= 99 * c + 99 THEN d END) AS p99 FROM (
        SELECT duration_ns AS d, row_number() OVER (ORDER BY duration_ns) AS r, count(*) OVER () AS c
        FROM span WHERE duration_ns IS NOT NULL) AS x""",
    # A label and an enum, in this order.
    "labels": """SELECT what, name, count(*) AS n FROM (
        SELECT cause__name AS what, why__name AS name FROM app_Evicted) AS x GROUP BY what, name
        ORDER BY n DESC, what, name LIMIT 5""",
    "join": f"""SELECT s.program AS program, count(*) AS n FROM app_RequestEnd AS e
        JOIN session AS s ON s.session = e.session AND s.host = e.host
        JOIN {LATEST} AS l ON l.session = s.session AND l.host = s.host AND l.batch = s.batch
        GROUP BY s.program ORDER BY program""",
    "minutes": """SELECT minute, sum(size) AS total FROM (
        SELECT size, CAST((time_ns - time_ns % 60000000000) / 60000000000 AS BIGINT) AS minute
        FROM app_RequestEnd) AS x GROUP BY minute ORDER BY minute""",
    "hosts": "SELECT DISTINCT host FROM app_RequestEnd ORDER BY host",
}

#: What only the case `mixed` has: a parameter whose type changed, one that was added, and a major
#: version.
OF_MIXED = {
    "versions": """SELECT name, count(*) AS n, max(age) AS most, count(place) AS places FROM (
        SELECT age, place, coalesce(age_v2, 'a number') AS name FROM app_Evicted) AS x
        GROUP BY name ORDER BY name""",
    "majors": """SELECT aged, count(*) AS n FROM (SELECT age AS aged FROM app_Evicted_m2) AS x
        GROUP BY aged ORDER BY aged""",
}

#: What the database of `telemetry sql` has under other names. It has one row of a session, and no
#: hosts and spans. Its tables have the rows of all major versions.
OF_SQL = """
    CREATE TEMP VIEW of_first_major AS SELECT DISTINCT L.session AS session FROM main.lane AS L
        JOIN main.registry AS R ON R.fingerprint = L.fingerprint WHERE R.name = 'app' AND R.major = 1;
    CREATE TEMP VIEW app_RequestBegin AS SELECT *, '' AS host FROM EVENT_RequestBegin
        WHERE session IN (SELECT session FROM of_first_major);
    CREATE TEMP VIEW app_RequestEnd AS SELECT *, '' AS host FROM EVENT_RequestEnd
        WHERE session IN (SELECT session FROM of_first_major);
    CREATE TEMP VIEW app_Evicted AS SELECT *, '' AS host, why AS why__name, cause AS cause__name{changed}
        FROM NAMED_Evicted WHERE session IN (SELECT session FROM of_first_major);
    CREATE TEMP VIEW app_Evicted_m2 AS SELECT * FROM EVENT_Evicted
        WHERE session NOT IN (SELECT session FROM of_first_major);
    CREATE TEMP VIEW session AS SELECT serial AS session, program, '' AS host, 1 AS batch FROM main.session;
    CREATE TEMP VIEW span AS SELECT e.time_ns - b.time_ns AS duration_ns
        FROM EVENT_RequestBegin AS b JOIN EVENT_RequestEnd AS e USING (session, request);"""


def of_case(name):
    """The tables and the queries of a case."""
    if name == "mixed":
        return (*TABLES, "app_Evicted_m2"), {**QUERIES, **OF_MIXED}
    return TABLES, QUERIES


def rows(found):
    """Rows of plain numbers and texts."""
    plain = lambda cell: cell.decode() if isinstance(cell, bytes) else cell  # noqa: E731
    return [tuple(int(cell) if hasattr(cell, "__int__") else plain(cell) for cell in row) for row in found]


def with_sql(database, case):
    """The answers of `telemetry sql` to the queries of a case, the folder with its `store`."""
    connection = sqlite3.connect(database)
    changed = ", age__text AS age_v2" if case.name == "mixed" else ""
    connection.executescript(OF_SQL.format(changed=changed))
    found = {name: rows(connection.execute(query)) for name, query in of_case(case.name)[1].items()}
    # Streams do not tell their hosts, and paths of segments do.
    hosts = {path.name.removeprefix("host=") for path in (case / "store").glob("segments/day=*/host=*")}
    return {**found, "hosts": [(host,) for host in sorted(hosts)]}


def run(*args, codes=(0,)):
    done = subprocess.run(args, capture_output=True, text=True)
    assert done.returncode in codes, f"{args}: {done.stdout}{done.stderr}"
    return done.stdout
