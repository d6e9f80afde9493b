"""The statements of docs/lake.md for ClickHouse, Trino and Databricks.

Usage: statements.py PAGE TELEMETRY_LAKE STORE

Those for ClickHouse are run by chdb with a lake in S3, as moto's server has it. Those for Trino and
Databricks can only be parsed, by sqlglot: neither engine is a package of PyPI.
"""

import collections
import pathlib
import re
import shutil
import sys
import tempfile

import boto3
import chdb.session
import sqlglot
from compare import run
from moto.server import ThreadedMotoServer

#: The table and the lake of the page.
PAGE_TABLE, PAGE_LAKE = "app_LookupEnd", "https://telemetry.s3.amazonaws.com/prod/"
TABLE = "app_RequestEnd"


def statements(page):
    """The statements of each section `### ENGINE`."""
    found = collections.defaultdict(list)
    for section in page.split("\n### ")[1:]:
        engine = section.split("\n", 1)[0].lower()
        for fence in re.findall(r"```sql\n(.*?)```", section.split("\n## ")[0], re.DOTALL):
            found[engine] += [text.strip() for text in fence.split(";") if text.strip()]
    return found


def without_schema(texts):
    """The schemas that statements of Trino use, and that no statement before them makes."""
    made, missing = set(), []
    for text in texts:
        if schema := re.match(r"CREATE SCHEMA (\w+\.\w+)$", text):
            made.add(schema[1])
            continue
        used = re.match(r"CREATE TABLE (\w+)\.(\w+)\.|CALL (\w+)\.system\.\w+\('(\w+)'", text)
        assert used, text
        schema = ".".join(part for part in used.groups() if part)
        if schema not in made:
            missing.append(schema)
    return missing


def in_s3(lake, store):
    """Puts lakes of both forms into S3. Returns the server, its address, and the rows of a table."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    keys = {"aws_access_key_id": "KEY", "aws_secret_access_key": "SECRET"}
    s3 = boto3.client("s3", endpoint_url=url, region_name="us-east-1", **keys)
    s3.create_bucket(Bucket="fleet")
    rows = set()
    for form in ("delta", "parquet"):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve() / form
            shutil.copytree(store, root)
            run(lake, "init", root.as_uri(), "--format", form)
            committed = run(lake, "commit", root.as_uri())
            rows.add(sum(int(count) for count in re.findall(r"(\d+) rows", committed)))
            for file in (path for path in root.rglob("*") if path.is_file()):
                s3.put_object(Bucket="fleet", Key=f"{form}/{file.relative_to(root)}", Body=file.read_bytes())
    (committed,) = rows
    return server, url, committed


def main():
    page, lake, store = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    found = statements(page.read_text())
    server, url, committed = in_s3(lake, store)
    session = chdb.session.Session()
    session.query("CREATE DATABASE lake")
    session.query("USE lake")
    ask = lambda text: session.query(text, "TSV").bytes().decode()  # noqa: E731
    answers = []
    for text in found["clickhouse"]:
        assert f"{PAGE_LAKE}tables/{PAGE_TABLE}" in text, text
        form = "delta" if "DeltaLake" in text else "parquet"
        text = text.replace(PAGE_TABLE, f"{form}_{TABLE}", 1).replace(PAGE_TABLE, TABLE)
        ask(text.replace(PAGE_LAKE, f"{url}/fleet/{form}/"))
        keys = "count(), count(DISTINCT session, lane, n)"
        answers.append(ask(f"SELECT host, {keys} FROM {form}_{TABLE} GROUP BY host ORDER BY host"))
    counts = [line.split("\t")[1:] for line in answers[0].splitlines()]
    assert len(answers) == 2 and answers[0] == answers[1], answers
    assert len(counts) > 1 and all(rows == keys and int(rows) > 0 for rows, keys in counts), counts
    assert sum(int(rows) for rows, _ in counts) < committed, "the lake has other tables"
    session.close()
    server.stop()
    missing = without_schema(found["trino"])
    assert missing == [], missing
    parsed = 0
    for engine in ("trino", "databricks"):
        assert found[engine], engine
        for text in found[engine]:
            # It knows no procedures.
            if not text.startswith("CALL "):
                assert isinstance(sqlglot.parse_one(text, dialect=engine), sqlglot.exp.Create), text
                parsed += 1
    print(f"{len(answers)} statements are run by ClickHouse in S3; {parsed} of Trino and Databricks are parsed")


if __name__ == "__main__":
    main()
