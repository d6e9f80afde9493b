"""Prints all that the Python readers tell of a shop's stream, by a generated module and by the
package. Arguments: the folder of the package, where it is not installed; `show` or `hide`; the
stream."""

import pickle
import sys

sys.path.append(sys.argv[1])
shows, path = sys.argv[2] == "show", sys.argv[3]

import shop_events
import telemetry_events

try:
    import numpy
except ImportError:
    numpy = None

PLACE = 0x7F5E_C2E7_DEAD_B000
ACCOUNT = 3_141_592_653

for order in ("time", "stream"):
    for event in shop_events.read(path, order=order, show_sensitive=shows):
        assert pickle.loads(pickle.dumps(telemetry_events.HiddenValue("<personal>"))) == "<personal>"
        print(event)
stream = telemetry_events.open(path, show_sensitive=shows)
for order in ("time", "stream"):
    for event in stream.events(order=order):
        print(event, {name: type(getattr(event, name)).__name__ for name in type(event).__slots__})
        session = event.lane.session
        print(session.name_of_pointer(PLACE, event.ticks), session.string_of("shop", "account", ACCOUNT))
if numpy is not None:
    numpy.set_printoptions(threshold=sys.maxsize)
    print(shop_events.columns(path, show_sensitive=shows))
    for name in ("VisitStart", "VisitEnd", "Paid", "Registered", "Reserved", "Intern"):
        print(name, stream.columns(name))
else:
    print("no NumPy")
try:
    tables = stream.read_tables()
except NotImplementedError:
    print("no tables")
else:
    import pyarrow

    for name, table in tables.items():
        print(name, pyarrow.table(table).to_pylist())
        print(name, pyarrow.table(stream.table(name)).to_pylist())
    try:
        print(len(list(stream.events(where="pin > 5"))), "events with a sensitive number")
    except ValueError as error:
        print(error)
