# --- What the relation says: the descriptions that the MPS's `mpseventpy` documents.


class HeaderDesc(_t.NamedTuple):
    """The header of an event in a log of the MPS: its code, its size, and when it was."""

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

    #: The MPS's letter where it has one (`P A W U S D B`), else the sort's name: `u16`, `[u32; 4]`, `Why`.
    sort: str
    name: str
    doc: str


class EventDesc(_t.NamedTuple):
    """An event: what it is called, what it says, and how the MPS lays it out."""

    name: str
    code: int
    #: False once retired.
    used: bool
    kind: KindDesc
    params: list[EventParam]
    #: Most bytes behind the header, as the MPS lays them out.
    maxsize: int
    #: For `struct.unpack` of the bytes behind the header. Strings, byte strings and arrays without a
    #: fixed number of elements have no format: it ends before the first of them.
    format: str


#: Bytes of the header of an event of the MPS.
HEADER_SIZE = 16
#: For `struct.unpack` of that header, into a `HeaderDesc`.
HEADER_FORMAT = "<HH4xQ"


