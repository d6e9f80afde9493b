"""The files of the package."""

import pathlib

import telemetry_events

HERE = pathlib.Path(__file__).resolve().parents[1]
PURE = HERE.parent / "codegen-python" / "python" / "telemetry_events"


def test_the_installed_files_are_those_of_the_repository():
    installed = pathlib.Path(telemetry_events.__file__).parent
    paths = [path for path in PURE.iterdir() if path.suffix in (".py", ".pyi", ".typed") or path.name == "py.typed"]
    assert len(paths) > 20
    for path in paths:
        assert (installed / path.name).read_text() == path.read_text(), f"{path.name}: install it again"
