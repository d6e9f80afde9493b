"""Checks that the page faults of `touch_pages` are between the two events around it."""

import json
import sys

with open(sys.argv[1]) as lines:
    events = [json.loads(line) for line in lines]
begin, end = (
    next(event["time"] for event in events if event["event"] == name) for name in ("TouchBegin", "TouchEnd")
)
faults = [
    event["time"]
    for event in events
    if event["event"] == "Sample" and "touch_pages" in event["params"]["symbol"]
]
outside = [time for time in faults if not begin <= time <= end]
print(f"{len(faults)} page faults between {begin} and {end}, {len(outside)} of them outside")
# With huge pages, the 16 MB take 8 faults.
sys.exit(len(faults) < 8 or outside != [])
