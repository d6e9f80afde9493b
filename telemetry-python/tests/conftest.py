"""Streams for the tests: logs that the command converts, broken copies of them, and a recording."""

import os
import pathlib
import signal
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEEDS = ROOT / "fuzz" / "seeds"


@pytest.fixture(scope="session", autouse=True)
def interrupts():
    """Lets Ctrl-C raise: a shell starts its background jobs with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def command():
    """Returns the command `telemetry`: that of TELEMETRY_COMMAND, or one that is built."""
    named = os.environ.get("TELEMETRY_COMMAND")
    if named:
        return named
    build = ["cargo", "build", "--quiet", "-p", "telemetry-cli", "--no-default-features"]
    subprocess.run(build, cwd=ROOT, check=True)
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "telemetry"


@pytest.fixture(scope="session")
def streams(tmp_path_factory, command):
    """Returns streams by name: as programs write them, made from logs of other systems, damaged,
    cut, repeated, and empty."""
    folder = tmp_path_factory.mktemp("streams")
    # The first byte of a seed says how it is tried, except for those of GHC and the MPS.
    found = {path.name: path.read_bytes()[1:] for path in sorted((SEEDS / "stream").iterdir())}
    for system in ("ghc", "mono", "mps"):
        for seed in sorted((SEEDS / system).iterdir()):
            data = seed.read_bytes()
            log = folder / seed.name
            log.write_bytes(data[1:] if system == "mono" else data)
            out = folder / f"{system}-{seed.name}.tel"
            convert = [command, "convert", "--to", "telemetry", log, "-o", out]
            subprocess.run(convert, capture_output=True, check=False)
            if out.exists() and out.stat().st_size:
                found[out.name] = out.read_bytes()
    recorded = os.environ.get("TELEMETRY_GCBENCH")
    if recorded:
        found["gcbench"] = pathlib.Path(recorded).read_bytes()
    for name, data in list(found.items()):
        if not data:
            continue
        for part in (3, 5, 7):
            at = len(data) * part // 8
            found[f"{name}, a bit of byte {at}"] = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        found[f"{name}, cut"] = data[: len(data) * 3 // 4]
        found[f"{name}, twice"] = data + data
    assert any(name.startswith("ghc") for name in found)
    assert any(name.startswith("mono") for name in found)
    assert any(name.startswith("mps") for name in found)
    return found
