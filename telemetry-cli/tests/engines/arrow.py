"""Arrow files as pyarrow and Polars read them, compared with Parquet files of the same tables."""

import pathlib
import subprocess
import sys


def bits(column):
    """Returns a column of pyarrow that can be compared: floats by their bits, words as in Parquet."""
    import pyarrow

    column = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    ty = column.type
    if pyarrow.types.is_list(ty):
        return pyarrow.ListArray.from_arrays(column.offsets, bits(column.values), mask=column.is_null())
    same = {pyarrow.float32(): "int32", pyarrow.float64(): "int64", pyarrow.uint64(): "int64"}
    if ty in same:
        return column.view(same[ty])
    if pyarrow.types.is_timestamp(ty):
        # Rounded down, also before 1970.
        ns = column.cast(pyarrow.timestamp("ns", "UTC")).view("int64").to_pylist()
        return pyarrow.array([n and n // 1000 for n in ns], "int64")
    return column


def compare(telemetry, stream, folder):
    """Returns the number of tables. Those of `parquet` are in the folder."""
    import polars
    import pyarrow
    import pyarrow.parquet

    done = subprocess.run(
        [telemetry, "convert", "--to", "arrow", "-d", str(folder / "arrow"), stream], capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr
    paths = sorted((folder / "arrow").glob("*.arrow"))
    others = {path.stem for path in (folder / "tables").glob("*.parquet")}
    assert {path.stem for path in paths} == others, f"{stream}: not the same tables"
    for path in paths:
        where = f"{stream}: {path.name}"
        arrow = pyarrow.ipc.open_file(path).read_all()
        other = folder / "tables" / f"{path.stem}.parquet"
        parquet = pyarrow.parquet.read_table(other)
        same_columns(arrow, parquet, f"{where} and Parquet")
        # Polars has its own types of texts and lists.
        in_polars = polars.read_ipc(path, use_pyarrow=False).to_arrow().cast(arrow.schema)
        same_columns(in_polars, arrow, f"{where} in Polars")
        same_metadata(arrow.schema, pyarrow.parquet.read_metadata(other), where)
        event = (arrow.schema.metadata or {}).get(b"telemetry.event")
        if event and "." not in path.stem:
            same_columns(of_pipe(telemetry, stream, event.decode()), arrow, f"{where} and the stream")
    return len(paths)


def same_columns(found, expected, where):
    assert found.schema.names == expected.schema.names, f"{where}: {found.schema.names}"
    assert found.num_rows == expected.num_rows, f"{where}: {found.num_rows} rows"
    for name in found.schema.names:
        one, other = bits(found[name]), bits(expected[name])
        assert one.equals(other), f"{where}: the column {name} is another one"


def same_metadata(schema, file, where):
    pairs = {key: value for key, value in file.metadata.items() if key.startswith(b"telemetry.")}
    found = dict(schema.metadata or {})
    for field in schema:
        for key, value in (field.metadata or {}).items():
            found[b"telemetry.column." + field.name.encode() + b"." + key.removeprefix(b"telemetry.")] = value
    assert found == pairs, f"{where}: other metadata"


def of_pipe(telemetry, stream, event):
    import pyarrow

    with subprocess.Popen(
        [telemetry, "-q", "convert", "--to", "arrow", "--event", event, stream], stdout=subprocess.PIPE
    ) as run:
        return pyarrow.ipc.open_stream(run.stdout).read_all()


if __name__ == "__main__":
    print(compare(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])))
