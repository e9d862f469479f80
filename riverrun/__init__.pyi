from riverrun.api.async_retry_strategies import (
    AsyncRetryPredicate as AsyncRetryPredicate,
)
from riverrun.api.async_retry_strategies import (
    AsyncRetryStrategy as AsyncRetryStrategy,
)
from riverrun.api.async_retry_strategies import (
    ExponentialBackoffDelayRetryStrategy as ExponentialBackoffDelayRetryStrategy,
)
from riverrun.api.async_retry_strategies import (
    ExponentialBackoffDelayRetryStrategyBuilder as ExponentialBackoffDelayRetryStrategyBuilder,
)
from riverrun.api.async_retry_strategies import (
    FixedDelayRetryStrategy as FixedDelayRetryStrategy,
)
from riverrun.api.async_retry_strategies import (
    FixedDelayRetryStrategyBuilder as FixedDelayRetryStrategyBuilder,
)
from riverrun.api.async_retry_strategies import (
    NoRetryStrategy as NoRetryStrategy,
)
from riverrun.api.async_retry_strategies import (
    RetryPredicate as RetryPredicate,
)
from riverrun.api.bad_records import (
    DEAD_LETTERS as DEAD_LETTERS,
)
from riverrun.api.bad_records import (
    BadRecords as BadRecords,
)
from riverrun.api.bad_records import (
    DeadLetter as DeadLetter,
)
from riverrun.api.batch_functions import BatchFormat as BatchFormat
from riverrun.api.batch_functions import BatchFunction as BatchFunction
from riverrun.api.checkpointed import (
    CheckpointedFunction as CheckpointedFunction,
)
from riverrun.api.checkpointed import (
    CheckpointListener as CheckpointListener,
)
from riverrun.api.checkpointed import (
    FunctionInitializationContext as FunctionInitializationContext,
)
from riverrun.api.checkpointed import (
    FunctionSnapshotContext as FunctionSnapshotContext,
)
from riverrun.api.column_aggregates import Agg as Agg
from riverrun.api.column_aggregates import Aggregate as Aggregate
from riverrun.api.columns import Column as Column
from riverrun.api.columns import col as col
from riverrun.api.delivery_guarantee import DeliveryGuarantee as DeliveryGuarantee
from riverrun.api.evictor import Evictor as Evictor
from riverrun.api.evictor import TimestampedValue as TimestampedValue
from riverrun.api.evictors import (
    CountEvictor as CountEvictor,
)
from riverrun.api.evictors import (
    DeltaEvictor as DeltaEvictor,
)
from riverrun.api.evictors import (
    TimeEvictor as TimeEvictor,
)
from riverrun.api.functions import (
    AggregateFunction as AggregateFunction,
)
from riverrun.api.functions import (
    AsyncFunction as AsyncFunction,
)
from riverrun.api.functions import (
    BroadcastProcessFunction as BroadcastProcessFunction,
)
from riverrun.api.functions import (
    CoFlatMapFunction as CoFlatMapFunction,
)
from riverrun.api.functions import (
    CoMapFunction as CoMapFunction,
)
from riverrun.api.functions import (
    CoProcessFunction as CoProcessFunction,
)
from riverrun.api.functions import (
    FilterFunction as FilterFunction,
)
from riverrun.api.functions import (
    FlatMapFunction as FlatMapFunction,
)
from riverrun.api.functions import (
    Function as Function,
)
from riverrun.api.functions import (
    KeyedBroadcastProcessFunction as KeyedBroadcastProcessFunction,
)
from riverrun.api.functions import (
    KeyedCoProcessFunction as KeyedCoProcessFunction,
)
from riverrun.api.functions import (
    KeyedProcessFunction as KeyedProcessFunction,
)
from riverrun.api.functions import (
    KeyedStateStore as KeyedStateStore,
)
from riverrun.api.functions import (
    KeySelector as KeySelector,
)
from riverrun.api.functions import (
    MapFunction as MapFunction,
)
from riverrun.api.functions import (
    Partitioner as Partitioner,
)
from riverrun.api.functions import (
    ProcessFunction as ProcessFunction,
)
from riverrun.api.functions import (
    ReduceFunction as ReduceFunction,
)
from riverrun.api.functions import (
    RuntimeContext as RuntimeContext,
)
from riverrun.api.functions import (
    SinkFunction as SinkFunction,
)
from riverrun.api.functions import (
    SourceFunction as SourceFunction,
)
from riverrun.api.join_functions import (
    CoGroupFunction as CoGroupFunction,
)
from riverrun.api.join_functions import (
    FlatJoinFunction as FlatJoinFunction,
)
from riverrun.api.join_functions import (
    JoinFunction as JoinFunction,
)
from riverrun.api.join_functions import (
    ProcessJoinFunction as ProcessJoinFunction,
)
from riverrun.api.output_tag import OutputTag as OutputTag
from riverrun.api.serialization import (
    BulkWriterFactory as BulkWriterFactory,
)
from riverrun.api.serialization import (
    ByteArraySchema as ByteArraySchema,
)
from riverrun.api.serialization import (
    DeserializationSchema as DeserializationSchema,
)
from riverrun.api.serialization import (
    Encoder as Encoder,
)
from riverrun.api.serialization import (
    SerializationSchema as SerializationSchema,
)
from riverrun.api.serialization import (
    SimpleStringSchema as SimpleStringSchema,
)
from riverrun.api.sink import (
    Committable as Committable,
)
from riverrun.api.sink import (
    Committer as Committer,
)
from riverrun.api.sink import (
    Sink as Sink,
)
from riverrun.api.sink import (
    SinkWriter as SinkWriter,
)
from riverrun.api.sink import (
    SinkWriterContext as SinkWriterContext,
)
from riverrun.api.source import (
    Boundedness as Boundedness,
)
from riverrun.api.source import (
    Polled as Polled,
)
from riverrun.api.source import (
    Source as Source,
)
from riverrun.api.source import (
    SourceReader as SourceReader,
)
from riverrun.api.source import (
    SourceReaderContext as SourceReaderContext,
)
from riverrun.api.source import (
    SourceStatus as SourceStatus,
)
from riverrun.api.state import (
    AggregatingState as AggregatingState,
)
from riverrun.api.state import (
    AggregatingStateDescriptor as AggregatingStateDescriptor,
)
from riverrun.api.state import (
    AppendingState as AppendingState,
)
from riverrun.api.state import (
    BroadcastState as BroadcastState,
)
from riverrun.api.state import (
    ListState as ListState,
)
from riverrun.api.state import (
    ListStateDescriptor as ListStateDescriptor,
)
from riverrun.api.state import (
    MapState as MapState,
)
from riverrun.api.state import (
    MapStateDescriptor as MapStateDescriptor,
)
from riverrun.api.state import (
    MergingState as MergingState,
)
from riverrun.api.state import (
    OperatorStateStore as OperatorStateStore,
)
from riverrun.api.state import (
    ReadOnlyBroadcastState as ReadOnlyBroadcastState,
)
from riverrun.api.state import (
    ReducingState as ReducingState,
)
from riverrun.api.state import (
    ReducingStateDescriptor as ReducingStateDescriptor,
)
from riverrun.api.state import (
    State as State,
)
from riverrun.api.state import (
    StateDescriptor as StateDescriptor,
)
from riverrun.api.state import (
    ValueState as ValueState,
)
from riverrun.api.state import (
    ValueStateDescriptor as ValueStateDescriptor,
)
from riverrun.api.state_ttl import StateTtlConfig as StateTtlConfig
from riverrun.api.timer_service import TimeDomain as TimeDomain
from riverrun.api.timer_service import TimerService as TimerService
from riverrun.api.trigger import Trigger as Trigger
from riverrun.api.trigger import TriggerResult as TriggerResult
from riverrun.api.triggers import (
    ContinuousEventTimeTrigger as ContinuousEventTimeTrigger,
)
from riverrun.api.triggers import (
    ContinuousProcessingTimeTrigger as ContinuousProcessingTimeTrigger,
)
from riverrun.api.triggers import (
    CountTrigger as CountTrigger,
)
from riverrun.api.triggers import (
    DeltaFunction as DeltaFunction,
)
from riverrun.api.triggers import (
    DeltaTrigger as DeltaTrigger,
)
from riverrun.api.triggers import (
    EndOfStreamTrigger as EndOfStreamTrigger,
)
from riverrun.api.triggers import (
    EventTimeTrigger as EventTimeTrigger,
)
from riverrun.api.triggers import (
    NeverTrigger as NeverTrigger,
)
from riverrun.api.triggers import (
    ProcessingTimeoutTrigger as ProcessingTimeoutTrigger,
)
from riverrun.api.triggers import (
    ProcessingTimeTrigger as ProcessingTimeTrigger,
)
from riverrun.api.triggers import (
    PurgingTrigger as PurgingTrigger,
)
from riverrun.api.watermark_generator import (
    Watermark as Watermark,
)
from riverrun.api.watermark_generator import (
    WatermarkGenerator as WatermarkGenerator,
)
from riverrun.api.watermark_generator import (
    WatermarkGeneratorSupplier as WatermarkGeneratorSupplier,
)
from riverrun.api.watermark_generator import (
    WatermarkOutput as WatermarkOutput,
)
from riverrun.api.watermark_strategy import (
    AssignerWithPeriodicWatermarks as AssignerWithPeriodicWatermarks,
)
from riverrun.api.watermark_strategy import (
    IngestionTimeAssigner as IngestionTimeAssigner,
)
from riverrun.api.watermark_strategy import (
    RecordTimestampAssigner as RecordTimestampAssigner,
)
from riverrun.api.watermark_strategy import (
    TimestampAssigner as TimestampAssigner,
)
from riverrun.api.watermark_strategy import (
    WatermarkStrategy as WatermarkStrategy,
)
from riverrun.api.window_assigner import (
    MergingWindowAssigner as MergingWindowAssigner,
)
from riverrun.api.window_assigner import (
    WindowAssigner as WindowAssigner,
)
from riverrun.api.window_assigners import (
    CountSlidingWindowAssigner as CountSlidingWindowAssigner,
)
from riverrun.api.window_assigners import (
    CountTumblingWindowAssigner as CountTumblingWindowAssigner,
)
from riverrun.api.window_assigners import (
    DynamicEventTimeSessionWindows as DynamicEventTimeSessionWindows,
)
from riverrun.api.window_assigners import (
    DynamicProcessingTimeSessionWindows as DynamicProcessingTimeSessionWindows,
)
from riverrun.api.window_assigners import (
    EventTimeSessionWindows as EventTimeSessionWindows,
)
from riverrun.api.window_assigners import (
    GlobalWindows as GlobalWindows,
)
from riverrun.api.window_assigners import (
    ProcessingTimeSessionWindows as ProcessingTimeSessionWindows,
)
from riverrun.api.window_assigners import (
    SessionWindowTimeGapExtractor as SessionWindowTimeGapExtractor,
)
from riverrun.api.window_assigners import (
    SlidingEventTimeWindows as SlidingEventTimeWindows,
)
from riverrun.api.window_assigners import (
    SlidingProcessingTimeWindows as SlidingProcessingTimeWindows,
)
from riverrun.api.window_assigners import (
    TumblingEventTimeWindows as TumblingEventTimeWindows,
)
from riverrun.api.window_assigners import (
    TumblingProcessingTimeWindows as TumblingProcessingTimeWindows,
)
from riverrun.api.window_functions import (
    AllWindowFunction as AllWindowFunction,
)
from riverrun.api.window_functions import (
    ProcessAllWindowFunction as ProcessAllWindowFunction,
)
from riverrun.api.window_functions import (
    ProcessWindowFunction as ProcessWindowFunction,
)
from riverrun.api.window_functions import (
    WindowFunction as WindowFunction,
)
from riverrun.api.windows import (
    CountWindow as CountWindow,
)
from riverrun.api.windows import (
    GlobalWindow as GlobalWindow,
)
from riverrun.api.windows import (
    TimeWindow as TimeWindow,
)
from riverrun.api.windows import (
    Window as Window,
)
from riverrun.connectors.arrow_batches import (
    ArrowSource as ArrowSource,
)
from riverrun.connectors.arrow_batches import (
    BatchGeneratorSource as BatchGeneratorSource,
)
from riverrun.connectors.callback import CallbackSink as CallbackSink
from riverrun.connectors.collection import CollectionSource as CollectionSource
from riverrun.connectors.datagen import (
    DataGeneratorSource as DataGeneratorSource,
)
from riverrun.connectors.datagen import (
    GeneratorFunction as GeneratorFunction,
)
from riverrun.connectors.discard import (
    BlackHoleSink as BlackHoleSink,
)
from riverrun.connectors.discard import (
    DiscardingSink as DiscardingSink,
)
from riverrun.connectors.files.bucket_assigners import BucketAssigner as BucketAssigner
from riverrun.connectors.files.compaction_strategy import (
    FileCompactor as FileCompactor,
)
from riverrun.connectors.files.compaction_strategy import (
    FileCompactStrategy as FileCompactStrategy,
)
from riverrun.connectors.files.output_columns import (
    AvroParquetWriters as AvroParquetWriters,
)
from riverrun.connectors.files.output_columns import (
    OrcBulkWriters as OrcBulkWriters,
)
from riverrun.connectors.files.output_columns import (
    ParquetBulkWriters as ParquetBulkWriters,
)
from riverrun.connectors.files.output_config import OutputFileConfig as OutputFileConfig
from riverrun.connectors.files.output_formats import BulkWriter as BulkWriter
from riverrun.connectors.files.output_records import (
    AvroBulkWriters as AvroBulkWriters,
)
from riverrun.connectors.files.output_records import (
    CsvBulkWriters as CsvBulkWriters,
)
from riverrun.connectors.files.rolling_policies import (
    DefaultRollingPolicy as DefaultRollingPolicy,
)
from riverrun.connectors.files.rolling_policies import (
    OnCheckpointRollingPolicy as OnCheckpointRollingPolicy,
)
from riverrun.connectors.files.rolling_policies import (
    RollingPolicy as RollingPolicy,
)
from riverrun.connectors.files.sink_builder import FileSink as FileSink
from riverrun.connectors.files.sink_streaming import StreamingFileSink as StreamingFileSink
from riverrun.connectors.files.source_avro import (
    AvroFileFormat as AvroFileFormat,
)
from riverrun.connectors.files.source_avro import (
    AvroInputFormat as AvroInputFormat,
)
from riverrun.connectors.files.source_builder import (
    FileEnumeratorProvider as FileEnumeratorProvider,
)
from riverrun.connectors.files.source_builder import (
    FileSource as FileSource,
)
from riverrun.connectors.files.source_builder import (
    FileSourceBuilder as FileSourceBuilder,
)
from riverrun.connectors.files.source_builder import (
    FileSplitAssignerProvider as FileSplitAssignerProvider,
)
from riverrun.connectors.files.source_columns import (
    AvroParquetReaders as AvroParquetReaders,
)
from riverrun.connectors.files.source_columns import (
    OrcColumnarRowInputFormat as OrcColumnarRowInputFormat,
)
from riverrun.connectors.files.source_columns import (
    ParquetColumnarRowInputFormat as ParquetColumnarRowInputFormat,
)
from riverrun.connectors.files.source_csv import CsvReaderFormat as CsvReaderFormat
from riverrun.connectors.files.source_formats import (
    BulkFormat as BulkFormat,
)
from riverrun.connectors.files.source_formats import (
    FileFormat as FileFormat,
)
from riverrun.connectors.files.source_lines import StreamFormat as StreamFormat
from riverrun.connectors.formats.avro_rows import (
    AvroDeserializationSchema as AvroDeserializationSchema,
)
from riverrun.connectors.formats.avro_rows import (
    AvroRowDeserializationSchema as AvroRowDeserializationSchema,
)
from riverrun.connectors.formats.avro_rows import (
    AvroRowSerializationSchema as AvroRowSerializationSchema,
)
from riverrun.connectors.formats.avro_rows import (
    AvroSerializationSchema as AvroSerializationSchema,
)
from riverrun.connectors.formats.avro_schema import (
    AvroSchema as AvroSchema,
)
from riverrun.connectors.formats.avro_schema import (
    GenericRecordAvroTypeInfo as GenericRecordAvroTypeInfo,
)
from riverrun.connectors.formats.confluent_avro import (
    ConfluentRegistryAvroDeserializationSchema as ConfluentRegistryAvroDeserializationSchema,
)
from riverrun.connectors.formats.confluent_avro import (
    ConfluentRegistryAvroSerializationSchema as ConfluentRegistryAvroSerializationSchema,
)
from riverrun.connectors.formats.confluent_registry import ConfluentRegistry as ConfluentRegistry
from riverrun.connectors.formats.csv_rows import (
    CsvRowDeserializationSchema as CsvRowDeserializationSchema,
)
from riverrun.connectors.formats.csv_rows import (
    CsvRowSerializationSchema as CsvRowSerializationSchema,
)
from riverrun.connectors.formats.csv_schema import (
    CsvSchema as CsvSchema,
)
from riverrun.connectors.formats.csv_schema import (
    CsvSchemaBuilder as CsvSchemaBuilder,
)
from riverrun.connectors.formats.json_plain import (
    JsonDeserializationSchema as JsonDeserializationSchema,
)
from riverrun.connectors.formats.json_plain import (
    JsonSerializationSchema as JsonSerializationSchema,
)
from riverrun.connectors.formats.json_rows import (
    JsonRowDeserializationSchema as JsonRowDeserializationSchema,
)
from riverrun.connectors.formats.json_rows import (
    JsonRowSerializationSchema as JsonRowSerializationSchema,
)
from riverrun.connectors.formats.protobuf import (
    ProtobufDeserializationSchema as ProtobufDeserializationSchema,
)
from riverrun.connectors.formats.protobuf import (
    ProtobufSerializationSchema as ProtobufSerializationSchema,
)
from riverrun.connectors.formats.raw import RawFormatSchema as RawFormatSchema
from riverrun.connectors.formats.times import TimestampFormat as TimestampFormat
from riverrun.connectors.generated.fields import (
    RandomField as RandomField,
)
from riverrun.connectors.generated.fields import (
    SequenceField as SequenceField,
)
from riverrun.connectors.generated.source import RowGeneratorSource as RowGeneratorSource
from riverrun.connectors.hybrid.source import (
    HybridSource as HybridSource,
)
from riverrun.connectors.hybrid.source import (
    HybridSourceBuilder as HybridSourceBuilder,
)
from riverrun.connectors.iterator import IteratorSource as IteratorSource
from riverrun.connectors.jdbc.connection import JdbcConnectionOptions as JdbcConnectionOptions
from riverrun.connectors.jdbc.execution import JdbcExecutionOptions as JdbcExecutionOptions
from riverrun.connectors.jdbc.lookup import (
    JdbcLookupFunction as JdbcLookupFunction,
)
from riverrun.connectors.jdbc.lookup import (
    LookupOptions as LookupOptions,
)
from riverrun.connectors.jdbc.ranges import (
    JdbcNumericBetweenParametersProvider as JdbcNumericBetweenParametersProvider,
)
from riverrun.connectors.jdbc.sink import JdbcSink as JdbcSink
from riverrun.connectors.jdbc.source import JdbcSource as JdbcSource
from riverrun.connectors.kafka.offsets_initializer import (
    KafkaOffsetResetStrategy as KafkaOffsetResetStrategy,
)
from riverrun.connectors.kafka.offsets_initializer import (
    KafkaOffsetsInitializer as KafkaOffsetsInitializer,
)
from riverrun.connectors.kafka.partition_split import KafkaTopicPartition as KafkaTopicPartition
from riverrun.connectors.kafka.sink import KafkaSink as KafkaSink
from riverrun.connectors.kafka.sink_serialization import (
    KafkaPartitioner as KafkaPartitioner,
)
from riverrun.connectors.kafka.sink_serialization import (
    KafkaRecordSerializationSchema as KafkaRecordSerializationSchema,
)
from riverrun.connectors.kafka.sink_serialization import (
    KafkaTopicSelector as KafkaTopicSelector,
)
from riverrun.connectors.kafka.source import KafkaSource as KafkaSource
from riverrun.connectors.kafka.source_records import (
    KafkaRecord as KafkaRecord,
)
from riverrun.connectors.kafka.source_records import (
    KafkaRecordDeserializationSchema as KafkaRecordDeserializationSchema,
)
from riverrun.connectors.lake.delta import DeltaSink as DeltaSink
from riverrun.connectors.lake.iceberg import IcebergSink as IcebergSink
from riverrun.connectors.lake.settings import LakeSettings as LakeSettings
from riverrun.connectors.number_sequence import NumberSequenceSource as NumberSequenceSource
from riverrun.connectors.postgres_cdc.rows import Unavailable as Unavailable
from riverrun.connectors.postgres_cdc.source import PostgresCdcSource as PostgresCdcSource
from riverrun.connectors.print import PrintSink as PrintSink
from riverrun.connectors.rate_limits import RateLimiterStrategy as RateLimiterStrategy
from riverrun.connectors.redis.commands import RedisCommand as RedisCommand
from riverrun.connectors.redis.lookup import RedisLookupFunction as RedisLookupFunction
from riverrun.connectors.redis.sink import RedisSink as RedisSink
from riverrun.connectors.redis.stream_source import (
    RedisStreamEntry as RedisStreamEntry,
)
from riverrun.connectors.redis.stream_source import (
    RedisStreamSource as RedisStreamSource,
)
from riverrun.connectors.sockets.sink import SocketSink as SocketSink
from riverrun.connectors.sockets.text_source import SocketTextSource as SocketTextSource
from riverrun.connectors.spark.sinks import ForeachBatchSink as ForeachBatchSink
from riverrun.connectors.spark.source import DataFrameSource as DataFrameSource
from riverrun.connectors.view import UpsertView as UpsertView
from riverrun.connectors.view import ViewChanges as ViewChanges
from riverrun.connectors.web.http_sink import HttpRefusal as HttpRefusal
from riverrun.connectors.web.http_sink import HttpSink as HttpSink
from riverrun.connectors.web.pages import HttpFormat as HttpFormat
from riverrun.connectors.web.pages import HttpPage as HttpPage
from riverrun.connectors.web.polling_source import HttpPollingSource as HttpPollingSource
from riverrun.connectors.web.websocket_sink import WebSocketSink as WebSocketSink
from riverrun.connectors.web.websocket_source import WebSocketSource as WebSocketSource
from riverrun.core.config_options import (
    ConfigOption as ConfigOption,
)
from riverrun.core.config_options import (
    ConfigOptions as ConfigOptions,
)
from riverrun.core.configuration import Configuration as Configuration
from riverrun.core.errors import (
    ConfigError as ConfigError,
)
from riverrun.core.errors import (
    ExternalError as ExternalError,
)
from riverrun.core.errors import (
    JobCanceled as JobCanceled,
)
from riverrun.core.errors import (
    JobFailed as JobFailed,
)
from riverrun.core.errors import (
    NotPicklable as NotPicklable,
)
from riverrun.core.errors import (
    ProgramError as ProgramError,
)
from riverrun.core.errors import (
    RiverrunError as RiverrunError,
)
from riverrun.core.errors import (
    TooFewSlots as TooFewSlots,
)
from riverrun.core.ids import JobId as JobId
from riverrun.core.lifecycle import JobStatus as JobStatus
from riverrun.core.options import (
    CheckpointingMode as CheckpointingMode,
)
from riverrun.core.options import (
    ExternalizedCheckpointRetention as ExternalizedCheckpointRetention,
)
from riverrun.core.options import (
    RecoveryClaimMode as RecoveryClaimMode,
)
from riverrun.core.options import (
    RuntimeExecutionMode as RuntimeExecutionMode,
)
from riverrun.core.options import (
    SavepointFormatType as SavepointFormatType,
)
from riverrun.core.time import Duration as Duration
from riverrun.core.time import Time as Time
from riverrun.datastream.async_data_stream import AsyncDataStream as AsyncDataStream
from riverrun.datastream.broadcast import (
    BroadcastConnectedStream as BroadcastConnectedStream,
)
from riverrun.datastream.broadcast import (
    BroadcastStream as BroadcastStream,
)
from riverrun.datastream.checkpoint_config import CheckpointConfig as CheckpointConfig
from riverrun.datastream.checkpoint_storage import (
    CheckpointStorage as CheckpointStorage,
)
from riverrun.datastream.checkpoint_storage import (
    FileSystemCheckpointStorage as FileSystemCheckpointStorage,
)
from riverrun.datastream.checkpoint_storage import (
    JobManagerCheckpointStorage as JobManagerCheckpointStorage,
)
from riverrun.datastream.collect import CloseableIterator as CloseableIterator
from riverrun.datastream.connected import ConnectedStreams as ConnectedStreams
from riverrun.datastream.data_stream import DataStream as DataStream
from riverrun.datastream.data_stream import KeyedStream as KeyedStream
from riverrun.datastream.data_stream_sink import DataStreamSink as DataStreamSink
from riverrun.datastream.data_stream_utils import DataStreamUtils as DataStreamUtils
from riverrun.datastream.environment import StreamExecutionEnvironment as StreamExecutionEnvironment
from riverrun.datastream.execution_config import ExecutionConfig as ExecutionConfig
from riverrun.datastream.interval_join import (
    IntervalJoin as IntervalJoin,
)
from riverrun.datastream.interval_join import (
    IntervalJoined as IntervalJoined,
)
from riverrun.datastream.job_client import (
    CompletableFuture as CompletableFuture,
)
from riverrun.datastream.job_client import (
    JobClient as JobClient,
)
from riverrun.datastream.job_client import (
    JobExecutionResult as JobExecutionResult,
)
from riverrun.datastream.slot_sharing_group import (
    MemorySize as MemorySize,
)
from riverrun.datastream.slot_sharing_group import (
    SlotSharingGroup as SlotSharingGroup,
)
from riverrun.datastream.state_backend import (
    EmbeddedRocksDBStateBackend as EmbeddedRocksDBStateBackend,
)
from riverrun.datastream.state_backend import (
    HashMapStateBackend as HashMapStateBackend,
)
from riverrun.datastream.state_backend import (
    PredefinedOptions as PredefinedOptions,
)
from riverrun.datastream.state_backend import (
    StateBackend as StateBackend,
)
from riverrun.datastream.tagged_records import TaggedUnion as TaggedUnion
from riverrun.datastream.window_join import (
    CoGroupedStreams as CoGroupedStreams,
)
from riverrun.datastream.window_join import (
    JoinedStreams as JoinedStreams,
)
from riverrun.datastream.windowed import (
    AllWindowedStream as AllWindowedStream,
)
from riverrun.datastream.windowed import (
    WindowedStream as WindowedStream,
)
from riverrun.graph.rescaling import (
    RescaleFailed as RescaleFailed,
)
from riverrun.graph.rescaling import (
    RescaleRefused as RescaleRefused,
)
from riverrun.metrics.groups import MetricGroup as MetricGroup
from riverrun.metrics.metric import (
    Counter as Counter,
)
from riverrun.metrics.metric import (
    Distribution as Distribution,
)
from riverrun.metrics.metric import (
    Histogram as Histogram,
)
from riverrun.metrics.metric import (
    Meter as Meter,
)
from riverrun.serde.instant import Instant as Instant
from riverrun.serde.row import Row as Row
from riverrun.serde.row import RowKind as RowKind
from riverrun.serde.type_info import TypeInformation as TypeInformation
from riverrun.serde.types import Types as Types
from riverrun.state_processor.bootstrap import (
    BootstrapTransformation as BootstrapTransformation,
)
from riverrun.state_processor.bootstrap import (
    OperatorTransformation as OperatorTransformation,
)
from riverrun.state_processor.bootstrap import (
    bootstrap as bootstrap,
)
from riverrun.state_processor.bootstrap_functions import (
    BroadcastStateBootstrapFunction as BroadcastStateBootstrapFunction,
)
from riverrun.state_processor.bootstrap_functions import (
    KeyedStateBootstrapFunction as KeyedStateBootstrapFunction,
)
from riverrun.state_processor.bootstrap_functions import (
    StateBootstrapFunction as StateBootstrapFunction,
)
from riverrun.state_processor.reader import SavepointReader as SavepointReader
from riverrun.state_processor.reader_functions import (
    KeyedStateReaderFunction as KeyedStateReaderFunction,
)
from riverrun.state_processor.savepoint import Savepoint as Savepoint
from riverrun.state_processor.writer import SavepointWriter as SavepointWriter
from riverrun.state_processor.writing.entries import StateRow as StateRow

__version__: str
