#!/usr/bin/env python3
"""Time and memory of the commands that read streams: benches/commands.py STREAM

Each command runs with one thread and with two, in turn, and the best time of some rounds counts. The
table has the wall time and the processor time of both, the ratio of the wall times, and the largest
memory of a process. Ratios of wall times mean something on two idle cores only.

With --long, each command also reads that stream once, with two threads: the memory should be that of
the short stream. Output goes to /dev/null, except for databases and folders of CTF.
The streams are those of the example gcbench; --iterations 10 makes a long one.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The name, the arguments before `--threads`, and how many times as fast two threads should be. FOLDER
# is a folder whose files are links to /dev/null, OUT a new file or folder, QUERY the other program.
COMMANDS = [
    ("stats", "telemetry stats --json", 1.6),
    ("csv -d", "telemetry csv -d FOLDER", 1.6),
    ("parquet", "telemetry parquet -d FOLDER", 1.6),
    ("print", "telemetry print", 1.4),
    ("print --json", "telemetry print --json", None),
    ("spans", "telemetry spans", 1.4),
    ("validate", "telemetry validate", None),
    ("cnv", "telemetry cnv", None),
    ("txt", "telemetry txt", None),
    ("csv", "telemetry csv", None),
    ("flame", "telemetry flame", None),
    ("convert --to chrome", "telemetry convert --to chrome", None),
    ("convert --to perfetto", "telemetry convert --to perfetto", None),
    ("convert --to ctf", "telemetry convert --to ctf -d OUT", None),
    ("convert --to telemetry", "telemetry convert --to telemetry", None),
    ("convert --to arrow", "telemetry convert --to arrow -d FOLDER", None),
    ("sql", "telemetry sql -o OUT", None),
    ("query", "QUERY", None),
    ("Python: objects", "PYTHON sum(1 for _ in stream.events())", None),
    ("Python: tables", "PYTHON sum(1 for _ in stream.batches())", None),
    ("Python: verdict", "PYTHON stream.completeness", None),
]

# What query and Python run. gcbench has this event.
SELECT = "SELECT thread, count(*), sum(size) FROM ObjectAlloc GROUP BY thread"
READ = """import telemetry_events
with telemetry_events.open({stream!r}, incomplete="ignore", threads={threads}) as stream:
    {code}"""

# The most memory that any command should take, in MB.
MOST_MEMORY = 256


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stream")
    parser.add_argument("names", nargs="*", help="only these commands, by the names of the table")
    parser.add_argument("--long", help="a stream of the same events that is longer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--telemetry", default=f"{ROOT}/target/release/telemetry", help="the command")
    parser.add_argument("--query", help="the program `telemetry-query`; without it, that row is left out")
    parser.add_argument("--python", help="an interpreter that has the compiled package; likewise")
    args = parser.parse_args()
    known = [name for name, _, _ in COMMANDS]
    if wrong := set(args.names) - set(known):
        parser.error(f"no command {', '.join(sorted(wrong))}; expected {', '.join(known)}")
    print(f"{'':24}{'wall, s':>15}{'CPU, s':>15}{'ratio':>7}{'goal':>6}{'MB':>6}{'long':>6}")
    missed = 0
    for name, line, goal in COMMANDS:
        if (not args.names or name in args.names) and (not needs(line) or getattr(args, needs(line))):
            missed += row(args, name, line, goal)
    sys.exit(1 if missed else 0)


def needs(line):
    """Returns the option without which a command cannot run."""
    return {"QUERY": "query", "PYTHON": "python"}.get(line.split()[0])


def row(args, name, line, goal):
    """Measures a command, and prints its row. Returns true if it misses a goal."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(args.stream))) as folder:
        if "FOLDER" in line:
            # A first run tells the names of the files.
            link_files(folder, command(args, line, args.stream, 2, folder))
        best = {}
        for _ in range(args.rounds):
            for threads in (1, 2):
                costs = measure(command(args, line, args.stream, threads, folder))
                best[threads] = [min(pair) for pair in zip(costs[:2], best.get(threads, costs))] + [
                    max(costs[2], best.get(threads, costs)[2])
                ]
        long = measure(command(args, line, args.long, 2, folder))[2] if args.long else None
    (wall, cpu, memory), (wall2, cpu2, memory2) = best[1], best[2]
    ratio, memory = wall / wall2, max(memory, memory2)
    too_slow = goal is not None and ratio < goal
    too_large = max(memory, long or 0) > MOST_MEMORY
    print(
        f"{name:24}{wall:8.2f}{wall2:7.2f}{cpu:8.2f}{cpu2:7.2f}{ratio:7.2f}{goal or '':>6}{memory:6.0f}"
        f"{'' if long is None else format(long, '.0f'):>6}{'  MISSED' if too_slow or too_large else ''}",
        flush=True,
    )
    return too_slow or too_large


def command(args, line, stream, threads, folder):
    """Returns the words of a command."""
    first, _, rest = line.partition(" ")
    if first == "PYTHON":
        return [args.python, "-c", READ.format(stream=stream, threads=threads, code=rest)]
    if first == "QUERY":
        return [args.query, SELECT, stream, "--threads", str(threads)]
    out = os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    if os.path.exists(out):
        os.remove(out)
    words = [{"FOLDER": folder, "OUT": out}.get(word, word) for word in rest.split()]
    return [args.telemetry, *words, "--threads", str(threads), stream]


def link_files(folder, words):
    """Runs a command that writes files, and makes each a link to /dev/null."""
    measure(words)
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
        os.symlink("/dev/null", os.path.join(folder, name))


def measure(words):
    """Runs a command. Returns wall time and processor time in seconds, and memory in MB."""
    begin = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    # A verdict of 1 is that of a stream that is not whole.
    if process.returncode not in (0, 1):
        sys.exit(f"{' '.join(words)}: {said.decode(errors='replace')}")
    # Linux counts in KiB, and never less than this interpreter had, some 10 MB.
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000 * 1.024


if __name__ == "__main__":
    main()
