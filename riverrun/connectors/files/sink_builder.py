"""The file sink: records into files that are visible when they are complete, each record exactly once.

sink = (
    FileSink.for_row_format("/data/out", Encoder.simple_string_encoder())
    .with_bucket_assigner(BucketAssigner.date_time_bucket_assigner("yyyy-MM-dd"))
    .build()
)
stream.sink_to(sink)
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

from riverrun.api.serialization import BulkWriterFactory, Encoder, SerializationSchema
from riverrun.api.sink import Committer, Sink, SinkWriter, SinkWriterContext
from riverrun.connectors.files.bucket_assigners import BucketAssigner
from riverrun.connectors.files.compaction_strategy import FileCompactor, FileCompactStrategy
from riverrun.connectors.files.output_compression import SUFFIXES, known_compression
from riverrun.connectors.files.output_config import OutputFileConfig
from riverrun.connectors.files.output_formats import BulkFormat, RowFormat
from riverrun.connectors.files.output_open import checked_base, open_output
from riverrun.connectors.files.output_parts import Lineage
from riverrun.connectors.files.paths import FileStore, is_hidden, location_of
from riverrun.connectors.files.rolling_policies import RollingPolicy, millis_of
from riverrun.connectors.files.sink_committer import FileCommitter
from riverrun.connectors.files.sink_writer import FileWriter, SinkPlan
from riverrun.core.clock import SystemClock
from riverrun.core.errors import ConfigError
from riverrun.core.time import DurationLike

__all__ = ["FileSink"]

log = logging.getLogger(__name__)


class FileSink(Sink[Any]):
    """Writes files below a base path; made with ``for_row_format`` or ``for_bulk_format``.

    Parts are hidden while they are written and appear when the checkpoint that covers their records is
    complete. Without checkpoints they appear at the end of the input.
    """

    takes_columns: ClassVar[bool] = True

    def __init__(self, plan: SinkPlan) -> None:
        self._plan = plan

    def __repr__(self) -> str:
        return f"FileSink({self._plan.base!r})"

    @staticmethod
    def for_row_format(
        base_path: str | os.PathLike[str], encoder: Encoder | SerializationSchema
    ) -> FileSink.RowFormatBuilder:
        """Bytes for each record, one after the other.

        Args:
            base_path: a folder of a file system that all workers have, or ``s3://bucket/folder``.
            encoder: from a record to bytes; a SerializationSchema makes a line for each record.
        """
        if not isinstance(encoder, Encoder | SerializationSchema):
            raise TypeError(
                f"file sink: the encoder is {encoder!r}; expected an Encoder or a SerializationSchema"
            )
        return FileSink.RowFormatBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(
        base_path: str | os.PathLike[str], writer_factory: BulkWriterFactory
    ) -> FileSink.BulkFormatBuilder:
        """Files that are written as a whole, such as Parquet: a new one after every checkpoint."""
        if not isinstance(writer_factory, BulkWriterFactory):
            raise TypeError(
                f"file sink: the writer factory is {writer_factory!r}; expected a BulkWriterFactory such as "
                f"ParquetBulkWriters.for_row_type(...)"
            )
        return FileSink.BulkFormatBuilder(base_path, writer_factory)

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        if not context.checkpointing:
            log.warning(
                "the job takes no checkpoints, so files appear when the input ends sink=%s", self
            )
        lineage, config = self._surroundings(context)
        outputs = open_output(self._plan.base, lineage, config)
        return FileWriter(
            self._plan, outputs, lineage, context.restored, FileStore(config), SystemClock()
        )

    def create_committer(self, context: SinkWriterContext) -> Committer:
        lineage, config = self._surroundings(context)
        return FileCommitter(self._plan.base, lineage, config, self._plan.success_file)

    def get_transformer(self) -> None:
        """Nothing: the sink needs no operators before it."""

    def _surroundings(self, context: SinkWriterContext) -> tuple[Lineage, dict[str, str]]:
        job = context.runtime_context().get_job_id()
        lineage = Lineage.of(job, context.operator_id, context.subtask_index, context.parallelism)
        return lineage, {**context.config, **self._plan.storage_options}

    class BaseBuilder:
        """What row and bulk formats have in common; every method returns the builder."""

        def __init__(self, plan: SinkPlan) -> None:
            self._plan = plan

        def with_bucket_check_interval(self, interval: int | DurationLike) -> Self:
            """How often, in milliseconds, parts are looked at that have been open for too long.

            They are looked at in between while records come, and at every checkpoint.
            """
            millis = millis_of(interval)
            if millis < 1:
                raise ValueError(
                    f"file sink: the bucket check interval is {interval!r}; expected 1 ms or more"
                )
            return self._with(check_interval_ms=millis)

        def with_bucket_assigner(
            self, bucket_assigner: BucketAssigner | Callable[[Any], str]
        ) -> Self:
            """Which folder below the base path a record goes to; by default by the hour of writing."""
            assigner = (
                bucket_assigner
                if isinstance(bucket_assigner, BucketAssigner)
                else BucketAssigner.of(bucket_assigner)
            )
            return self._with(assigner=assigner)

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
            """When a part ends and the next one begins."""
            if not isinstance(rolling_policy, RollingPolicy):
                raise TypeError(
                    f"file sink: the rolling policy is {rolling_policy!r}; expected a RollingPolicy"
                )
            return self._with(policy=rolling_policy)

        def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
            """How parts are named."""
            return self._with(names=output_file_config)

        def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Self:
            """Merge small files of a bucket before they are visible."""
            if not isinstance(compactor, FileCompactor):
                raise TypeError(
                    f"file sink: the compactor is {compactor!r}; expected a FileCompactor"
                )
            return self._with(compaction=(strategy, compactor))

        def disable_compact(self) -> Self:
            """Merge nothing; what waits to be merged in a checkpoint goes out as it is."""
            return self._with(compaction=None)

        def with_success_file(self, name: str = "_SUCCESS", *, in_buckets: bool = False) -> Self:
            """Write an empty file of this name into the base path when the input has ended.

            It appears after every file of every subtask, so whoever sees it sees all of the output.

            Args:
                name: the marker's name.
                in_buckets: write one into each bucket too; the writers then remember all buckets.
            """
            if not name or "/" in name or not is_hidden(name):
                raise ValueError(
                    f"file sink: the success file is called {name!r}; expected a name that begins with '_' "
                    f"or '.', so that readers do not take it for data"
                )
            return self._with(success_file=name, success_in_buckets=in_buckets)

        def with_storage_options(self, options: Mapping[str, str]) -> Self:
            """How to reach the store (``s3.endpoint`` ...), where that differs from the job's configuration."""
            return self._with(storage_options=dict(options))

        def build(self) -> FileSink:
            """The sink."""
            return FileSink(self._plan)

        def _with(self, **changes: Any) -> Self:
            self._plan = replace(self._plan, **changes)
            return self

    class RowFormatBuilder(BaseBuilder):
        """A sink that writes record by record."""

        def __init__(
            self,
            base_path: str | os.PathLike[str],
            encoder: Encoder | SerializationSchema,
        ) -> None:
            self._encoder = encoder
            policy = RollingPolicy.default_rolling_policy()
            super().__init__(_plan(base_path, RowFormat(encoder, None), policy))

        def with_compression(self, compression: str | None) -> Self:
            """Compress the files with ``gzip`` or ``zstd``; their names end in ``.gz`` or ``.zst``."""
            known = known_compression(compression)
            suffix = "" if known is None else SUFFIXES[known]
            return self._with(part_format=RowFormat(self._encoder, known), suffix=suffix)

    class BulkFormatBuilder(BaseBuilder):
        """A sink that writes whole files; parts end at every checkpoint, whatever the rolling policy says."""

        def __init__(
            self, base_path: str | os.PathLike[str], writer_factory: BulkWriterFactory
        ) -> None:
            self._factory = writer_factory
            policy = RollingPolicy.on_checkpoint_rolling_policy()
            super().__init__(_plan(base_path, BulkFormat(writer_factory), policy))

        def build(self) -> FileSink:
            compaction = self._plan.compaction
            if compaction is not None and getattr(self._factory, "has_header", False):
                raise ConfigError(
                    "file sink: files that begin with the names of their columns cannot be merged; leave "
                    "the header out, or switch compaction off"
                )
            return super().build()


def _plan(base_path: Any, part_format: Any, policy: RollingPolicy) -> SinkPlan:
    return SinkPlan(
        base=checked_base(location_of(base_path)),
        part_format=part_format,
        assigner=BucketAssigner.date_time_bucket_assigner(),
        policy=policy,
        names=OutputFileConfig(),
        suffix="",
        check_interval_ms=60_000,
        compaction=None,
        success_file=None,
        success_in_buckets=False,
        storage_options={},
    )
