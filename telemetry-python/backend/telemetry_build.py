"""Builds the wheel with maturin, from a copy of the pure reader's files.

Maturin takes Python files of its own folder only. They are copied before each build, so there is
one source, and no links, which some systems check out as files.
"""

import pathlib
import shutil

import maturin
from maturin import *  # noqa: F403  (the other functions of a build backend)

HERE = pathlib.Path(__file__).resolve().parents[1]
PURE = HERE.parent / "codegen-python" / "python" / "telemetry_events"
COPY = HERE / "python" / "telemetry_events"


def copy_pure_files():
    """Copies the files of the pure reader."""
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(PURE, COPY, ignore=shutil.ignore_patterns("__pycache__"))


def prepare_metadata_for_build_wheel(*args, **kwargs):
    """Copies the files, and returns the metadata."""
    copy_pure_files()
    return maturin.prepare_metadata_for_build_wheel(*args, **kwargs)


def build_wheel(*args, **kwargs):
    """Copies the files, and builds the wheel."""
    copy_pure_files()
    return maturin.build_wheel(*args, **kwargs)


def build_editable(*args, **kwargs):
    """Copies the files, and builds a wheel that refers to the copies."""
    copy_pure_files()
    return maturin.build_editable(*args, **kwargs)
