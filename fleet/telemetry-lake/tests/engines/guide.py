"""The guide of docs/fleet.md, from certificates to an answer of Spark, word for word but for its ports.

Usage: guide.py PAGE PROGRAMS

PROGRAMS has `telemetry-fleet` and `telemetry-lake`, which the first command of the guide installs.
The environment of Python that the guide makes is the one that runs this, which has its packages.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys

#: The ports of the guide. Another process may have them, so the commands get free ones.
PORTS = ("15000", "17400")

#: The most commands of the guide, and seconds for all of them.
MOST, LONGEST = 15, 500


def with_free_ports(commands):
    """Returns the commands with ports that are free."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in PORTS]
    for port, free in zip(PORTS, sockets):
        commands, count = re.subn(rf"\b{port}\b", str(free.getsockname()[1]), commands)
        assert count >= 2, f"{port} is in {count} places of the guide"
    for free in sockets:
        free.close()
    return commands


def main():
    page, programs = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    for tool in ("java", "openssl", "bash"):
        if shutil.which(tool) is None:
            print(f"SKIPPED: no {tool}; the guide of {page.name} is not run")
            return
    section = page.read_text().split("\n## Try it on one machine\n")[1].split("\n## ")[0]
    fence = section.split("```sh\n")[1].split("```")[0]
    commands = fence.replace("\\\n", "").splitlines()
    assert len(commands) <= MOST, f"{len(commands)} commands"
    install, _, rest = with_free_ports(fence).partition("\n")
    assert "cargo install" in install, install
    demo = page.parents[1] / "target" / "demo"
    shutil.rmtree(demo, ignore_errors=True)
    demo.mkdir(parents=True)
    (demo / "venv").symlink_to(sys.prefix)
    path = f"{programs}:{os.environ['PATH']}"
    # In a session of its own, so that all of it can be ended.
    bash = subprocess.Popen(
        ["bash", "-e", "-c", "trap 'kill $(jobs -p)' EXIT\n" + rest],
        cwd=page.parents[1],
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = bash.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        os.killpg(bash.pid, signal.SIGKILL)
        said, _ = bash.communicate()
        raise SystemExit(f"the guide takes more than {LONGEST} s; so far it said:\n{said}") from None
    assert bash.returncode == 0, said
    answer, verdict, _ = said.partition("complete: all sessions have ended\n")
    assert verdict, said
    # Spark's bar of progress may share a line with a row.
    counts = [json.loads(row) for row in re.findall(r'\{"host":.*?\}', answer)[-3:]]
    assert [row["host"] for row in counts] == ["h1", "h2", "h3"], said
    assert all(row["spans"] > 0 for row in counts), counts
    (demo / "venv").unlink()
    shutil.rmtree(demo)
    print(f"{len(commands) - 1} commands of the guide are run")


if __name__ == "__main__":
    main()
