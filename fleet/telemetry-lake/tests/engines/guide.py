"""The guide of docs/fleet.md, from an empty machine to an answer of Spark.

Usage: guide.py PAGE [PROGRAMS]

Runs all commands word for word. That takes half an hour, most of it to build. With PROGRAMS, a
directory that has `telemetry-fleet` and `telemetry-lake`, it leaves out the two commands that install
programs and packages. The packages are then those of the Python that runs this.
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

#: The ports of the guide. Another process may have them.
PORTS = (15000, 17400)

#: How commands begin that install something.
INSTALLING = ("for program in fleet lake; do cargo install ", "python3 -m venv ")

#: The most commands of the guide. Seconds for all of them, and for those that install nothing.
MOST, LONGEST, LONGEST_INSTALLED = 15, 5400, 500


def with_free_ports(commands):
    """Returns the commands, with other ports if those of the guide are in use."""
    sockets = {}
    for port in PORTS:
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            sockets[port] = socket.create_server(("127.0.0.1", 0))
    for port, free in sockets.items():
        commands, count = re.subn(rf"\b{port}\b", str(free.getsockname()[1]), commands)
        assert count >= 2, f"{port} is in {count} places of the guide"
        free.close()
        print(f"SKIPPED: the port {port} of the guide is in use; another one was taken")
    return commands


def prepare(demo, programs):
    """Makes the directory of the guide as its commands would. Returns the directories of programs."""
    shutil.rmtree(demo, ignore_errors=True)
    if programs is None:
        return [demo.parent / "guide" / "bin"]
    demo.mkdir(parents=True)
    (demo / "venv").symlink_to(sys.prefix)
    return [programs]


def main():
    page, *programs = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    programs = programs[0] if programs else None
    for tool in ("java", "openssl", "bash"):
        if shutil.which(tool) is None:
            print(f"SKIPPED: no {tool}; the guide of {page.name} is not run")
            return
    section = page.read_text().split("\n## Try it on one machine\n")[1].split("\n## ")[0]
    commands = section.split("```sh\n")[1].split("```")[0].replace("\\\n", "").splitlines()
    assert len(commands) <= MOST, f"{len(commands)} commands"
    run = [command for command in commands if programs is None or not command.startswith(INSTALLING)]
    assert len(run) == len(commands) - (0 if programs is None else len(INSTALLING)), run
    demo = page.parents[1] / "target" / "demo"
    path = [*prepare(demo, programs), os.environ["PATH"]]
    # In a session of its own, so that all of it can be ended.
    bash = subprocess.Popen(
        ["bash", "-e", "-c", "trap 'kill $(jobs -p)' EXIT\n" + with_free_ports("\n".join(run))],
        cwd=page.parents[1],
        env={**os.environ, "PATH": ":".join(map(str, path)), "CARGO_INSTALL_ROOT": str(demo.parent / "guide")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    longest = LONGEST if programs is None else LONGEST_INSTALLED
    try:
        said, _ = bash.communicate(timeout=longest)
    except subprocess.TimeoutExpired:
        os.killpg(bash.pid, signal.SIGKILL)
        said, _ = bash.communicate()
        raise SystemExit(f"the guide takes more than {longest} s; so far it said:\n{said}") from None
    assert bash.returncode == 0, said
    answer, verdict, _ = said.partition("complete: all sessions have ended\n")
    assert verdict, said
    # Spark's bar of progress may share a line with a row.
    counts = [json.loads(row) for row in re.findall(r'\{"host":.*?\}', answer)[-3:]]
    assert [row["host"] for row in counts] == ["h1", "h2", "h3"], said
    assert all(row["spans"] > 0 for row in counts), counts
    if programs is not None:
        (demo / "venv").unlink()
    shutil.rmtree(demo)
    print(f"{len(run)} of {len(commands)} commands of the guide are run")


if __name__ == "__main__":
    main()
