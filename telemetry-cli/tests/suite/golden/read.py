"""Reads streams with Python modules of versions of one registry: `read.py MODULE... -- STREAM...`."""

import importlib.util
import sys


def load(path):
    spec = importlib.util.spec_from_file_location("module", path)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules["module"] = module
    spec.loader.exec_module(module)
    return module


def read(module, stream):
    reader = module.read(stream)
    try:
        count = sum(1 for _ in reader)
    except module.VersionError as error:
        return f"refused: {error}"
    forms = "".join(f"\n{form}" for form in reader.other_forms)
    return f"{count} read, {reader.others} skipped{forms}"


cut = sys.argv.index("--")
for path in sys.argv[1:cut]:
    module = load(path)
    print(f"# a module of {'.'.join(map(str, module.__version__))}")
    for stream in sys.argv[cut + 1 :]:
        print(f"{stream}: " + read(module, stream).replace("\n", "\n    "))
    print()
