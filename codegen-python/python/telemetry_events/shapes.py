from __future__ import annotations

import typing as _t

# --- Shapes of events: one code, and numbers of the same lengths.

class _Shape:
    """Events of one code, whose numbers have the same lengths."""

    def __init__(self, np: _t.Any, form: int, code: bytes, lengths: _t.Sequence[tuple[int, bool]]) -> None:
        self.np = np
        #: The event's number in the kind.
        self.form = form
        #: Bytes of the event.
        self.end = len(code)
        #: The number of events that had it at the last search.
        self.hits = 0
        # Words: their distance from the event's start, the bits that count, and their values.
        words = [[0, (1 << 8 * len(code)) - 1, int.from_bytes(code, "little")]]

        def word(length: int) -> int:
            """Returns the word that contains the next bytes."""
            if self.end + length > words[-1][0] + 8:
                words.append([self.end, 0, 0])
            return len(words) - 1

        #: For each number, first the time: its word, the shift to the right, and its
        #: bits if others are above.
        self.numbers: list[tuple[int, _t.Any, _t.Any]] = []
        for length, is_packed in lengths:
            if is_packed:
                # The first byte ends in a one, and a zero for each further byte.
                of_first = word(1 if length > 8 else length)
                shift = 8 * (self.end - words[of_first][0])
                words[of_first][1] |= (0xFF if length > 8 else (1 << length) - 1) << shift
                words[of_first][2] |= (0 if length > 8 else 1 << length - 1) << shift
            if is_packed and length > 8:
                self.end += 1
                length, is_packed = 8, False
            number = word(length)
            shift = 8 * (self.end - words[number][0]) + (length if is_packed else 0)
            bits = (7 if is_packed else 8) * length
            self.numbers.append((number, np.uint64(shift), np.uint64((1 << bits) - 1) if shift + bits < 64 else None))
            self.end += length
        self.words = [(offset, np.uint64(mask), np.uint64(bits)) for offset, mask, bits in words]
        #: The same by bytes, without those that may be anything.
        self.bytes = [
            (offset + byte, mask >> 8 * byte & 0xFF, bits >> 8 * byte & 0xFF)
            for offset, mask, bits in words
            for byte in range(8)
            if mask >> 8 * byte & 0xFF
        ]

    def places(self, data: _t.Any, count: int) -> _t.Any:
        """Returns, for each of the first positions, whether the bytes there match the shape."""
        np = self.np
        _, _, code = self.bytes[0]
        found = data[:count] == code
        bit = found.view("u1")
        for offset, mask, value in self.bytes[1:]:
            there = data[offset : offset + count]
            if mask == value == 1:
                bit &= there
            elif mask == 0xFF:
                found &= there == value
            else:
                found &= there & np.uint8(mask) == value
        return found

    def take(self, words: list[_t.Any], index: int, out: _t.Any) -> None:
        """Writes one number of some events, from their words."""
        word, shift, keep = self.numbers[index]
        self.np.right_shift(words[word], shift, out=out)
        if keep is not None:
            out &= keep


class _Shapes:
    """The shapes of a registry's kind in the last pieces."""

    def __init__(self) -> None:
        self.all: list[_Shape] = []
        #: The number of pieces to read without shapes, because the events have none. It grows.
        self.pause = 0
        self.next_pause = 1
