"""Reads a telemetry lake in Spark: its tables, or the segments themselves.

    from telemetry_lake import Lake

    lake = Lake(spark, "s3a://telemetry/prod")
    lake.register()
    spark.sql("SELECT host, count(*) FROM app_LookupEnd GROUP BY host").show()
    print(lake.verdict())

docs/lake.md of the project describes the tables.
"""

from .lake import Lake
from .segments import events, missing, verdict_of

__all__ = ["Lake", "events", "missing", "verdict_of"]
