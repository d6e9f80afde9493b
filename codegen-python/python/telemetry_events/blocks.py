from __future__ import annotations

import functools as _functools
import struct as _struct
import typing as _t
import zlib as _zlib

from .base import _MAX
from .inputs import _Files, _MAGIC

# --- Whole blocks.

_HEADER_LEN = 144
_MAX_PAYLOAD = 16 << 20
_SESSION, _REGISTRY, _THREAD, _EVENTS, _SYNC = 1, 2, 3, 4, 5
_LAST, _END, _WITHHELD = 1, 2, 8
_MAX_LISTED = 1 << 16

_POLYNOMIAL = 0x82F6_3B78
# The first power of each is the sum of the others modulo the polynomial of CRC-32C. That is still
# so when all are doubled repeatedly. So a long number can be folded there into few terms.
_FOLDS = (5685, 1362, 426, 0), (500, 215, 201, 86, 75, 0)


def _crc_table() -> _t.Iterator[int]:
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        yield byte


_CRC_TABLE = tuple(_crc_table())


def _crc32c(data: _t.Union[bytes, memoryview]) -> int:
    """Returns the CRC-32C of some bytes.

    The bytes are a polynomial over GF(2), and so is the integer of these bytes: its lowest bit is
    the highest power. Shifts of that integer halve a long one repeatedly, because the power at the
    fold is the sum of some smaller ones. This takes a tenth of the time of a table.
    """
    crc = 0xFFFF_FFFF
    length = len(data) * 8
    if length > 1000:
        value = int.from_bytes(data, "little") ^ crc
        crc = 0
        for powers in _FOLDS:
            scale = (1 << ((length - 1) // powers[0]).bit_length()) >> 1
            while scale:
                fold, second, *others = [power * scale for power in powers]
                while length > fold:
                    rest = value >> length - fold
                    high = value ^ rest << length - fold
                    drop = length - max(fold, length - fold + second)
                    value = rest << length - fold - drop ^ high << fold - second - drop
                    for power in others:
                        value ^= high << fold - power - drop
                    length -= drop
                scale >>= 1
        # Zeros before the first bit change nothing.
        data = (value << -length % 8).to_bytes(-(-length // 8), "little")
    table = _CRC_TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFF_FFFF


class _FastCrc:
    """Returns `_crc32c` of long data with NumPy, in a tenth of the time or less.

    It folds in the same way, but by words, and at last by bytes, many at once. A table then has
    what each remaining byte adds.
    """

    def __init__(self, np: _t.Any) -> None:
        self.np = np
        most = _FOLDS[-1][0]
        of_byte = np.array(_CRC_TABLE, "u4")
        rows = [of_byte]
        while len(rows) < most:
            rows.append(rows[-1] >> np.uint32(8) ^ of_byte.take(rows[-1] & np.uint32(0xFF)))
        self.table = np.concatenate(rows[::-1])
        self.row = np.arange(most) * 256

    def of_all(self, datas: _t.Sequence[_t.Union[bytes, memoryview]]) -> list[int]:
        """Returns the checksums of several, those of about the same length at once."""
        found = [0] * len(datas)
        alike: dict[int, list[int]] = {}
        for index, data in enumerate(datas):
            alike.setdefault(len(data).bit_length(), []).append(index)
        for bits, indices in alike.items():
            # Few short ones are not worth the effort; those of less than 4 bytes are unlike others.
            if bits < 3 or sum(len(datas[index]) for index in indices) < 4096:
                for index in indices:
                    found[index] = _crc32c(datas[index])
                continue
            for index, crc in zip(indices, self.of_alike([datas[index] for index in indices])):
                found[index] = crc
        return found

    def of_short(self, rows: _t.Any) -> _t.Any:
        """Returns the checksums of the rows of an array, of at most 500 bytes each."""
        np = self.np
        # Bytes in which no row differs from the first add nothing to its checksum.
        differs = rows ^ rows[0]
        varying = np.flatnonzero(differs.any(0))
        used = self.row[len(self.row) - rows.shape[1] + varying] + differs[:, varying]
        return np.bitwise_xor.reduce(self.table.take(used), 1) ^ np.uint32(_crc32c(rows[0].tobytes()))

    def are_right(self, datas: _t.Sequence[_t.Union[bytes, memoryview]], crcs: _t.Any) -> bool:
        """Returns whether all data have the checksums that are stated, in a third of the time.

        Data followed by its checksum has the remainder zero, and so have several of them in
        sequence. Two mistakes hide each other as rarely as one agrees with its checksum.
        """
        np = self.np
        if min(map(len, datas)) < 4:
            return bool((np.array(self.of_all(datas), "u4") == crcs).all())
        behind = memoryview((crcs ^ np.uint32(0xFFFF_FFFF)).astype("<u4").tobytes())
        pieces = [piece for index, data in enumerate(datas) for piece in (data, behind[4 * index : 4 * index + 4])]
        lengths = np.array([len(data) + 4 for data in datas])
        zeros = -int(lengths.sum()) % 8
        bytes_ = np.frombuffer(bytearray().join([bytes(zeros), *pieces]), "u1")
        begin = (zeros + np.cumsum(lengths) - lengths)[:, None]
        bytes_[begin + np.arange(4)] ^= np.uint8(0xFF)
        return int(self.folded(bytes_.reshape(1, -1))[0]) == 0

    def of_alike(self, datas: _t.Sequence[_t.Union[bytes, memoryview]]) -> list[int]:
        np = self.np
        # Zeros before the first byte change nothing.
        width = max(map(len, datas)) + 7 & ~7
        zeros = memoryview(bytes(width))
        pieces = [piece for data in datas for piece in (zeros[len(data) :], data)]
        bytes_ = np.frombuffer(bytearray().join(pieces), "u1").reshape(len(datas), width)
        begin = (np.arange(1, len(datas) + 1) * width - np.array([len(data) for data in datas]))[:, None]
        bytes_.reshape(-1)[begin + np.arange(4)] ^= np.uint8(0xFF)
        return (self.folded(bytes_) ^ np.uint32(0xFFFF_FFFF)).tolist()  # type: ignore[no-any-return]

    def folded(self, bytes_: _t.Any) -> _t.Any:
        """Returns the remainders of rows, whose width is a multiple of 8. The rows are changed."""
        np = self.np
        rows, width = bytes_.shape
        start, rest = 0, bytes_
        for fold, *powers in _FOLDS:
            for unit in (8, 4, 2, 1):
                aligned = start - start % unit
                bytes_[:, aligned:start] = 0
                shape = rows, (width - aligned) // unit
                rest = np.ndarray(shape, f"<u{unit}", bytes_, aligned, (width, unit))
                while rest.shape[1] > fold:
                    count = min(rest.shape[1] - fold, fold - powers[0])
                    high, rest = rest[:, :count], rest[:, count:]
                    for power in powers:
                        into = rest[:, fold - power - count : fold - power]
                        np.bitwise_xor(into, high, out=into)
                start = width - rest.shape[1] * unit
        used = self.row[len(self.row) - rest.shape[1] :] + rest
        return np.bitwise_xor.reduce(self.table.take(used), 1)


@_functools.lru_cache(maxsize=1)
def _fast_crc(np: _t.Any) -> _FastCrc:
    return _FastCrc(np)


class _Loss(_t.NamedTuple):
    pool: int = 0
    reentrant: int = 0
    sink: int = 0
    truncated: int = 0

    def events(self) -> int:
        return self.pool + self.reentrant + self.sink & _MAX


class _Header(_t.NamedTuple):
    block_type: int
    header_len: int
    kind: int
    flags: int
    codec: int
    payload_len: int
    events: int
    session: int
    registry: int
    thread: int
    seq: int
    offset: int
    unpacked_len: int
    base_ticks: int
    base_wall: int
    end_ticks: int
    before: int
    lost: _Loss
    excluded: int
    payload_crc: int

    def block_len(self) -> int:
        return self.header_len + self.payload_len

    def end(self) -> int:
        """Returns the number of the lane's event after the part."""
        return min(self.before + self.events, _MAX)

    def is_withheld(self) -> bool:
        """Returns whether the events are not in the payload, because they stay on their host."""
        # The checksum of no bytes is 0.
        return self.flags & _WITHHELD != 0 and self.payload_len == 0 and self.payload_crc == 0


_HEADER = _struct.Struct("<9xBHBBBxIIQQIIIIQQQQQQQQQ8xII")


def _header_of(fields: tuple[int, ...]) -> _Header:
    """Returns a header of what `_HEADER` unpacks."""
    return _Header._make((*fields[:17], _Loss(*fields[17:21]), *fields[21:23]))


# A header is read when the block before it ends, and again as the next one.
@_functools.lru_cache(maxsize=2)
def _header(data: bytes) -> _t.Union[_Header, str]:
    """Returns the header at the start of some bytes, or what is wrong with it."""
    if len(data) < _HEADER_LEN:
        if data.startswith(_MAGIC[: len(data)]):
            return "the block header is cut short, expected 144 bytes"
        return "no block begins here, expected the magic bytes 89 54 45 4c 0d 0a 1a 0a"
    if not data.startswith(_MAGIC):
        return "no block begins here, expected the magic bytes 89 54 45 4c 0d 0a 1a 0a"
    if data[8] != 1:
        return f"format version {data[8]}, expected 1; a newer telemetry may read it"
    fields = _HEADER.unpack_from(data)
    found, expected = fields[-1], _crc32c(data[:140])
    if found != expected:
        return f"header checksum {found:08x}, expected {expected:08x}"
    header = _header_of(fields)
    if header.header_len < _HEADER_LEN:
        return f"a block header of {header.header_len:,} bytes, expected 144 or more"
    if header.payload_len > _MAX_PAYLOAD:
        return f"a payload of {header.payload_len:,} bytes, expected at most {_MAX_PAYLOAD:,}"
    if header.block_type == _EVENTS and header.before + header.events >= 1 << 64:
        return f"{header.events:,} events behind {header.before:,}, expected fewer than 2^64 in all"
    return header


def _wrong_payload(header: _Header, payload: bytes, crc: _t.Optional[int] = None) -> _t.Optional[str]:
    found = _crc32c(payload) if crc is None else crc
    if found == header.payload_crc:
        return None
    return f"payload checksum {found:08x}, expected {header.payload_crc:08x}"


# One byte of deflate becomes at most this number of bytes.
_MOST_TIMES = 1032


def _unpacked(header: _Header, payload: bytes) -> _t.Union[tuple[_Header, bytes], str]:
    """Returns a payload without compression, with its header; or what is wrong with it."""
    if header.codec == 0:
        return header, payload
    if header.codec != 1:
        return f"compressed with codec {header.codec}, which is unknown"
    length = header.unpacked_len
    state = _zlib.decompressobj(-15)
    unpacked = b""
    if length <= min(len(payload) * _MOST_TIMES, _MAX_PAYLOAD):
        try:
            # One byte more than expected, which shows that there are too many.
            unpacked = state.decompress(payload, length + 1)
        except _zlib.error:
            pass
    if not state.eof or state.unused_data or len(unpacked) != length:
        return f"its payload does not decompress to the {length:,} bytes that its header states"
    return header._replace(codec=0, payload_len=length), unpacked


class _Damage(_t.NamedTuple):
    start: int
    end: int
    cause: str


class _Blocks:
    """Iterates over whole blocks, and over the damage between them."""

    def __init__(self, files: _Files) -> None:
        self.files = files
        self.at = 0
        self.failed = 0

    def next(
        self, events: bool
    ) -> _t.Union[None, tuple[int, _Header, bytes], tuple[_Damage, _t.Optional[_Header]]]:
        """Returns the next block or damage. Payloads of events are read if they are wanted."""
        at = self.at
        head = self.files.peek(at, _HEADER_LEN)
        if not head:
            return None
        header = _header(head)
        found: _t.Optional[_Header] = None
        resume = at + 1
        if isinstance(header, str):
            cause = header
        else:
            length = header.block_len()
            if not events and header.block_type == _EVENTS and at + length <= self.files.length:
                self.at = at + length
                return at, header, b""
            found = header
            block = self.files.read(at, length)
            if len(block) < length:
                cause = f"the input ends after {len(block):,} bytes of a block of {length:,}"
            else:
                payload = block[header.header_len :]
                wrong = _wrong_payload(header, payload)
                if wrong is None:
                    self.at = at + length
                    return at, header, payload
                cause = wrong
                # A damaged payload may have headers in it, each with a payload of its own. From some
                # point on they are skipped, so that work stays in proportion to the input.
                self.failed += length
                if self.failed > at * 8 + 8 * _MAX_PAYLOAD:
                    resume = at + length
        self.at = self.find(resume)
        return _Damage(at, self.at, cause), found

    def find(self, at: int) -> int:
        """Returns the position of the next valid header, or the end."""
        while True:
            chunk = self.files.read(at, 1 << 16)
            last = len(chunk) - _HEADER_LEN
            if last < 0:
                return max(at, self.files.length) if chunk else max(self.at, min(at, self.files.length))
            index = chunk.find(_MAGIC, 0, last + len(_MAGIC))
            if index < 0:
                at += last + 1
            elif isinstance(_header(chunk[index : index + _HEADER_LEN]), str):
                at += index + 1
            else:
                return at + index
