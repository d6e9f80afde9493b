# --- Descriptions of the registry, as the MPS's `mpseventpy` documents them.


class HeaderDesc(_t.NamedTuple):
    """The header of an event in a log of the MPS: its code, its size, and its time."""

    code: int
    #: Of the whole event, with the header.
    size: int
    clock: int


class KindDesc(_t.NamedTuple):
    """A kind of events."""

    name: str
    #: Its bit number.
    code: int
    doc: str


class EventParam(_t.NamedTuple):
    """A parameter of an event."""

    #: The MPS's letter (`P A W U S D B`), else the name of the type: `u16`, `[u32; 4]`, `Why`.
    sort: str
    name: str
    doc: str


class EventDesc(_t.NamedTuple):
    """An event type: its name, its parameters, and the MPS's layout of it."""

    name: str
    code: int
    #: False if it is retired.
    used: bool
    kind: KindDesc
    params: list[EventParam]
    #: Most bytes after the header, in the MPS's layout.
    maxsize: int
    #: For `struct.unpack` of the bytes after the header. Strings, byte strings and arrays without a
    #: fixed number of elements have no format: it ends before the first of them.
    format: str


#: Bytes of the header of an event of the MPS.
HEADER_SIZE = 16
#: For `struct.unpack` of that header, into a `HeaderDesc`.
HEADER_FORMAT = "<HH4xQ"


