"""When small files of a bucket are merged, and how."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from riverrun.connectors.base.extras import require
from riverrun.connectors.files.output_columns import GROUP_ROWS, abandon_columnar, open_columnar

__all__ = ["FileCompactStrategy", "FileCompactor"]

_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class FileCompactStrategy:
    """When files are merged: after so many checkpoints, or when they have so many bytes together."""

    num_checkpoints: int | None = None
    size_threshold: int | None = None
    num_threads: int = 1

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """A builder of strategies."""
        return FileCompactStrategy.Builder()

    class Builder:
        """Gathers the parts of a strategy."""

        def __init__(self) -> None:
            self._num_checkpoints: int | None = None
            self._size_threshold: int | None = None
            self._num_threads = 1

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Merge what has waited for so many checkpoints."""
            self._num_checkpoints = _positive(
                "checkpoints before compaction", num_checkpoints_before_compaction
            )
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Merge what has so many bytes together."""
            self._size_threshold = _positive("size threshold", size_threshold)
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Merge so many buckets at a time in each subtask."""
            self._num_threads = _positive("compact threads", num_compact_threads)
            return self

        def build(self) -> FileCompactStrategy:
            if self._num_checkpoints is None and self._size_threshold is None:
                raise ValueError(
                    "file compaction: nothing says when; call enable_compaction_on_checkpoint(...) or "
                    "set_size_threshold(...)"
                )
            return FileCompactStrategy(
                self._num_checkpoints, self._size_threshold, self._num_threads
            )


class FileCompactor(ABC):
    """Merges files; called in threads of its own, one call for each file that comes out."""

    @abstractmethod
    def compact(self, inputs: Iterable[Any], output: Any) -> None:
        """Write what ``inputs`` hold to ``output``, in their order.

        ``inputs`` are files open for reading bytes; each is open until the next one is asked for.
        """

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | str | None = None) -> FileCompactor:
        """Bytes of one file after the other, with ``file_delimiter`` between them: for lines of any kind.

        Compressed lines can be merged so too, without a delimiter.
        """
        return _Concat(
            file_delimiter.encode() if isinstance(file_delimiter, str) else file_delimiter or b""
        )

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Files as they are: for strategies that let each file wait and merge none."""
        return _Identical()

    @staticmethod
    def parquet_file_compactor(
        compression: str = "snappy", *, options: Mapping[str, Any] | None = None
    ) -> FileCompactor:
        """Rows of Parquet files, in groups of rows as large as those of one file that was never cut."""
        return _Parquet({"compression": compression, **(options or {})})

    @staticmethod
    def avro_file_compactor(codec: str = "deflate") -> FileCompactor:
        """Records of Avro files that have the same schema."""
        require("fastavro", extra="avro", user="FileCompactor.avro_file_compactor")
        return _Avro(codec)


class _Concat(FileCompactor):
    def __init__(self, delimiter: bytes) -> None:
        self.delimiter = delimiter

    def compact(self, inputs: Iterable[Any], output: Any) -> None:
        for number, file in enumerate(inputs):
            if number and self.delimiter:
                output.write(self.delimiter)
            while chunk := file.read(_CHUNK):
                output.write(chunk)


class _Identical(FileCompactor):
    def compact(self, inputs: Iterable[Any], output: Any) -> None:
        _Concat(b"").compact(inputs, output)


class _Parquet(FileCompactor):
    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = dict(options)

    def compact(self, inputs: Iterable[Any], output: Any) -> None:
        import pyarrow as pa  # noqa: PLC0415  (only who merges such files loads it)
        from pyarrow import parquet  # noqa: PLC0415

        writer: Any = None
        held: list[Any] = []
        try:
            for file in inputs:
                reader = parquet.ParquetFile(file)
                if writer is None:
                    writer = open_columnar("parquet", output, reader.schema_arrow, self.options)
                for batch in reader.iter_batches(batch_size=GROUP_ROWS):
                    held.append(batch)
                    if sum(each.num_rows for each in held) >= GROUP_ROWS:
                        writer.write_table(pa.Table.from_batches(held))
                        held.clear()
            if held:
                writer.write_table(pa.Table.from_batches(held))
            if writer is not None:
                writer.close()
        except BaseException:
            if writer is not None:
                abandon_columnar(writer)
            raise


class _Avro(FileCompactor):
    def __init__(self, codec: str) -> None:
        self.codec = codec

    def compact(self, inputs: Iterable[Any], output: Any) -> None:
        fastavro = require("fastavro", extra="avro", user="FileCompactor.avro_file_compactor")
        writer: Any = None
        for file in inputs:
            reader = fastavro.reader(file)
            if writer is None:
                writer = fastavro.write.Writer(output, reader.writer_schema, codec=self.codec)
            for record in reader:
                writer.write(record)
        if writer is not None:
            writer.flush()


def merges(compactor: FileCompactor) -> bool:
    """Whether several files become one."""
    return not isinstance(compactor, _Identical)


def _positive(what: str, number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ValueError(f"file compaction: {what} is {number!r}; expected 1 or more")
    return number
