"""The files of the package."""

import pathlib

import telemetry_events

HERE = pathlib.Path(__file__).resolve().parents[1]
PURE = HERE.parent / "codegen-python" / "python" / "telemetry_events"


def test_every_file_of_the_pure_reader_has_a_link():
    links = HERE / "python" / "telemetry_events"
    wanted = {path.name for path in PURE.iterdir() if path.suffix in (".py", ".pyi", ".typed") or path.name == "py.typed"}
    assert {path.name for path in links.iterdir() if path.is_symlink()} == wanted
    assert all((links / name).resolve() == (PURE / name).resolve() for name in wanted)


def test_the_installed_files_are_those_of_the_repository():
    installed = pathlib.Path(telemetry_events.__file__).parent
    for path in PURE.glob("*.py"):
        assert (installed / path.name).read_text() == path.read_text(), f"{path.name}: install it again"
