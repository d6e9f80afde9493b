"""The engines: each returns the rows of a Parquet file, and figures of its columns.

Of a column of integers: values, sum, least, greatest. Of one of floats: values, those that are NaN,
and of the others the sum of the finite ones, the least and the greatest.
"""

import json


def with_duckdb(path, integers, floats):
    import duckdb

    parts = [f'count("{c}"), sum("{c}"), min("{c}"), max("{c}")' for c in integers]
    for c in floats:
        number = f'FILTER (WHERE NOT isnan("{c}"))'
        parts.append(
            f'count("{c}"), count(*) FILTER (WHERE isnan("{c}")), '
            f'sum("{c}"::DOUBLE) FILTER (WHERE isfinite("{c}")), min("{c}") {number}, max("{c}") {number}'
        )
    row = duckdb.sql(f"SELECT {', '.join(['count(*)', *parts])} FROM '{path}'").fetchall()[0]
    return row[0], by_column(row[1:], integers, floats)


def with_polars(path, integers, floats):
    import polars

    frame = polars.read_parquet(path)
    found = {}
    for name in integers:
        column = frame[name].cast(polars.Int64)
        found[name] = (len(column) - column.null_count(), column.sum(), column.min(), column.max())
    for name in floats:
        column = frame[name].cast(polars.Float64).drop_nulls()
        numbers = column.filter(column.is_not_nan())
        total = numbers.filter(numbers.is_finite()).sum()
        found[name] = (len(column), len(column) - len(numbers), total, numbers.min(), numbers.max())
    return frame.height, found


def with_pandas(path, integers, floats):
    import pandas
    import pyarrow
    import pyarrow.compute as compute

    frame = pandas.read_parquet(path, engine="pyarrow", dtype_backend="pyarrow")
    found = {}
    for name in integers:
        column = frame[name].dropna().astype("int64")
        least, greatest = (int(column.min()), int(column.max())) if len(column) else (None, None)
        found[name] = (len(column), int(column.sum()), least, greatest)
    for name in floats:
        # Its own figures make no difference between NaN and no value.
        column = pyarrow.array(frame[name]).drop_null().cast("float64")
        numbers = pandas.Series(column.filter(compute.invert(compute.is_nan(column))).to_numpy())
        finite = numbers[numbers.abs() != float("inf")]
        ends = (numbers.min(), numbers.max()) if len(numbers) else (None, None)
        found[name] = (len(column), len(column) - len(numbers), finite.sum(), *ends)
    return len(frame), found


def with_datafusion(path, integers, floats):
    import datafusion

    context = datafusion.SessionContext()
    context.register_parquet("t", str(path))
    parts = []
    for c in integers:
        # In two halves: this engine refuses a sum that is too large.
        number = f'CAST("{c}" AS BIGINT)'
        halves = f"sum({number} >> 32), sum({number} & 4294967295)"
        parts.append(f"count({number}), {halves}, min({number}), max({number})")
    for c in floats:
        number = f'FILTER (WHERE NOT isnan("{c}"))'
        finite = f'FILTER (WHERE abs("{c}") < \'inf\'::DOUBLE)'
        parts.append(
            f'count("{c}"), count(*) FILTER (WHERE isnan("{c}")), sum("{c}"::DOUBLE) {finite}, '
            f'min("{c}") {number}, max("{c}") {number}'
        )
    rows = context.sql(f"SELECT {', '.join(['count(*)', *parts])} FROM t").collect()
    row = [column[0].as_py() for column in rows[0].columns]
    found = {}
    for index, name in enumerate([*integers, *floats]):
        figures = row[1 + index * 5 : 6 + index * 5]
        if name in integers:
            count, high, low, *ends = figures
            figures = [count, (high or 0) * (1 << 32) + (low or 0), *ends]
        found[name] = tuple(figures)
    return row[0], found


def with_chdb(path, integers, floats):
    import chdb

    def number(text):
        # Without values, this engine has zeros.
        return f"if(count({text}) = 0, NULL, min({text})), if(count({text}) = 0, NULL, max({text}))"

    parts = []
    for c in integers:
        parts.append(f"count(`{c}`), sum(toInt64(`{c}`)), {number(f'toInt64(`{c}`)')}")
    for c in floats:
        double = f"toFloat64(`{c}`)"
        numbers = f"if(isNaN({double}), NULL, {double})"
        finite = f"sumIf({double}, isFinite({double}))"
        parts.append(f"count(`{c}`), countIf(isNaN({double})), {finite}, {number(numbers)}")
    query = f"SELECT {', '.join(['count(*)', *parts])} FROM file('{path}', Parquet)"
    settings = "output_format_json_quote_64bit_integers = 1, output_format_json_quote_denormals = 1"
    row = json.loads(str(chdb.query(f"{query} FORMAT JSONCompact SETTINGS {settings}")))["data"][0]
    row = [int(cell) if isinstance(cell, str) and cell.lstrip("-").isdigit() else cell for cell in row]
    row = [float(cell) if isinstance(cell, str) else cell for cell in row]
    return row[0], by_column(row[1:], integers, floats)


ENGINES = {
    "DuckDB": with_duckdb,
    "Polars": with_polars,
    "pandas": with_pandas,
    "DataFusion": with_datafusion,
    "chdb": with_chdb,
}


def by_column(row, integers, floats):
    found, at = {}, 0
    for name in [*integers, *floats]:
        size = 4 if name in integers else 5
        found[name] = tuple(row[at : at + size])
        at += size
    return found
