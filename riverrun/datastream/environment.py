"""The environment: where a program begins and where it is run."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import pyarrow as pa

from riverrun.api.functions import SourceFunction
from riverrun.api.source import Source
from riverrun.api.unusable import refuse_unusable
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.arrow_batches import ArrowSource
from riverrun.connectors.collection import CollectionSource
from riverrun.connectors.iterator import IteratorSource
from riverrun.connectors.number_sequence import NumberSequenceSource
from riverrun.connectors.sockets.text_source import SocketTextSource
from riverrun.connectors.spark.source import DataFrameSource
from riverrun.core import options
from riverrun.core.configuration import Configuration
from riverrun.core.options import CheckpointingMode, RuntimeExecutionMode
from riverrun.core.time import Duration
from riverrun.datastream.checkpoint_config import CheckpointConfig
from riverrun.datastream.compilation import buffer_timeout_ms
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.dependencies import Dependencies
from riverrun.datastream.execution_config import ExecutionConfig, check_positive
from riverrun.datastream.job_client import JobClient, JobExecutionResult, run_to_end
from riverrun.datastream.output_types import checked_type, output_type_of
from riverrun.datastream.program import Program
from riverrun.datastream.program_configuration import surrounding_configuration, take_in
from riverrun.datastream.slot_sharing_group import SlotSharingGroup
from riverrun.datastream.state_backend import StateBackend, state_backend_of
from riverrun.graph.plan_json import execution_plan_json
from riverrun.graph.specs import SourceSpec
from riverrun.serde.type_info import TypeInformation

__all__ = ["StreamExecutionEnvironment"]

log = logging.getLogger(__name__)


class StreamExecutionEnvironment(Dependencies):
    """Makes streams, holds the settings of the program, and runs it.

    A program first defines operators and then calls ``execute`` once; defining runs nothing.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._config = program.config
        program.environment = self

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | Mapping[str, str] | None = None,
        *,
        spark: object | None = None,
    ) -> StreamExecutionEnvironment:
        """A fresh environment.

        Args:
            configuration: settings by key; ``riverrun.master`` says where jobs run, and the
                configuration file or the environment does when the key is not set.
            spark: the user's own Spark session to run on; nothing in it is changed.

        Raises:
            ConfigError: an unknown key, or a value that cannot be read.
        """
        config = surrounding_configuration(os.environ)
        take_in(config, configuration or {})
        return StreamExecutionEnvironment(Program(config, spark))

    def get_config(self) -> ExecutionConfig:
        """The settings of the program, by method."""
        return ExecutionConfig(self._config)

    def get_configuration(self) -> Configuration:
        """The settings of the program, by key; changing it changes the program."""
        return self._config

    def configure(self, configuration: Configuration | Mapping[str, str]) -> None:
        """Take in more settings by key.

        Raises:
            ConfigError: an unknown key, or a value that cannot be read; nothing is taken in then.
        """
        take_in(self._config, configuration)

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """Set the parallelism of operators that do not say."""
        self.get_config().set_parallelism(parallelism)
        return self

    def get_parallelism(self) -> int:
        """The parallelism of operators that do not say; one per core of a local master if not set."""
        return self._program.parallelism()

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        """Set the max parallelism (number of key groups) of operators that do not say."""
        self.get_config().set_max_parallelism(max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """The max parallelism; -1 when it is not set and each operator takes its own."""
        return self.get_config().get_max_parallelism()

    def get_default_local_parallelism(self) -> int:
        """The parallelism of a local master when none is set: the number of cores."""
        return self._program.default_local_parallelism

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set the parallelism that a local master has when none is set."""
        check_positive("parallelism", parallelism)
        self._program.default_local_parallelism = parallelism

    def register_slot_sharing_group(
        self, slot_sharing_group: SlotSharingGroup
    ) -> StreamExecutionEnvironment:
        """Say which resources a group needs; operators then name the group."""
        self._program.register_slot_sharing_group(slot_sharing_group)
        return self

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """Update results as records come (STREAMING), or give final ones at the end (BATCH)."""
        options.RUNTIME_MODE.set(self._config, execution_mode)
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> StreamExecutionEnvironment:
        """Let outputs wait this long for more; 0: not at all, -1: until a buffer is full."""
        if timeout_millis < -1:
            raise ValueError(f"buffer timeout: is {timeout_millis!r} ms; expected -1 or more")
        options.BUFFER_TIMEOUT_ENABLED.set(self._config, timeout_millis >= 0)
        if timeout_millis >= 0:
            options.BUFFER_TIMEOUT.set(self._config, Duration.of_millis(timeout_millis))
        return self

    def get_buffer_timeout(self) -> int:
        """How long outputs wait for more, in milliseconds; -1: until a buffer is full."""
        return buffer_timeout_ms(self._config)

    def disable_operator_chaining(self) -> StreamExecutionEnvironment:
        """Run every operator in a task of its own."""
        options.OPERATOR_CHAINING.set(self._config, value=False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Whether operators may share a task."""
        return options.OPERATOR_CHAINING.get(self._config)

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Whether they may share a task: they may, unless chaining is off."""
        return self.is_chaining_enabled()

    def get_checkpoint_config(self) -> CheckpointConfig:
        """The settings of checkpoints, by method."""
        return CheckpointConfig(self._config)

    def enable_checkpointing(
        self, interval: int, mode: CheckpointingMode | None = None
    ) -> StreamExecutionEnvironment:
        """Take a checkpoint every ``interval`` milliseconds."""
        checkpoints = self.get_checkpoint_config().set_checkpoint_interval(interval)
        if mode is not None:
            checkpoints.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """How often a checkpoint is taken, in milliseconds; -1: never."""
        return self.get_checkpoint_config().get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Exactly once, or at least once."""
        return self.get_checkpoint_config().get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """The newer name of ``get_checkpointing_mode``."""
        return self.get_checkpointing_mode()

    def set_state_backend(self, state_backend: StateBackend) -> StreamExecutionEnvironment:
        """Say where the state of keys lives while the job runs."""
        if not isinstance(state_backend, StateBackend):
            raise TypeError(
                f"set_state_backend: got {state_backend!r}; expected HashMapStateBackend() or "
                f"EmbeddedRocksDBStateBackend()"
            )
        state_backend.configure(self._config)
        return self

    def get_state_backend(self) -> StateBackend:
        """Where the state of keys lives while the job runs."""
        return state_backend_of(self._config)

    def enable_changelog_state_backend(self, enabled: bool) -> StreamExecutionEnvironment:  # noqa: FBT001  (PyFlink's signature)
        """Accept Flink's setting; it changes nothing, incremental checkpoints serve its purpose here."""
        options.CHANGELOG.set(self._config, enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """What was set; None: nothing."""
        return options.CHANGELOG.get(self._config)

    def set_default_savepoint_directory(self, directory: str) -> StreamExecutionEnvironment:
        """Say where savepoints go when they are asked for without a place."""
        options.SAVEPOINT_DIR.set(self._config, directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """Where savepoints go when they are asked for without a place."""
        return options.SAVEPOINT_DIR.get(self._config)

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Whether barriers overtake records."""
        return self.get_checkpoint_config().is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Whether unaligned checkpoints are forced."""
        return self.get_checkpoint_config().is_force_unaligned_checkpoints()

    def add_jars(self, *jars_path: str) -> None:
        """Accept jar files of a Flink program and say that they are not used: connectors are Python here."""
        log.warning("jars are not used, connectors are Python packages here jars=%s", jars_path)

    def add_classpaths(self, *classpaths: str) -> None:
        """Accept class paths of a Flink program and say that they are not used."""
        log.warning("class paths are not used here classpaths=%s", classpaths)

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataStream:
        """The values of ``collection`` in order, at parallelism 1.

        With ``type_info`` a plain tuple, list or dict may stand for a row.
        """
        values = list(collection)
        if type_info is not None:
            coerce = checked_type("from_collection", type_info).coerce
            values = [coerce(value) for value in values]
        return self._from("Collection", CollectionSource(values, type_info))

    def from_batches(
        self,
        batches: pa.Table | pa.RecordBatch | Iterable[pa.RecordBatch],
        watermark_strategy: WatermarkStrategy | None = None,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """The rows of Arrow batches, which stay columns for operators that work on columns.

        Without ``type_info`` a record is a Row with a field for each column.
        """
        if type_info is not None:
            checked_type("from_batches", type_info)
        return self.from_source(ArrowSource(batches, type_info), watermark_strategy, "Batches")

    def from_spark(
        self,
        dataframe: object,
        watermark_strategy: WatermarkStrategy | None = None,
        *,
        staging: str | None = None,
    ) -> DataStream:
        """The rows of a batch DataFrame as a bounded stream, in its own partitions.

        Spark runs the DataFrame once, when the job is submitted. After a failure the job goes on at the
        very row it had come to.

        Args:
            dataframe: a ``pyspark.sql.DataFrame``.
            watermark_strategy: how rows get timestamps and watermarks.
            staging: a folder for the rows that is kept, for programs that are started again and go on
                from a checkpoint or savepoint; without it they go away with the job.
        """
        return self.from_source(
            DataFrameSource(dataframe, staging), watermark_strategy, "DataFrame"
        )

    def from_sequence(self, start: int, end: int) -> DataStream:
        """The whole numbers from ``start`` to ``end``, both included, shared out over all subtasks."""
        return self._from("Sequence", NumberSequenceSource(start, end))

    def socket_text_stream(
        self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0
    ) -> DataStream:
        """The text that a server sends over TCP, cut at ``delimiter``; it cannot be read again.

        ``max_retry`` says how often in a row to try again when the server is not there or closes the
        connection, at most a second apart; 0: the stream ends with the connection, negative: for ever.
        """
        source = SocketTextSource(hostname, port, delimiter, max_retry)
        return self._from("Socket Stream", source)

    def from_source(
        self,
        source: Source[Any],
        watermark_strategy: WatermarkStrategy | None,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """The records of ``source``, with timestamps and watermarks as the strategy says."""
        if not isinstance(source, Source):
            raise TypeError(f"from_source: got {source!r}; expected a Source")
        refuse_unusable("from_source", source)
        if watermark_strategy is not None and not isinstance(watermark_strategy, WatermarkStrategy):
            raise TypeError(
                f"from_source: the watermark strategy is {watermark_strategy!r}; expected a "
                f"WatermarkStrategy, such as WatermarkStrategy.no_watermarks()"
            )
        if type_info is not None:
            checked_type("from_source", type_info)
        return self._from(source_name, source, watermark_strategy, type_info)

    def create_input(
        self, input_format: Any, type_info: TypeInformation | None = None
    ) -> DataStream:
        """The records of an input format that riverrun has, such as ``AvroInputFormat(path, schema)``.

        All others are Java objects, and are refused.
        """
        # Only who reads files loads the software for file systems.
        from riverrun.connectors.files.source_avro import AvroInputFormat  # noqa: PLC0415
        from riverrun.connectors.files.source_builder import FileSource  # noqa: PLC0415

        if not isinstance(input_format, AvroInputFormat):
            self.refuse_input(input_format)
        source = FileSource.for_bulk_file_format(input_format, input_format.path).build()
        return self._from("Avro files", source, None, type_info)

    def add_source(
        self,
        source_func: SourceFunction | Callable[[], Iterable[Any]],
        source_name: str = "Custom Source",
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """The values of an iterator, at parallelism 1: of a generator function or a SourceFunction."""
        refuse_unusable("add_source", source_func)
        source = IteratorSource(source_func)
        values = source_func.run if isinstance(source_func, SourceFunction) else source_func
        source.type_info = output_type_of("add_source", type_info, values, element=True)
        return self._from(source_name, source)

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the program and wait for its end; an interrupt cancels the job.

        A program that leaves its job with a JobManager (``execution.attached`` is false) does not wait: the
        result then has the job's id only.

        Raises:
            ProgramError: the program as written cannot run.
            JobFailed: the job failed; the cause is the user's own exception.
            JobCanceled: someone cancelled the job.
        """
        job = self._program.submit(job_name)
        if self._program.leaves_jobs():
            return JobExecutionResult(job.job_id, net_runtime_ms=-1)
        return run_to_end(job)

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Run the program and return at once."""
        return JobClient(self._program.submit(job_name))

    def get_execution_plan(self) -> str:
        """The program as JSON, for people and plan viewers; runs nothing."""
        return execution_plan_json(self._program.show().stream_graph)

    def close(self) -> None:
        """Drop what was not run and release what the environment started; cancels its running jobs."""
        self._program.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _from(
        self,
        name: str,
        source: Source[Any],
        watermark_strategy: WatermarkStrategy | None = None,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        output_type = source.get_produced_type() if type_info is None else type_info
        operator = self._program.add(
            name,
            SourceSpec(source, watermark_strategy),
            output_type=output_type,
            enforce_type=type_info is not None,
            forced_parallelism=source.get_forced_parallelism(),
        )
        return DataStream(self._program, operator, output_type)
