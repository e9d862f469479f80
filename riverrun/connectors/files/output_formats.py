"""How records become the bytes of a part: one by one, or by a writer of whole files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from riverrun.api.serialization import BulkWriterFactory, Encoder, SerializationSchema
from riverrun.connectors.files.output_compression import Compressor, compressor_for
from riverrun.connectors.files.output_parts import PartFile
from riverrun.connectors.files.sink_state import Pending
from riverrun.serde.columns import plain_rows

__all__ = ["BulkFormat", "BulkWriter", "Part", "PartFormat", "RowFormat"]


class BulkWriter(ABC):
    """Writes records into one file; made by a BulkWriterFactory."""

    buffered: int = 0
    """About how many bytes wait in memory to be written."""

    @abstractmethod
    def add_element(self, element: Any) -> None:
        """Write one record."""

    def add_run(self, values: Sequence[Any]) -> None:
        """Write a run of records, which may be a ColumnRun."""
        for value in values:
            self.add_element(value)

    @abstractmethod
    def finish(self) -> None:
        """Write all that is left; the file is closed by the sink."""

    def abandon(self) -> None:  # noqa: B027  (an optional hook)
        """Write no more: nobody wants the file. Called instead of ``finish``."""


class Part(ABC):
    """A part that takes records."""

    def __init__(self, file: PartFile) -> None:
        self.file = file

    @abstractmethod
    def size(self) -> int:
        """How large the part is by now."""

    @abstractmethod
    def fitting(self, pieces: Any, limit: int | None) -> int:
        """How many of ``pieces`` it takes until it is larger than ``limit``; one at least."""

    @abstractmethod
    def add(self, pieces: Any) -> None:
        """Write what ``PartFormat.pieces`` gave."""

    @abstractmethod
    def persist(self) -> int:
        """Make the part a whole file up to here, on disk; its length."""

    @abstractmethod
    def finish(self) -> Pending:
        """No more records follow."""

    def abandon(self) -> None:  # noqa: B027  (an optional hook)
        """Let go of what writes to the file, which is about to be closed; never raises."""


class PartFormat(ABC):
    """How parts are written; picklable."""

    keeps_open: bool
    """Whether a part can go on after a checkpoint."""

    @abstractmethod
    def prepare(self) -> None:
        """Called once in the worker, before anything else."""

    @abstractmethod
    def pieces(self, values: Sequence[Any]) -> Any:
        """A run of records as parts take it."""

    @abstractmethod
    def begin(self, file: PartFile) -> Part:
        """A part that writes to ``file``, after what is in it."""


class RowFormat(PartFormat):
    """Bytes for each record, one after the other, compressed or not."""

    keeps_open = True

    def __init__(self, encoder: Encoder | SerializationSchema, compression: str | None) -> None:
        self._encoder = encoder
        self._compression = compression

    def prepare(self) -> None:
        if isinstance(self._encoder, SerializationSchema):
            self._encoder.open()

    def pieces(self, values: Sequence[Any]) -> list[bytes]:
        rows = plain_rows(values)  # type: ignore[arg-type]  # it is only read
        encoder = self._encoder
        if isinstance(encoder, Encoder):
            encode: Callable[[Any], bytes] = encoder.encode
            return [encode(row) for row in rows]
        # A schema may have ended its line itself, as that of CSV does.
        return [
            line if line.endswith(b"\n") else line + b"\n" for line in encoder.serialize_run(rows)
        ]

    def begin(self, file: PartFile) -> Part:
        if self._compression is None:
            return _PlainPart(file)
        return _CompressedPart(file, compressor_for(self._compression))


class _PlainPart(Part):
    def size(self) -> int:
        return self.file.tell()

    def fitting(self, pieces: Any, limit: int | None) -> int:
        if limit is None:
            return len(pieces)
        sizes = list(accumulate(map(len, pieces)))
        room = limit - self.file.tell()
        return min(len(pieces), bisect_right(sizes, room) + 1)

    def add(self, pieces: Any) -> None:
        self.file.write(b"".join(pieces))

    def persist(self) -> int:
        self.file.persist()
        return self.file.tell()

    def finish(self) -> Pending:
        return self.file.finish()


class _CompressedPart(Part):
    def __init__(self, file: PartFile, compressor: Compressor) -> None:
        super().__init__(file)
        self._compressor = compressor

    def size(self) -> int:
        return self.file.tell()

    def fitting(self, pieces: Any, limit: int | None) -> int:
        del limit
        return len(pieces)  # how small it gets shows only when it is written

    def add(self, pieces: Any) -> None:
        self._write(self._compressor.compress(b"".join(pieces)))

    def persist(self) -> int:
        self._write(self._compressor.end_frame())
        self.file.persist()
        return self.file.tell()

    def finish(self) -> Pending:
        self._write(self._compressor.end_frame())
        return self.file.finish()

    def _write(self, data: bytes) -> None:
        if data:
            self.file.write(data)


class BulkFormat(PartFormat):
    """A writer of whole files: it has an end to write, so a part ends with every checkpoint."""

    keeps_open = False

    def __init__(self, factory: BulkWriterFactory) -> None:
        self._factory = factory

    def prepare(self) -> None:
        """Nothing."""

    def pieces(self, values: Sequence[Any]) -> Any:
        return values

    def begin(self, file: PartFile) -> Part:
        return _BulkPart(file, self._factory.create(file))


class _BulkPart(Part):
    def __init__(self, file: PartFile, writer: Any) -> None:
        super().__init__(file)
        self._writer = writer
        self._add_run: Callable[[Any], None] | None = getattr(writer, "add_run", None)

    def size(self) -> int:
        return self.file.tell() + int(getattr(self._writer, "buffered", 0))

    def fitting(self, pieces: Any, limit: int | None) -> int:
        del limit
        return len(pieces)

    def add(self, pieces: Any) -> None:
        if self._add_run is not None:
            self._add_run(pieces)
            return
        add_element = self._writer.add_element
        for piece in pieces:
            add_element(piece)

    def abandon(self) -> None:
        abandon = getattr(self._writer, "abandon", None)
        if abandon is not None:
            abandon()

    def persist(self) -> int:
        raise NotImplementedError("the parts of bulk formats end at every checkpoint")

    def finish(self) -> Pending:
        self._writer.finish()
        return self.file.finish()
