"""The file source: records of files that are there, and of those that appear.

source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data/in").build()
env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from riverrun.api.bad_records import BadRecords
from riverrun.api.source import Boundedness, Source, SourceReader, SourceReaderContext
from riverrun.api.split_enumerator import SplitEnumerator, SplitEnumeratorContext
from riverrun.connectors.base.split_reader import OpenSplit, SplitsReader
from riverrun.connectors.files.paths import FileStore, location_of
from riverrun.connectors.files.source_enumerator import FileEnumerator, FilesKnown, FilesPlan
from riverrun.connectors.files.source_formats import BulkFormat, FileFormat, Opening, settings_of
from riverrun.connectors.files.source_lines import StreamFormat
from riverrun.connectors.files.source_splits import FileSplit
from riverrun.core.errors import ConfigError
from riverrun.core.time import DurationLike, to_millis
from riverrun.serde.type_info import TypeInformation

__all__ = ["FileEnumeratorProvider", "FileSource", "FileSourceBuilder", "FileSplitAssignerProvider"]


class FileEnumeratorProvider:
    """Whether large files are read in ranges, by several readers."""

    def __init__(self, *, splits_files: bool) -> None:
        self.splits_files = splits_files

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """In ranges, where the format can; the default."""
        return FileEnumeratorProvider(splits_files=True)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Each file by one reader, whatever its size."""
        return FileEnumeratorProvider(splits_files=False)


class FileSplitAssignerProvider:
    """Which reader gets which range: whoever asks gets the next one, in the order of paths."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """PyFlink's name; workers are equally far from every file here."""
        return FileSplitAssignerProvider()


class FileSource(Source[Any]):
    """Records of files; made with ``for_record_stream_format`` or ``for_bulk_file_format``."""

    discovers_splits = True

    def __init__(self, plan: FilesPlan, bad_records: BadRecords = BadRecords.FAIL) -> None:
        self._plan = plan
        self._bad_records = bad_records

    def __repr__(self) -> str:
        return f"FileSource({', '.join(self._plan.paths)})"

    @staticmethod
    def for_record_stream_format(
        stream_format: StreamFormat, *paths: str | os.PathLike[str]
    ) -> FileSourceBuilder:
        """Files that are read record by record: text, CSV, JSON lines.

        Args:
            stream_format: what reads them.
            paths: files, folders (with all below them, but for names that begin with a dot or an
                underscore) or patterns such as ``/data/2024-*/**/*.csv``.
        """
        return FileSourceBuilder(_expect(StreamFormat, stream_format), paths)

    @staticmethod
    def for_bulk_file_format(
        bulk_format: BulkFormat, *paths: str | os.PathLike[str]
    ) -> FileSourceBuilder:
        """Files that are read in large parts: Parquet, ORC, Avro; ``paths`` as for the other formats."""
        return FileSourceBuilder(_expect(BulkFormat, bulk_format), paths)

    def create_enumerator(self, context: SplitEnumeratorContext) -> SplitEnumerator[Any]:
        return FileEnumerator(context, self._plan.within(context.config))

    def restore_enumerator(
        self, context: SplitEnumeratorContext, state: FilesKnown
    ) -> SplitEnumerator[Any]:
        return FileEnumerator(context, self._plan.within(context.config), state)

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        store = self._plan.store.within(context.config)
        opening = Opening(store, self._bad_records, context.runtime_context())
        return FileReader(splits, context, self._plan.format, opening)

    def get_boundedness(self) -> Boundedness:
        if self._plan.interval_ms is None:
            return Boundedness.BOUNDED
        return Boundedness.CONTINUOUS_UNBOUNDED

    def get_produced_type(self) -> TypeInformation | None:
        return self._plan.format.get_produced_type()


class ColumnFileSource(FileSource):
    """A file source whose format gives columns."""

    gives_columns = True


class FileReader(SplitsReader[Any]):
    """Reads one range after the other."""

    def __init__(
        self,
        splits: Sequence[FileSplit],
        context: SourceReaderContext,
        reads: FileFormat,
        opening: Opening,
    ) -> None:
        super().__init__(splits, context)
        self._format = reads
        self._opening = opening

    def open_split(self, split: FileSplit) -> OpenSplit[Any]:
        return self._format.open_split(split, self._opening)

    def name_of(self, split: FileSplit) -> str:
        return split.name


class FileSourceBuilder:
    """What PyFlink's builder takes, and a few settings more; every method gives the builder."""

    def __init__(self, reads: FileFormat, paths: Sequence[str | os.PathLike[str]]) -> None:
        if not paths:
            raise ConfigError("file source: there are no paths; expected one at least")
        self._plan = FilesPlan(tuple(map(location_of, paths)), FileStore(), reads)
        self._bad_records = BadRecords.FAIL

    def monitor_continuously(self, discovery_interval: DurationLike) -> FileSourceBuilder:
        """Look for new files again and again: the source never ends."""
        millis = float(to_millis(discovery_interval))
        if millis <= 0:
            raise ConfigError(
                f"file source: the discovery interval is {discovery_interval!r}; expected more than 0"
            )
        return self._with(interval_ms=millis)

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that are there when the job starts, and end; the default."""
        return self._with(interval_ms=None)

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Whether large files are read in ranges."""
        given = _expect(FileEnumeratorProvider, file_enumerator)
        return self._with(splits_files=given.splits_files)

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Which reader gets which range; there is one way to do it."""
        _expect(FileSplitAssignerProvider, split_assigner)
        return self

    def set_split_size(self, size_bytes: int) -> FileSourceBuilder:
        """How large a range of a file may be; 64 MiB at most unless set, less for few files."""
        if isinstance(size_bytes, bool) or not isinstance(size_bytes, int) or size_bytes < 1:
            raise ConfigError(
                f"file source: the split size is {size_bytes!r}; expected a number of bytes"
            )
        return self._with(split_bytes=size_bytes)

    def set_bad_records(self, bad_records: BadRecords) -> FileSourceBuilder:
        """What becomes of lines that cannot be read; the job fails unless set."""
        self._bad_records = BadRecords(bad_records)
        return self

    def set_storage_options(self, options: Mapping[str, Any]) -> FileSourceBuilder:
        """How to reach an object store, where the job's configuration does not say it.

        The keys are those of the configuration: ``s3.endpoint``, ``s3.access-key`` ...
        """
        return self._with(store=FileStore(settings_of(options)))

    def build(self) -> FileSource:
        """The source."""
        kind = ColumnFileSource if self._plan.format.gives_columns else FileSource
        return kind(self._plan, self._bad_records)

    def _with(self, **changes: Any) -> FileSourceBuilder:
        self._plan = replace(self._plan, **changes)
        return self


def _expect(kind: type, given: Any) -> Any:
    if not isinstance(given, kind):
        raise TypeError(f"file source: got {given!r}; expected a {kind.__name__}")
    return given
