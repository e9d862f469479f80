"""The lines of a range of a file, with the position of each.

A line belongs to the range that its first byte is in, so a range that begins in the middle of a line
leaves it out, and the last line is read beyond the range's end. Lines end with a byte 10; a byte 13 before
it belongs to the end.
"""

from __future__ import annotations

from typing import Final

from riverrun.connectors.files.paths import FileStore
from riverrun.connectors.files.source_splits import FileSplit
from riverrun.connectors.files.source_streams import open_stream, reads_in_place
from riverrun.storage.storage import StorageError

_END: Final = b"\n"


class LineBuffer:
    """Lines that were read and not taken yet.

    Args:
        split: the range, and where to go on in it.
        store: where the file is.
        charset: the file's; lines are in UTF-8 if a byte 10 does not end a line in it.
    """

    def __init__(self, split: FileSplit, store: FileStore, charset: str = "UTF-8") -> None:
        self._split = split
        self._in_place = reads_in_place(split.location, charset)
        first = split.start if split.offset is None else split.offset
        begins_inside = split.offset is None and split.start > 0
        # The byte before the range says whether a line begins with it.
        self._read_to = first - 1 if begins_inside else first
        self._stream = open_stream(store, split.location, self._read_to, charset, split.end)
        self._lines: list[bytes] = []
        self._taken = 0
        self._parts: list[bytes] = []
        """Of a line whose end was not read yet."""
        self.over = self._in_place and first >= split.end
        """Whether no lines follow those that are here."""
        self.offset = first
        """Where the next line begins."""
        self.number = split.lines
        """How many lines of the split were taken."""
        if begins_inside and not self.over:
            self._leave_out_first()

    def waiting(self) -> int:
        """How many lines are here; 0 when there are no more."""
        found = len(self._lines) - self._taken
        while not found and not self.over:
            self.more()
            found = len(self._lines) - self._taken
        return found

    def peek(self, limit: int) -> list[bytes]:
        """The next lines, without their ends."""
        return self._lines[self._taken : self._taken + limit]

    def take(self, count: int) -> None:
        """Go on behind ``count`` lines that are here."""
        taken = self._lines[self._taken : self._taken + count]
        self.offset += sum(map(len, taken)) + count
        self.number += count
        self._taken += count

    def offset_of(self, place: int) -> int:
        """Where the line at ``place`` of those that ``peek`` gives begins."""
        return self.offset + sum(map(len, self.peek(place))) + place

    def origin(self, place: int) -> str:
        """Where the line at ``place`` of those that ``peek`` gives is, for a message."""
        line = f"line {self.number + place + 1}, " if self._split.start == 0 else ""
        return f"file {self._split.location!r}, {line}byte {self.offset_of(place)}"

    def more(self) -> None:
        """Read on, and keep the lines that are here; at the end of the range ``over`` is true."""
        data = self._stream.read()
        begins = self._read_to
        self._read_to += len(data)
        if not data:
            self._end_of_file()
            return
        if self._in_place and self._read_to >= self._split.end:
            # The last line is the one that the last byte of the range is in.
            last = data.find(_END, max(0, self._split.end - 1 - begins))
            if last >= 0:
                data = data[: last + 1]
                self.over = True
        lines = data.split(_END)
        if len(lines) == 1:
            self._parts.append(data)
            return
        if self._parts:
            lines[0] = b"".join([*self._parts, lines[0]])
        rest = lines.pop()
        self._parts = [rest] if rest else []
        self._keep(lines)

    def close(self) -> None:
        """Release the file."""
        self._stream.close()

    def _keep(self, lines: list[bytes]) -> None:
        if self._taken:
            del self._lines[: self._taken]
            self._taken = 0
        self._lines.extend(lines)

    def _end_of_file(self) -> None:
        self.over = True
        if self._in_place and self._read_to < self._split.end:
            raise StorageError(
                f"reading {self._split.location!r}: it ends at byte {self._read_to}; expected "
                f"{self._split.end} bytes, which it had when it was found: files must not change"
            )
        if self._parts:
            self._keep([b"".join(self._parts)])
            self._parts = []

    def _leave_out_first(self) -> None:
        while not self._lines and not self.over:
            self.more()
        if not self._lines:
            return
        # The offset of the byte before the range, where reading began.
        self.offset -= 1
        self.take(1)
        self.number = 0
        if self.offset >= self._split.end:
            self.over = True
            self._lines.clear()
            self._taken = 0
