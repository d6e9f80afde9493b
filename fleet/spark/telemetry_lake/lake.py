"""The tables of a lake as views of Spark."""

from __future__ import annotations

import json
import os
import re
import typing as _t

from pyspark.sql.types import StringType, StructField, StructType

from .verdict import verdict

#: Tables in which each batch writes the rows of its sessions again: those of the latest batch count.
OF_SESSIONS = ("session", "thread", "lane", "lane_range", "loss", "open_span", "watermark")

#: The rows of the latest batch of each session.
LATEST = """SELECT {columns} FROM all_{table} JOIN (
  SELECT host, session, max(batch) AS batch FROM all_session GROUP BY host, session
) USING (host, session, batch)"""

#: Columns of tables without files: nothing was lost, or no segment was committed.
EMPTY = {
    "loss": "'' AS host, 0L AS session, 0 AS lane, 0L AS from_ns, 0L AS until_ns, 0L AS events, '' AS why",
    "watermark": "'' AS host, 0L AS session, 0L AS until_ns, true AS ended",
    "lane": "'' AS host, 0L AS session, 0L AS excluded",
    "lane_range": "'' AS host, 0L AS session, 0L AS until_ns",
}

MISSING = """SELECT host, session, lane, from_ns, until_ns, events, why FROM loss
UNION ALL
SELECT host, session, CAST(NULL AS INT), until_ns, CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), 'open'
FROM watermark WHERE NOT ended"""

#: How long the segments of a session took from their last events to the store, at least.
CLOCK = """SELECT host, session, min(stored_ns - until_ns) AS delay_ns FROM segment
WHERE stored_ns > 0 AND until_ns > 0 GROUP BY host, session"""

#: When the latest segment of a session got to the store.
ARRIVED = "SELECT host, session, max(stored_ns) AS arrived_ns FROM segment GROUP BY host, session"

#: Up to when everything of each host is there.
HOSTS = """SELECT host, count(*) AS sessions, count_if(NOT ended) AS open_sessions,
  coalesce(min(CASE WHEN NOT ended THEN until_ns END), max(until_ns)) AS until_ns, max(arrived_ns) AS arrived_ns
FROM watermark LEFT JOIN ({arrived}) USING (host, session) GROUP BY host"""

#: Of a lake whose segments were committed by an older version.
NO_ARRIVAL = "SELECT '' AS host, 0L AS session, 0L AS arrived_ns WHERE false"
NO_CLOCK = "SELECT '' AS host, 0L AS session, 0L AS delay_ns WHERE false"


#: The name of a segment.
SEGMENT = re.compile(r"segments/day=[^/]+/host=(?P<host>[^/]+)/(?P<session>[0-9a-f]{16})-[0-9a-f]{16}-[0-9a-f]{8}\.tel")


