"""The same queries on a lake in several engines, compared with `telemetry sql`.

Usage: compare.py TELEMETRY TELEMETRY_LAKE DIR

DIR has a folder for each case, with `streams` and the `store` of their segments. Each store becomes
a lake with Delta and one without, and that of several hosts one with buckets. The engines without a
reader of Delta take the files that `deltalake` names, as docs/lake.md says. `queries.py` has the
queries, `of_segments.py` Spark without tables, and `statements.py` the statements of that page.
"""

import datetime
import json
import os
import pathlib
import re
import shutil
import sys
import time

from of_segments import check_chosen, check_filters, check_missing, with_segments
from queries import of_case, rows, run, with_sql


HOSTS = "SELECT host, sessions, open_sessions, until_ns, arrived_ns FROM hosts"


def files_of(root, name):
    """The files of a table: those of its log, or all."""
    folder = root / "tables" / name
    if (folder / "_delta_log").exists():
        import deltalake

        return sorted(uri.removeprefix("file://") for uri in deltalake.DeltaTable(str(folder)).file_uris())
    return sorted(str(path) for path in folder.rglob("*.parquet"))


def in_duckdb(root, names):
    import duckdb

    connection = duckdb.connect()
    for name in names:
        # Partitions of hosts are texts, whatever they look like.
        options = "hive_partitioning = true, hive_types_autocast = false, union_by_name = true"
        connection.sql(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({files_of(root, name)}, {options})")
    return connection


def with_duckdb(root, tables, queries):
    connection = in_duckdb(root, tables)
    return {name: rows(connection.sql(query).fetchall()) for name, query in queries.items()}


def check_hosts(found, told):
    """Compares the view `hosts` with what the command told."""
    from telemetry_lake.verdict import time_text

    found = sorted((*map(str, (host, sessions, opened)), *map(time_text, times)) for host, sessions, opened, *times in found)
    assert found == [tuple(line.split("\t")) for line in told.splitlines()[1:]] and found, f"{found} is not {told}"


def check_views(page, root, told, told_hosts):
    """Compares the views of the page with what the commands told. Returns whether something is missing."""
    if not files_of(root, "loss"):
        return False
    connection = in_duckdb(root, ("session", "loss", "watermark", "segment"))
    for view in re.findall(r"^CREATE VIEW (?:missing|hosts|clock) AS\n.*?(?=\n`{3})", page, re.DOTALL | re.MULTILINE):
        connection.sql(view)
    check_hosts(connection.sql(HOSTS).fetchall(), told_hosts)
    missing = connection.sql("SELECT host, why FROM missing ORDER BY ALL").fetchall()
    lines = [line.split("\t") for line in told.splitlines() if "\t" in line]
    assert missing == sorted((line[0], line[-1]) for line in lines), f"{missing} is not {told}"
    # These streams are years old, so each took long to get here.
    delays = connection.sql("SELECT delay_ns FROM clock").fetchall()
    assert delays and all(delay > 10**15 for (delay,) in delays), f"{delays}"
    return True


def with_polars(root, tables, queries):
    import polars

    frames = {}
    for name in tables:
        folder = root / "tables" / name
        if (folder / "_delta_log").exists():
            frames[name] = polars.scan_delta(str(folder))
        else:
            # Partitions of hosts are texts here, too.
            schema = {"day": polars.Date, "host": polars.String}
            frames[name] = polars.concat(
                [
                    polars.scan_parquet(file, hive_partitioning=True, hive_schema=schema)
                    for file in files_of(root, name)
                ],
                how="diagonal",
            )
    context = polars.SQLContext(frames)
    return {name: rows(context.execute(query, eager=True).rows()) for name, query in queries.items()}


def with_datafusion(root, tables, queries):
    import datafusion
    import pyarrow
    import pyarrow.dataset

    context = datafusion.SessionContext()
    for name in tables:
        files = files_of(root, name)
        texts = pyarrow.schema([("day", pyarrow.string()), ("host", pyarrow.string())])
        partitions = pyarrow.dataset.partitioning(texts, flavor="hive")
        schemas = [
            pyarrow.dataset.dataset(file, partitioning=partitions, partition_base_dir=str(root)).schema
            for file in files
        ]
        dataset = pyarrow.dataset.dataset(
            files, partitioning=partitions, schema=pyarrow.unify_schemas(schemas), partition_base_dir=str(root)
        )
        context.register_dataset(name, dataset)
    found = {name: context.sql(query).to_pylist() for name, query in queries.items()}
    return {name: rows(tuple(row.values()) for row in all_rows) for name, all_rows in found.items()}


def with_chdb(root, tables, queries):
    import chdb.session

    session = chdb.session.Session()
    session.query("CREATE DATABASE lake")
    session.query("USE lake")
    session.query("SET use_hive_partitioning = 1, input_format_tsv_use_best_effort_in_schema_inference = 0")
    session.query("SET schema_inference_mode = 'union', schema_inference_use_cache_for_file = 0")
    session.query("SET output_format_json_quote_64bit_integers = 0")
    # It opens no table of Delta elsewhere.
    os.chdir(root)
    for name in tables:
        folder = root / "tables" / name
        if (folder / "_delta_log").exists():
            session.query(f"CREATE TABLE {name} ENGINE = DeltaLakeLocal('{folder}')")
        else:
            session.query(f"CREATE VIEW {name} AS SELECT * FROM file('{folder}/**/*.parquet', Parquet)")
    found = {}
    for name, query in queries.items():
        found[name] = json.loads(session.query(query, "JSONCompact").bytes().decode())["data"]
    session.close()
    return {name: rows(all_rows) for name, all_rows in found.items()}


def with_spark(root, spark, queries, told_hosts):
    from telemetry_lake import Lake

    lake = Lake(spark, root.as_uri())
    lake.register()
    # The view has the latest rows, and no further batch.
    spark.table("all_session").createOrReplaceTempView("session")
    found = {name: rows(map(tuple, spark.sql(query).collect())) for name, query in queries.items()}
    lake.register()
    check_hosts(spark.sql(HOSTS).collect(), told_hosts)
    # These streams are years old, so each took long to get here.
    delays = spark.sql("SELECT host, delay_ns FROM clock").collect()
    assert delays and all(row.delay_ns > 10**15 for row in delays), f"{delays}"
    return found, lake.verdict


def check_verdicts(lake, root, told, verdict):
    """Compares verdicts on hosts and times with those of `complete`. Returns their number."""
    (host, *_), count = sorted(path.name for path in (root / "segments").glob("day=*/host=*")), 0
    host = host.removeprefix("host=")
    # All times of what is missing, in seconds, and one between them.
    texts = re.findall(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\b", told)
    times = sorted({int(datetime.datetime.fromisoformat(f"{text}+00:00").timestamp()) for text in texts})
    middle = times[len(times) // 2] if times else 1_700_000_000
    cases = [
        (name, start, end, None, None)
        for name in (None, host, "nohost")
        for start, end in ((None, middle), (middle, None), (middle, middle + 1))
    ]
    # All segments arrived before now.
    cases += [(None, None, None, 0, None), (None, middle, None, 0, None), (None, None, None, None, 0)]
    cases += [("nohost", None, None, None, 0), (host, None, middle, None, 0), (host, middle, None, 0, 0)]
    for name, start, end, gone, silent in cases:
        options = [("--host", name), ("--from", start), ("--until", end)]
        options += [("--gone-after", gone), ("--silent-after", silent)]
        words = [str(word) for option in options if option[1] is not None for word in option]
        wanted = run(lake, "complete", root.as_uri(), *words, codes=(0, 1)).splitlines()[-1]
        ns = [time and time * 10**9 for time in (start, end)]
        now = time.time_ns()
        silent_before = None if silent is None else min(now, ns[1] or now)
        found = verdict(name, *ns, None if gone is None else now, silent_before)
        assert found == wanted, f"{words}: {found}, expected {wanted}"
        count += 1
    return count


def check_job(root, wanted):
    """Submits the job as docs/lake.md does, and compares its rows and its verdict."""
    import pyspark

    spark = pathlib.Path(__file__).resolve().parents[3] / "spark"
    archive = shutil.make_archive(str(root / "telemetry_lake"), "zip", spark, "telemetry_lake")
    submit = pathlib.Path(pyspark.__file__).parent / "bin" / "spark-submit"
    query = "SELECT count(*) AS n FROM app_RequestBegin"
    options = ("--master", "local[1]", "--conf", "spark.ui.enabled=false", "--py-files", archive)
    told = run(str(submit), *options, str(spark / "telemetry_lake" / "job.py"), root.as_uri(), query)
    row, verdict = told.splitlines()[-2:]
    assert json.loads(row) == {"n": dict(wanted["counts"])["b"]}, told
    return verdict


def start_spark():
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return None
    if shutil.which("java") is None:
        return None
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("telemetry")
    for key, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    # The driver is one of them.
    managers = spark.sparkContext._jsc.sc().getExecutorMemoryStatus
    until = time.monotonic() + 120
    while managers().size() < 3 and time.monotonic() < until:
        time.sleep(0.1)
    assert managers().size() == 3, f"{managers().size() - 1} executors, expected 2"
    return spark


def main():
    telemetry, lake, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    here = pathlib.Path(__file__).resolve()
    sys.path.insert(0, str(here.parents[3] / "spark"))
    sys.path.insert(0, str(here.parents[4] / "codegen-python" / "python"))
    spark = start_spark()
    if spark is None:
        print("SKIPPED: no pyspark or no Java; Spark is not compared")
    engines = {
        "duckdb": with_duckdb,
        "polars": with_polars,
        "datafusion": with_datafusion,
        "chdb": with_chdb,
    }
    page = (here.parents[4] / "docs" / "lake.md").read_text()
    answers, missing, verdicts, accounts, filters = 0, 0, 0, 0, 0
    for case in sorted(path for path in folder.iterdir() if path.is_dir()):
        streams = sorted(str(path) for path in (case / "streams").iterdir())
        run(telemetry, "sql", "-o", str(case / "events.db"), *streams, codes=(0, 1))
        wanted = with_sql(case / "events.db", case)
        tables, queries = of_case(case.name)
        assert all(wanted.values()), f"{case.name}: {wanted}"
        for form in ("delta", "parquet", "buckets") if case.name == "hosts" else ("delta", "parquet"):
            root = case / form
            shutil.copytree(case / "store", root)
            has_buckets = form == "buckets"
            how = ("--format", "delta", "--buckets", "2") if has_buckets else ("--format", form)
            run(lake, "init", root.as_uri(), *how)
            # Small batches make files to join, and spans that go on in the next batch.
            is_joined = form == "delta" and case.name in ("mixed", "one")
            run(lake, "commit", root.as_uri(), "--max-segments", "2" if is_joined else "1000")
            if is_joined or has_buckets:
                before = len(files_of(root, "app_RequestEnd"))
                run(lake, "compact", root.as_uri())
                assert len(files_of(root, "app_RequestEnd")) < before, f"{case.name}: files are joined"
            told = run(lake, "complete", root.as_uri(), codes=(0, 1))
            told_hosts = run(lake, "hosts", root.as_uri())
            missing += check_views(page, root, told, told_hosts)
            found = {name: engine(root, tables, queries) for name, engine in engines.items()}
            if spark is not None:
                found["spark"], verdict = with_spark(root, spark, queries, told_hosts)
                assert verdict() == told.splitlines()[-1], f"{case.name}: {verdict()}"
                # Each takes seconds, so not in all cases.
                if form == "delta" and case.name in ("hosts", "lossy"):
                    verdicts += check_verdicts(lake, root, told, verdict)
                    if case.name == "hosts":
                        assert check_job(root, wanted) == verdict()
                if form == "parquet":
                    found["segments"] = with_segments(root, spark, case / "events.db", queries)
                    if case.name in ("damaged", "lossy", "resent"):
                        accounts += check_missing(in_duckdb(root, ("session", "lane")), root, spark, told)
                    if case.name == "lossy":
                        filters += check_filters(telemetry, root, spark)
                        check_chosen(root, spark)
            for name, of_engine in found.items():
                for query, answer in of_engine.items():
                    assert answer == wanted[query], f"{case.name}, {form}, {name}, {query}: {answer} is not {wanted[query]}"
                    answers += 1
    assert missing > 0, "no case has losses"
    print(f"{answers} answers of {len(engines) + 2 * (spark is not None)} engines are those of `telemetry sql`")
    if spark is not None:
        print(f"{verdicts} verdicts of Spark on hosts and times are those of `telemetry-lake complete`")
        print(f"{accounts} accounts of segments are those of the tables; {filters} days and hosts are chosen")
        spark.stop()


if __name__ == "__main__":
    main()
