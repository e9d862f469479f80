"""riverrun: stateful stream processing in Python, Flink's model executed by Apache Spark.

The public names. Each is loaded when it is first used, so that importing the package stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from riverrun.core.public_homes import HOMES

if TYPE_CHECKING:
    from riverrun.api.async_retry_strategies import (
        AsyncRetryPredicate,
        AsyncRetryStrategy,
        ExponentialBackoffDelayRetryStrategy,
        ExponentialBackoffDelayRetryStrategyBuilder,
        FixedDelayRetryStrategy,
        FixedDelayRetryStrategyBuilder,
        NoRetryStrategy,
        RetryPredicate,
    )
    from riverrun.api.bad_records import DEAD_LETTERS, BadRecords, DeadLetter
    from riverrun.api.batch_functions import BatchFormat, BatchFunction
    from riverrun.api.checkpointed import (
        CheckpointedFunction,
        CheckpointListener,
        FunctionInitializationContext,
        FunctionSnapshotContext,
    )
    from riverrun.api.column_aggregates import Agg, Aggregate
    from riverrun.api.columns import Column, col
    from riverrun.api.delivery_guarantee import DeliveryGuarantee
    from riverrun.api.evictor import Evictor, TimestampedValue
    from riverrun.api.evictors import CountEvictor, DeltaEvictor, TimeEvictor
    from riverrun.api.functions import (
        AggregateFunction,
        AsyncFunction,
        BroadcastProcessFunction,
        CoFlatMapFunction,
        CoMapFunction,
        CoProcessFunction,
        FilterFunction,
        FlatMapFunction,
        Function,
        KeyedBroadcastProcessFunction,
        KeyedCoProcessFunction,
        KeyedProcessFunction,
        KeyedStateStore,
        KeySelector,
        MapFunction,
        Partitioner,
        ProcessFunction,
        ReduceFunction,
        RuntimeContext,
        SinkFunction,
        SourceFunction,
    )
    from riverrun.api.join_functions import (
        CoGroupFunction,
        FlatJoinFunction,
        JoinFunction,
        ProcessJoinFunction,
    )
    from riverrun.api.output_tag import OutputTag
    from riverrun.api.serialization import (
        BulkWriterFactory,
        ByteArraySchema,
        DeserializationSchema,
        Encoder,
        SerializationSchema,
        SimpleStringSchema,
    )
    from riverrun.api.sink import Committable, Committer, Sink, SinkWriter, SinkWriterContext
    from riverrun.api.source import (
        Boundedness,
        Polled,
        Source,
        SourceReader,
        SourceReaderContext,
        SourceStatus,
    )
    from riverrun.api.state import (
        AggregatingState,
        AggregatingStateDescriptor,
        AppendingState,
        BroadcastState,
        ListState,
        ListStateDescriptor,
        MapState,
        MapStateDescriptor,
        MergingState,
        OperatorStateStore,
        ReadOnlyBroadcastState,
        ReducingState,
        ReducingStateDescriptor,
        State,
        StateDescriptor,
        ValueState,
        ValueStateDescriptor,
    )
    from riverrun.api.state_ttl import StateTtlConfig
    from riverrun.api.timer_service import TimeDomain, TimerService
    from riverrun.api.trigger import Trigger, TriggerResult
    from riverrun.api.triggers import (
        ContinuousEventTimeTrigger,
        ContinuousProcessingTimeTrigger,
        CountTrigger,
        DeltaFunction,
        DeltaTrigger,
        EndOfStreamTrigger,
        EventTimeTrigger,
        NeverTrigger,
        ProcessingTimeoutTrigger,
        ProcessingTimeTrigger,
        PurgingTrigger,
    )
    from riverrun.api.watermark_generator import (
        Watermark,
        WatermarkGenerator,
        WatermarkGeneratorSupplier,
        WatermarkOutput,
    )
    from riverrun.api.watermark_strategy import (
        AssignerWithPeriodicWatermarks,
        IngestionTimeAssigner,
        RecordTimestampAssigner,
        TimestampAssigner,
        WatermarkStrategy,
    )
    from riverrun.api.window_assigner import MergingWindowAssigner, WindowAssigner
    from riverrun.api.window_assigners import (
        CountSlidingWindowAssigner,
        CountTumblingWindowAssigner,
        DynamicEventTimeSessionWindows,
        DynamicProcessingTimeSessionWindows,
        EventTimeSessionWindows,
        GlobalWindows,
        ProcessingTimeSessionWindows,
        SessionWindowTimeGapExtractor,
        SlidingEventTimeWindows,
        SlidingProcessingTimeWindows,
        TumblingEventTimeWindows,
        TumblingProcessingTimeWindows,
    )
    from riverrun.api.window_functions import (
        AllWindowFunction,
        ProcessAllWindowFunction,
        ProcessWindowFunction,
        WindowFunction,
    )
    from riverrun.api.windows import CountWindow, GlobalWindow, TimeWindow, Window
    from riverrun.connectors.arrow_batches import ArrowSource, BatchGeneratorSource
    from riverrun.connectors.callback import CallbackSink
    from riverrun.connectors.collection import CollectionSource
    from riverrun.connectors.datagen import DataGeneratorSource, GeneratorFunction
    from riverrun.connectors.discard import BlackHoleSink, DiscardingSink
    from riverrun.connectors.files.bucket_assigners import BucketAssigner
    from riverrun.connectors.files.compaction_strategy import FileCompactor, FileCompactStrategy
    from riverrun.connectors.files.output_columns import (
        AvroParquetWriters,
        OrcBulkWriters,
        ParquetBulkWriters,
    )
    from riverrun.connectors.files.output_config import OutputFileConfig
    from riverrun.connectors.files.output_formats import BulkWriter
    from riverrun.connectors.files.output_records import AvroBulkWriters, CsvBulkWriters
    from riverrun.connectors.files.rolling_policies import (
        DefaultRollingPolicy,
        OnCheckpointRollingPolicy,
        RollingPolicy,
    )
    from riverrun.connectors.files.sink_builder import FileSink
    from riverrun.connectors.files.sink_streaming import StreamingFileSink
    from riverrun.connectors.files.source_avro import AvroFileFormat, AvroInputFormat
    from riverrun.connectors.files.source_builder import (
        FileEnumeratorProvider,
        FileSource,
        FileSourceBuilder,
        FileSplitAssignerProvider,
    )
    from riverrun.connectors.files.source_columns import (
        AvroParquetReaders,
        OrcColumnarRowInputFormat,
        ParquetColumnarRowInputFormat,
    )
    from riverrun.connectors.files.source_csv import CsvReaderFormat
    from riverrun.connectors.files.source_formats import BulkFormat, FileFormat
    from riverrun.connectors.files.source_lines import StreamFormat
    from riverrun.connectors.formats.avro_rows import (
        AvroDeserializationSchema,
        AvroRowDeserializationSchema,
        AvroRowSerializationSchema,
        AvroSerializationSchema,
    )
    from riverrun.connectors.formats.avro_schema import AvroSchema, GenericRecordAvroTypeInfo
    from riverrun.connectors.formats.confluent_avro import (
        ConfluentRegistryAvroDeserializationSchema,
        ConfluentRegistryAvroSerializationSchema,
    )
    from riverrun.connectors.formats.confluent_registry import ConfluentRegistry
    from riverrun.connectors.formats.csv_rows import (
        CsvRowDeserializationSchema,
        CsvRowSerializationSchema,
    )
    from riverrun.connectors.formats.csv_schema import CsvSchema, CsvSchemaBuilder
    from riverrun.connectors.formats.json_plain import (
        JsonDeserializationSchema,
        JsonSerializationSchema,
    )
    from riverrun.connectors.formats.json_rows import (
        JsonRowDeserializationSchema,
        JsonRowSerializationSchema,
    )
    from riverrun.connectors.formats.protobuf import (
        ProtobufDeserializationSchema,
        ProtobufSerializationSchema,
    )
    from riverrun.connectors.formats.raw import RawFormatSchema
    from riverrun.connectors.formats.times import TimestampFormat
    from riverrun.connectors.generated.fields import RandomField, SequenceField
    from riverrun.connectors.generated.source import RowGeneratorSource
    from riverrun.connectors.hybrid.source import HybridSource, HybridSourceBuilder
    from riverrun.connectors.iterator import IteratorSource
    from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
    from riverrun.connectors.jdbc.execution import JdbcExecutionOptions
    from riverrun.connectors.jdbc.lookup import JdbcLookupFunction, LookupOptions
    from riverrun.connectors.jdbc.ranges import JdbcNumericBetweenParametersProvider
    from riverrun.connectors.jdbc.sink import JdbcSink
    from riverrun.connectors.jdbc.source import JdbcSource
    from riverrun.connectors.kafka.offsets_initializer import (
        KafkaOffsetResetStrategy,
        KafkaOffsetsInitializer,
    )
    from riverrun.connectors.kafka.partition_split import KafkaTopicPartition
    from riverrun.connectors.kafka.sink import KafkaSink
    from riverrun.connectors.kafka.sink_serialization import (
        KafkaPartitioner,
        KafkaRecordSerializationSchema,
        KafkaTopicSelector,
    )
    from riverrun.connectors.kafka.source import KafkaSource
    from riverrun.connectors.kafka.source_records import (
        KafkaRecord,
        KafkaRecordDeserializationSchema,
    )
    from riverrun.connectors.lake.delta import DeltaSink
    from riverrun.connectors.lake.iceberg import IcebergSink
    from riverrun.connectors.lake.settings import LakeSettings
    from riverrun.connectors.number_sequence import NumberSequenceSource
    from riverrun.connectors.postgres_cdc.rows import Unavailable
    from riverrun.connectors.postgres_cdc.source import PostgresCdcSource
    from riverrun.connectors.print import PrintSink
    from riverrun.connectors.rate_limits import RateLimiterStrategy
    from riverrun.connectors.redis.commands import RedisCommand
    from riverrun.connectors.redis.lookup import RedisLookupFunction
    from riverrun.connectors.redis.sink import RedisSink
    from riverrun.connectors.redis.stream_source import RedisStreamEntry, RedisStreamSource
    from riverrun.connectors.sockets.sink import SocketSink
    from riverrun.connectors.sockets.text_source import SocketTextSource
    from riverrun.connectors.spark.sinks import ForeachBatchSink
    from riverrun.connectors.spark.source import DataFrameSource
    from riverrun.connectors.view import UpsertView, ViewChanges
    from riverrun.connectors.web.http_sink import HttpRefusal, HttpSink
    from riverrun.connectors.web.pages import HttpFormat, HttpPage
    from riverrun.connectors.web.polling_source import HttpPollingSource
    from riverrun.connectors.web.websocket_sink import WebSocketSink
    from riverrun.connectors.web.websocket_source import WebSocketSource
    from riverrun.core.config_options import ConfigOption, ConfigOptions
    from riverrun.core.configuration import Configuration
    from riverrun.core.errors import (
        ConfigError,
        ExternalError,
        JobCanceled,
        JobFailed,
        NotPicklable,
        ProgramError,
        RiverrunError,
        TooFewSlots,
    )
    from riverrun.core.ids import JobId
    from riverrun.core.lifecycle import JobStatus
    from riverrun.core.options import (
        CheckpointingMode,
        ExternalizedCheckpointRetention,
        RecoveryClaimMode,
        RuntimeExecutionMode,
        SavepointFormatType,
    )
    from riverrun.core.time import Duration, Time
    from riverrun.datastream.async_data_stream import AsyncDataStream
    from riverrun.datastream.broadcast import (
        BroadcastConnectedStream,
        BroadcastStream,
    )
    from riverrun.datastream.checkpoint_config import CheckpointConfig
    from riverrun.datastream.checkpoint_storage import (
        CheckpointStorage,
        FileSystemCheckpointStorage,
        JobManagerCheckpointStorage,
    )
    from riverrun.datastream.collect import CloseableIterator
    from riverrun.datastream.connected import ConnectedStreams
    from riverrun.datastream.data_stream import DataStream, KeyedStream
    from riverrun.datastream.data_stream_sink import DataStreamSink
    from riverrun.datastream.data_stream_utils import DataStreamUtils
    from riverrun.datastream.environment import StreamExecutionEnvironment
    from riverrun.datastream.execution_config import ExecutionConfig
    from riverrun.datastream.interval_join import IntervalJoin, IntervalJoined
    from riverrun.datastream.job_client import CompletableFuture, JobClient, JobExecutionResult
    from riverrun.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
    from riverrun.datastream.state_backend import (
        EmbeddedRocksDBStateBackend,
        HashMapStateBackend,
        PredefinedOptions,
        StateBackend,
    )
    from riverrun.datastream.tagged_records import TaggedUnion
    from riverrun.datastream.window_join import CoGroupedStreams, JoinedStreams
    from riverrun.datastream.windowed import AllWindowedStream, WindowedStream
    from riverrun.graph.rescaling import RescaleFailed, RescaleRefused
    from riverrun.metrics.groups import MetricGroup
    from riverrun.metrics.metric import Counter, Distribution, Histogram, Meter
    from riverrun.serde.instant import Instant
    from riverrun.serde.row import Row, RowKind
    from riverrun.serde.type_info import TypeInformation
    from riverrun.serde.types import Types
    from riverrun.state_processor.bootstrap import (
        BootstrapTransformation,
        OperatorTransformation,
        bootstrap,
    )
    from riverrun.state_processor.bootstrap_functions import (
        BroadcastStateBootstrapFunction,
        KeyedStateBootstrapFunction,
        StateBootstrapFunction,
    )
    from riverrun.state_processor.reader import SavepointReader
    from riverrun.state_processor.reader_functions import KeyedStateReaderFunction
    from riverrun.state_processor.savepoint import Savepoint
    from riverrun.state_processor.writer import SavepointWriter
    from riverrun.state_processor.writing.entries import StateRow

__version__ = "0.1.0"

__all__ = [
    "DEAD_LETTERS",
    "Agg",
    "Aggregate",
    "AggregateFunction",
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AllWindowFunction",
    "AllWindowedStream",
    "AppendingState",
    "ArrowSource",
    "AssignerWithPeriodicWatermarks",
    "AsyncDataStream",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "AvroBulkWriters",
    "AvroDeserializationSchema",
    "AvroFileFormat",
    "AvroInputFormat",
    "AvroParquetReaders",
    "AvroParquetWriters",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "AvroSerializationSchema",
    "BadRecords",
    "BatchFormat",
    "BatchFunction",
    "BatchGeneratorSource",
    "BlackHoleSink",
    "BootstrapTransformation",
    "Boundedness",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastState",
    "BroadcastStateBootstrapFunction",
    "BroadcastStream",
    "BucketAssigner",
    "BulkFormat",
    "BulkWriter",
    "BulkWriterFactory",
    "ByteArraySchema",
    "CallbackSink",
    "CheckpointConfig",
    "CheckpointListener",
    "CheckpointStorage",
    "CheckpointedFunction",
    "CheckpointingMode",
    "CloseableIterator",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoGroupedStreams",
    "CoMapFunction",
    "CoProcessFunction",
    "CollectionSource",
    "Column",
    "Committable",
    "Committer",
    "CompletableFuture",
    "ConfigError",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "ConfluentRegistry",
    "ConfluentRegistryAvroDeserializationSchema",
    "ConfluentRegistryAvroSerializationSchema",
    "ConnectedStreams",
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountEvictor",
    "CountSlidingWindowAssigner",
    "CountTrigger",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "Counter",
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
    "DataFrameSource",
    "DataGeneratorSource",
    "DataStream",
    "DataStreamSink",
    "DataStreamUtils",
    "DeadLetter",
    "DefaultRollingPolicy",
    "DeliveryGuarantee",
    "DeltaEvictor",
    "DeltaFunction",
    "DeltaSink",
    "DeltaTrigger",
    "DeserializationSchema",
    "DiscardingSink",
    "Distribution",
    "Duration",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EmbeddedRocksDBStateBackend",
    "Encoder",
    "EndOfStreamTrigger",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "Evictor",
    "ExecutionConfig",
    "ExponentialBackoffDelayRetryStrategy",
    "ExponentialBackoffDelayRetryStrategyBuilder",
    "ExternalError",
    "ExternalizedCheckpointRetention",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileFormat",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "FileSystemCheckpointStorage",
    "FilterFunction",
    "FixedDelayRetryStrategy",
    "FixedDelayRetryStrategyBuilder",
    "FlatJoinFunction",
    "FlatMapFunction",
    "ForeachBatchSink",
    "Function",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "GeneratorFunction",
    "GenericRecordAvroTypeInfo",
    "GlobalWindow",
    "GlobalWindows",
    "HashMapStateBackend",
    "Histogram",
    "HttpFormat",
    "HttpPage",
    "HttpPollingSource",
    "HttpRefusal",
    "HttpSink",
    "HybridSource",
    "HybridSourceBuilder",
    "IcebergSink",
    "IngestionTimeAssigner",
    "Instant",
    "IntervalJoin",
    "IntervalJoined",
    "IteratorSource",
    "JdbcConnectionOptions",
    "JdbcExecutionOptions",
    "JdbcLookupFunction",
    "JdbcNumericBetweenParametersProvider",
    "JdbcSink",
    "JdbcSource",
    "JobCanceled",
    "JobClient",
    "JobExecutionResult",
    "JobFailed",
    "JobId",
    "JobManagerCheckpointStorage",
    "JobStatus",
    "JoinFunction",
    "JoinedStreams",
    "JsonDeserializationSchema",
    "JsonRowDeserializationSchema",
    "JsonRowSerializationSchema",
    "JsonSerializationSchema",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaPartitioner",
    "KafkaRecord",
    "KafkaRecordDeserializationSchema",
    "KafkaRecordSerializationSchema",
    "KafkaSink",
    "KafkaSource",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "KeyedStateStore",
    "KeyedStream",
    "LakeSettings",
    "ListState",
    "ListStateDescriptor",
    "LookupOptions",
    "MapFunction",
    "MapState",
    "MapStateDescriptor",
    "MemorySize",
    "MergingState",
    "MergingWindowAssigner",
    "Meter",
    "MetricGroup",
    "NeverTrigger",
    "NoRetryStrategy",
    "NotPicklable",
    "NumberSequenceSource",
    "OnCheckpointRollingPolicy",
    "OperatorStateStore",
    "OperatorTransformation",
    "OrcBulkWriters",
    "OrcColumnarRowInputFormat",
    "OutputFileConfig",
    "OutputTag",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
    "Partitioner",
    "Polled",
    "PostgresCdcSource",
    "PredefinedOptions",
    "PrintSink",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "ProgramError",
    "ProtobufDeserializationSchema",
    "ProtobufSerializationSchema",
    "PurgingTrigger",
    "RandomField",
    "RateLimiterStrategy",
    "RawFormatSchema",
    "ReadOnlyBroadcastState",
    "RecordTimestampAssigner",
    "RecoveryClaimMode",
    "RedisCommand",
    "RedisLookupFunction",
    "RedisSink",
    "RedisStreamEntry",
    "RedisStreamSource",
    "ReduceFunction",
    "ReducingState",
    "ReducingStateDescriptor",
    "RescaleFailed",
    "RescaleRefused",
    "RetryPredicate",
    "RiverrunError",
    "RollingPolicy",
    "Row",
    "RowGeneratorSource",
    "RowKind",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "Savepoint",
    "SavepointFormatType",
    "SavepointReader",
    "SavepointWriter",
    "SequenceField",
    "SerializationSchema",
    "SessionWindowTimeGapExtractor",
    "SimpleStringSchema",
    "Sink",
    "SinkFunction",
    "SinkWriter",
    "SinkWriterContext",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "SlotSharingGroup",
    "SocketSink",
    "SocketTextSource",
    "Source",
    "SourceFunction",
    "SourceReader",
    "SourceReaderContext",
    "SourceStatus",
    "State",
    "StateBackend",
    "StateBootstrapFunction",
    "StateDescriptor",
    "StateRow",
    "StateTtlConfig",
    "StreamExecutionEnvironment",
    "StreamFormat",
    "StreamingFileSink",
    "TaggedUnion",
    "Time",
    "TimeDomain",
    "TimeEvictor",
    "TimeWindow",
    "TimerService",
    "TimestampAssigner",
    "TimestampFormat",
    "TimestampedValue",
    "TooFewSlots",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "TypeInformation",
    "Types",
    "Unavailable",
    "UpsertView",
    "ValueState",
    "ValueStateDescriptor",
    "ViewChanges",
    "Watermark",
    "WatermarkGenerator",
    "WatermarkGeneratorSupplier",
    "WatermarkOutput",
    "WatermarkStrategy",
    "WebSocketSink",
    "WebSocketSource",
    "Window",
    "WindowAssigner",
    "WindowFunction",
    "WindowedStream",
    "bootstrap",
    "col",
]


def __getattr__(name: str) -> Any:
    module = HOMES.get(name)
    if module is None:
        raise AttributeError(f"module 'riverrun' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