class Lake:
    """A lake at an address that Spark reads, such as `s3a://BUCKET/PREFIX` or `file:///DIR`."""

    def __init__(self, spark: _t.Any, url: str) -> None:
        self._spark = spark
        self._url = url.rstrip("/")

    def tables(self) -> list[str]:
        """Returns the names of the tables."""
        return [path.rsplit("/", 1)[-1] for path, is_folder in self._listed(f"{self._url}/tables") if is_folder]

    def table(self, name: str) -> _t.Any:
        """Returns a table as a DataFrame, or None if it has no rows yet."""
        root = f"{self._url}/tables/{name}"
        if self._has_delta() and self._is_folder(f"{root}/_delta_log"):
            return self._spark.read.format("delta").load(root)
        files = self.files(name)
        if not files:
            return None
        reader = self._spark.read.option("basePath", root).option("mergeSchema", "true")
        schema = reader.parquet(*files).schema
        # Spark takes partitions of hosts such as `0012` for numbers.
        host = StructField("host", StringType())
        fields = [host if field.name == "host" else field for field in schema.fields]
        return reader.schema(StructType(fields)).parquet(*files)

    def files(self, name: str) -> list[str]:
        """Returns the addresses of a table's files: those of its log, or all if it has none."""
        root = f"{self._url}/tables/{name}"
        log = f"{root}/_delta_log"
        if not self._is_folder(log):
            return sorted(path for path in self._all(root) if path.endswith(".parquet"))
        versions = sorted(path for path, _ in self._listed(log) if path.endswith(".json"))
        if not versions or not versions[0].endswith(f"{0:020}.json"):
            raise ValueError(f"{name}: the log does not begin with version 0; use Spark with Delta's package")
        live: dict[str, None] = {}
        frame = self._spark.read.text(versions, wholetext=True).select("_metadata.file_path", "value")
        # All are in one folder, so the order of their addresses is that of the versions.
        for _, text in sorted(frame.collect()):
            for line in text.splitlines():
                action = json.loads(line)
                if "remove" in action:
                    live.pop(action["remove"]["path"], None)
                if "add" in action:
                    live[action["add"]["path"]] = None
        return [f"{root}/{path}" for path in live]

    def register(self) -> list[str]:
        """Makes a view of each table that has rows, and the views `missing`, `hosts` and `clock`. Returns
        the names.

        Views of tables of sessions have the rows that count; `all_session` and so on have all."""
        names = []
        for name in self.tables():
            frame = self.table(name)
            if frame is None:
                continue
            names.append(name)
            if name not in OF_SESSIONS:
                frame.createOrReplaceTempView(name)
                continue
            frame.createOrReplaceTempView(f"all_{name}")
        for name in OF_SESSIONS:
            if name in names:
                columns = ", ".join(self._spark.table(f"all_{name}").columns)
                view = self._spark.sql(LATEST.format(table=name, columns=columns))
            elif name in EMPTY:
                view = self._spark.sql(f"SELECT {EMPTY[name]} WHERE false")
            else:
                continue
            view.createOrReplaceTempView(name)
        self._spark.sql(MISSING).createOrReplaceTempView("missing")
        is_told = "segment" in names and "stored_ns" in self._spark.table("segment").columns
        self._spark.sql(CLOCK if is_told else NO_CLOCK).createOrReplaceTempView("clock")
        self._spark.sql(HOSTS.format(arrived=ARRIVED if is_told else NO_ARRIVAL)).createOrReplaceTempView("hosts")
        return [*names, "missing", "hosts", "clock"]

    def verdict(
        self,
        host: str | None = None,
        from_ns: int | None = None,
        until_ns: int | None = None,
        gone_before_ns: int | None = None,
        silent_before_ns: int | None = None,
    ) -> str:
        """Returns in one line what is missing, after `register`, as `telemetry-lake complete` says it.

        It is as of the last commit: tables do not tell which segments wait for the next one. Takes the
        sessions of a host and of times, in nanoseconds since 1970, or all. A session counts as ended if
        its last segment arrived before `gone_before_ns`, and all are committed. A host whose last segment
        arrived before `silent_before_ns` is named."""
        return verdict(self._spark, host, from_ns, until_ns, gone_before_ns, silent_before_ns, self._waiting)

    def _waiting(self) -> list[tuple[str, int]]:
        """Returns the hosts and sessions with segments that are not committed."""
        known = {row.name for row in self._spark.sql("SELECT name FROM segment").collect()}
        found = set()
        for path in self._all(f"{self._url}/segments"):
            name = "segments/" + path.rsplit("/segments/", 1)[1]
            if name not in known and (match := SEGMENT.fullmatch(name)):
                number = int(match["session"], 16)
                found.add((match["host"], number - (number >> 63 << 64)))
        return sorted(found)

    def _has_delta(self) -> bool:
        # Databricks has Delta without the extension. Some of its compute does not show all settings.
        if "DATABRICKS_RUNTIME_VERSION" in os.environ:
            return True
        settings = self._spark.conf
        if settings.get("spark.databricks.clusterUsageTags.sparkVersion", ""):
            return True
        return "DeltaSparkSessionExtension" in (settings.get("spark.sql.extensions", "") or "")

    def _file_system(self, url: str) -> tuple[_t.Any, _t.Any]:
        # Spark's own API lists no folders.
        path = self._spark._jvm.org.apache.hadoop.fs.Path(url)
        return path.getFileSystem(self._spark._jsc.hadoopConfiguration()), path

    def _is_folder(self, url: str) -> bool:
        system, path = self._file_system(url)
        return bool(system.exists(path))

    def _listed(self, url: str) -> list[tuple[str, bool]]:
        system, path = self._file_system(url)
        if not system.exists(path):
            return []
        return sorted((str(found.getPath().toString()), bool(found.isDirectory())) for found in system.listStatus(path))

    def _all(self, url: str) -> list[str]:
        found = []
        for path, is_folder in self._listed(url):
            found.extend(self._all(path) if is_folder else [path])
        return found
