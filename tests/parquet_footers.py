"""Files of Parquet whose footers state other numbers: the footer is Thrift in its compact protocol."""

import struct
from collections.abc import Callable

Path = tuple[int, ...]
ROWS_OF_FILE: Path = (3,)
# The kinds of Thrift's compact protocol.
BOOLS, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, STRUCTURE = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12


def rows_of_group(group: int) -> Path:
    """Where the number of rows of a group stands."""
    return (4, group, 3)


def values_of_column(group: int, column: int) -> Path:
    """Where the number of values of a group's column stands."""
    return (4, group, 1, column, 3, 5)


def with_footer(content: bytes, change: Callable[[Path, int], int]) -> bytes:
    """A file with the integers of its footer changed, by numbers of the fields they stand in."""
    size = struct.unpack("<I", content[-8:-4])[0]
    footer = _Footer(content[-8 - size : -8], change)
    footer.structure(())
    return content[: -8 - size] + footer.out + struct.pack("<I", len(footer.out)) + b"PAR1"


class _Footer:
    def __init__(self, content: bytes, change: Callable[[Path, int], int]) -> None:
        self.content, self.change, self.place, self.out = content, change, 0, b""

    def copied(self, size: int) -> bytes:
        part = self.content[self.place : self.place + size]
        self.place += size
        self.out += part
        return part

    def whole(self, written: bool = True) -> int:
        value = shift = 0
        while True:
            byte = self.content[self.place]
            self.place += 1
            self.out += bytes([byte]) if written else b""
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def structure(self, path: Path) -> None:
        number = 0
        while head := self.copied(1)[0]:
            skipped = head >> 4
            number = number + skipped if skipped else _signed(self.whole())
            self.value(head & 15, (*path, number))

    def value(self, kind: int, path: Path) -> None:
        if kind in INTEGERS:
            self.out += _varint(self.change(path, _signed(self.whole(written=False))))
        elif kind in LISTS:
            head = self.copied(1)[0]
            for entry in range(self.whole() if head >> 4 == 15 else head >> 4):
                if head & 15 in BOOLS:
                    self.copied(1)
                else:
                    self.value(head & 15, (*path, entry))
        elif kind == STRUCTURE:
            self.structure(path)
        elif kind not in BOOLS:
            self.copied({BYTE: 1, DOUBLE: 8}[kind] if kind != BINARY else self.whole())


def _signed(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


def _varint(value: int) -> bytes:
    value, out = (value << 1) ^ (value >> 63), b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])
