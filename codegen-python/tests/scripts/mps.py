"""The recipe of the MPS's manual, with `size` as it is: that of the whole event.

A line of input is: module, log. The answer is a line for each event that the module has, in the text
of `mpseventcnv`, and ends with a line `end`.
"""

import sys
from collections import namedtuple
from struct import calcsize, unpack

from dump import load


def events(mpsevent, f):
    namedtuples = {}
    while True:
        header_data = f.read(mpsevent.HEADER_SIZE)
        if not header_data:
            return
        header = mpsevent.HeaderDesc(*unpack(mpsevent.HEADER_FORMAT, header_data))
        event_data = f.read(header.size - mpsevent.HEADER_SIZE)
        event_desc = mpsevent.EVENT.get(header.code)
        if event_desc is None:
            continue
        assert event_desc.code == header.code and event_desc.used
        assert len(event_data) <= event_desc.maxsize
        has_string = bool(event_desc.params) and event_desc.params[-1].sort == "S"
        size = calcsize(event_desc.format)
        assert has_string or size == len(event_data) == event_desc.maxsize, event_desc
        values = unpack(event_desc.format, event_data[:size])
        if has_string:
            values += (event_data[size:].partition(b"\0")[0],)
        if event_desc.name not in namedtuples:
            names = [param.name for param in event_desc.params]
            namedtuples[event_desc.name] = namedtuple(event_desc.name, names)
        yield header, event_desc, namedtuples[event_desc.name](*values)


def shown(value):
    if isinstance(value, bytes):
        return '"' + value.decode().replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{int(value):X}"


for line in sys.stdin:
    path, log = line.rstrip("\n").split(" ", 1)
    module = load(path)
    with open(log, "rb") as f:
        for header, desc, event in events(module, f):
            print(" ".join([f"{header.clock:016X} {header.code:4X}", *map(shown, event)]))
    print("end", flush=True)
