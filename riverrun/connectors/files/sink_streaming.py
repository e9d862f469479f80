"""The file sink under its older name, for ``add_sink``."""

from __future__ import annotations

import os
from typing import Any, NoReturn

from riverrun.api.serialization import BulkWriterFactory, Encoder, SerializationSchema
from riverrun.api.source_sink_functions import SinkFunction
from riverrun.connectors.files.sink_builder import FileSink

__all__ = ["StreamingFileSink"]


class StreamingFileSink(FileSink, SinkFunction):
    """The same as ``FileSink``, as PyFlink's ``add_sink`` takes it; use ``FileSink`` in new programs."""

    def invoke(self, value: Any, context: Any) -> NoReturn:
        """Refuse: records are written in runs, by the writers of the sink."""
        raise NotImplementedError("a streaming file sink is run as a whole: use add_sink")

    @staticmethod
    def for_row_format(
        base_path: str | os.PathLike[str], encoder: Encoder | SerializationSchema
    ) -> StreamingFileSink.DefaultRowFormatBuilder:
        """Bytes for each record, one after the other."""
        return StreamingFileSink.DefaultRowFormatBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(
        base_path: str | os.PathLike[str], writer_factory: BulkWriterFactory
    ) -> StreamingFileSink.DefaultBulkFormatBuilder:
        """Files that are written as a whole."""
        return StreamingFileSink.DefaultBulkFormatBuilder(base_path, writer_factory)

    class DefaultRowFormatBuilder(FileSink.RowFormatBuilder):
        """A sink that writes record by record."""

        def build(self) -> StreamingFileSink:
            return StreamingFileSink(self._plan)

    class DefaultBulkFormatBuilder(FileSink.BulkFormatBuilder):
        """A sink that writes whole files."""

        def build(self) -> StreamingFileSink:
            super().build()
            return StreamingFileSink(self._plan)
