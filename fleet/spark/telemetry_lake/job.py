"""A job: runs a query on a lake and prints its rows and the verdict.

    spark-submit --py-files telemetry_lake.zip job.py s3a://telemetry/prod "SELECT count(*) FROM app_LookupEnd"
"""

import json
import sys

from pyspark.sql import SparkSession

from telemetry_lake import Lake


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: job.py URL QUERY")
    _, url, query = sys.argv
    spark = SparkSession.builder.appName("telemetry").getOrCreate()
    lake = Lake(spark, url)
    lake.register()
    for row in spark.sql(query).collect():
        print(json.dumps(row.asDict(recursive=True), default=str))
    print(lake.verdict())
    spark.stop()


if __name__ == "__main__":
    main()
