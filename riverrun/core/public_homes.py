"""In which module each public name of the package is defined: only strings, so that nothing is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HOMES: Final[Mapping[str, str]] = {
    name: module
    for module, names in {
        "riverrun.connectors.arrow_batches": "ArrowSource BatchGeneratorSource",
        "riverrun.api.columns": "Column col",
        "riverrun.api.column_aggregates": "Agg Aggregate",
        "riverrun.api.bad_records": "BadRecords DEAD_LETTERS DeadLetter",
        "riverrun.api.batch_functions": "BatchFormat BatchFunction",
        "riverrun.api.checkpointed": """
            CheckpointListener CheckpointedFunction FunctionInitializationContext
            FunctionSnapshotContext
        """,
        "riverrun.api.async_retry_strategies": """
            AsyncRetryPredicate AsyncRetryStrategy ExponentialBackoffDelayRetryStrategy
            ExponentialBackoffDelayRetryStrategyBuilder FixedDelayRetryStrategy
            FixedDelayRetryStrategyBuilder NoRetryStrategy RetryPredicate
        """,
        "riverrun.api.delivery_guarantee": "DeliveryGuarantee",
        "riverrun.api.functions": """
            AsyncFunction
            AggregateFunction BroadcastProcessFunction CoFlatMapFunction CoMapFunction
            CoProcessFunction KeyedBroadcastProcessFunction KeyedStateStore
            FilterFunction FlatMapFunction Function KeyedCoProcessFunction
            KeyedProcessFunction KeySelector MapFunction Partitioner ProcessFunction
            ReduceFunction RuntimeContext SinkFunction SourceFunction
        """,
        "riverrun.api.join_functions": """
            CoGroupFunction FlatJoinFunction JoinFunction ProcessJoinFunction
        """,
        "riverrun.api.output_tag": "OutputTag",
        "riverrun.api.sink": "Committable Committer Sink SinkWriter SinkWriterContext",
        "riverrun.api.source": """
            Boundedness Polled Source SourceReader SourceReaderContext SourceStatus
        """,
        "riverrun.api.state": """
            AggregatingState AggregatingStateDescriptor AppendingState BroadcastState
            ListState ListStateDescriptor MapState MapStateDescriptor MergingState
            OperatorStateStore ReadOnlyBroadcastState ReducingState
            ReducingStateDescriptor State StateDescriptor ValueState
            ValueStateDescriptor
        """,
        "riverrun.api.state_ttl": "StateTtlConfig",
        "riverrun.api.timer_service": "TimeDomain TimerService",
        "riverrun.api.watermark_generator": """
            Watermark WatermarkGenerator WatermarkGeneratorSupplier WatermarkOutput
        """,
        "riverrun.api.watermark_strategy": """
            AssignerWithPeriodicWatermarks IngestionTimeAssigner RecordTimestampAssigner
            TimestampAssigner WatermarkStrategy
        """,
        "riverrun.connectors.callback": "CallbackSink",
        "riverrun.connectors.collection": "CollectionSource",
        "riverrun.connectors.datagen": "DataGeneratorSource GeneratorFunction",
        "riverrun.connectors.rate_limits": "RateLimiterStrategy",
        "riverrun.connectors.generated.source": "RowGeneratorSource",
        "riverrun.connectors.generated.fields": "RandomField SequenceField",
        "riverrun.connectors.sockets.text_source": "SocketTextSource",
        "riverrun.connectors.sockets.sink": "SocketSink",
        "riverrun.connectors.discard": "BlackHoleSink DiscardingSink",
        "riverrun.connectors.hybrid.source": "HybridSource HybridSourceBuilder",
        "riverrun.connectors.web.polling_source": "HttpPollingSource",
        "riverrun.connectors.web.http_sink": "HttpRefusal HttpSink",
        "riverrun.connectors.web.pages": "HttpFormat HttpPage",
        "riverrun.connectors.web.websocket_source": "WebSocketSource",
        "riverrun.connectors.web.websocket_sink": "WebSocketSink",
        "riverrun.connectors.redis.sink": "RedisSink",
        "riverrun.connectors.redis.commands": "RedisCommand",
        "riverrun.connectors.redis.stream_source": "RedisStreamEntry RedisStreamSource",
        "riverrun.connectors.redis.lookup": "RedisLookupFunction",
        "riverrun.connectors.view": "UpsertView ViewChanges",
        "riverrun.connectors.files.bucket_assigners": "BucketAssigner",
        "riverrun.connectors.files.compaction_strategy": "FileCompactStrategy FileCompactor",
        "riverrun.connectors.files.output_columns": """
            AvroParquetWriters OrcBulkWriters ParquetBulkWriters
        """,
        "riverrun.connectors.files.output_config": "OutputFileConfig",
        "riverrun.connectors.files.output_formats": "BulkWriter",
        "riverrun.connectors.files.output_records": "AvroBulkWriters CsvBulkWriters",
        "riverrun.connectors.files.rolling_policies": """
            DefaultRollingPolicy OnCheckpointRollingPolicy RollingPolicy
        """,
        "riverrun.connectors.files.sink_builder": "FileSink",
        "riverrun.connectors.files.sink_streaming": "StreamingFileSink",
        "riverrun.connectors.files.source_avro": "AvroFileFormat AvroInputFormat",
        "riverrun.connectors.files.source_builder": """
            FileEnumeratorProvider FileSource FileSourceBuilder FileSplitAssignerProvider
        """,
        "riverrun.connectors.files.source_columns": """
            AvroParquetReaders OrcColumnarRowInputFormat ParquetColumnarRowInputFormat
        """,
        "riverrun.connectors.files.source_csv": "CsvReaderFormat",
        "riverrun.connectors.files.source_formats": "BulkFormat FileFormat",
        "riverrun.connectors.files.source_lines": "StreamFormat",
        "riverrun.connectors.formats.avro_rows": """
            AvroDeserializationSchema AvroRowDeserializationSchema AvroRowSerializationSchema
            AvroSerializationSchema
        """,
        "riverrun.connectors.formats.avro_schema": "AvroSchema GenericRecordAvroTypeInfo",
        "riverrun.connectors.formats.confluent_avro": """
            ConfluentRegistryAvroDeserializationSchema ConfluentRegistryAvroSerializationSchema
        """,
        "riverrun.connectors.formats.confluent_registry": "ConfluentRegistry",
        "riverrun.connectors.formats.csv_rows": """
            CsvRowDeserializationSchema CsvRowSerializationSchema
        """,
        "riverrun.connectors.formats.csv_schema": "CsvSchema CsvSchemaBuilder",
        "riverrun.connectors.formats.json_plain": """
            JsonDeserializationSchema JsonSerializationSchema
        """,
        "riverrun.connectors.formats.json_rows": """
            JsonRowDeserializationSchema JsonRowSerializationSchema
        """,
        "riverrun.connectors.formats.protobuf": """
            ProtobufDeserializationSchema ProtobufSerializationSchema
        """,
        "riverrun.api.serialization": """
            BulkWriterFactory ByteArraySchema DeserializationSchema Encoder SerializationSchema
            SimpleStringSchema
        """,
        "riverrun.connectors.formats.raw": "RawFormatSchema",
        "riverrun.connectors.formats.times": "TimestampFormat",
        "riverrun.connectors.iterator": "IteratorSource",
        "riverrun.connectors.jdbc.connection": "JdbcConnectionOptions",
        "riverrun.connectors.jdbc.execution": "JdbcExecutionOptions",
        "riverrun.connectors.jdbc.lookup": "JdbcLookupFunction LookupOptions",
        "riverrun.connectors.jdbc.ranges": "JdbcNumericBetweenParametersProvider",
        "riverrun.connectors.jdbc.sink": "JdbcSink",
        "riverrun.connectors.jdbc.source": "JdbcSource",
        "riverrun.connectors.kafka.offsets_initializer": """
            KafkaOffsetResetStrategy KafkaOffsetsInitializer
        """,
        "riverrun.connectors.kafka.partition_split": "KafkaTopicPartition",
        "riverrun.connectors.kafka.sink": "KafkaSink",
        "riverrun.connectors.kafka.sink_serialization": """
            KafkaPartitioner KafkaRecordSerializationSchema KafkaTopicSelector
        """,
        "riverrun.connectors.kafka.source": "KafkaSource",
        "riverrun.connectors.kafka.source_records": """
            KafkaRecord KafkaRecordDeserializationSchema
        """,
        "riverrun.connectors.lake.delta": "DeltaSink",
        "riverrun.connectors.lake.iceberg": "IcebergSink",
        "riverrun.connectors.lake.settings": "LakeSettings",
        "riverrun.connectors.spark.sinks": "ForeachBatchSink",
        "riverrun.connectors.spark.source": "DataFrameSource",
        "riverrun.connectors.number_sequence": "NumberSequenceSource",
        "riverrun.connectors.postgres_cdc.rows": "Unavailable",
        "riverrun.connectors.postgres_cdc.source": "PostgresCdcSource",
        "riverrun.connectors.print": "PrintSink",
        "riverrun.core.config_options": "ConfigOption ConfigOptions",
        "riverrun.core.configuration": "Configuration",
        "riverrun.core.errors": """
            ConfigError ExternalError JobCanceled JobFailed NotPicklable
            ProgramError RiverrunError TooFewSlots
        """,
        "riverrun.core.ids": "JobId",
        "riverrun.core.lifecycle": "JobStatus",
        "riverrun.core.options": """
            CheckpointingMode ExternalizedCheckpointRetention RecoveryClaimMode RuntimeExecutionMode
            SavepointFormatType
        """,
        "riverrun.core.time": "Duration Time",
        "riverrun.datastream.async_data_stream": "AsyncDataStream",
        "riverrun.datastream.broadcast": "BroadcastConnectedStream BroadcastStream",
        "riverrun.datastream.checkpoint_config": "CheckpointConfig",
        "riverrun.datastream.checkpoint_storage": """
            CheckpointStorage FileSystemCheckpointStorage JobManagerCheckpointStorage
        """,
        "riverrun.datastream.collect": "CloseableIterator",
        "riverrun.datastream.connected": "ConnectedStreams",
        "riverrun.datastream.data_stream": "DataStream KeyedStream",
        "riverrun.datastream.data_stream_sink": "DataStreamSink",
        "riverrun.datastream.data_stream_utils": "DataStreamUtils",
        "riverrun.datastream.environment": "StreamExecutionEnvironment",
        "riverrun.datastream.execution_config": "ExecutionConfig",
        "riverrun.datastream.interval_join": "IntervalJoin IntervalJoined",
        "riverrun.datastream.job_client": "CompletableFuture JobClient JobExecutionResult",
        "riverrun.graph.rescaling": "RescaleFailed RescaleRefused",
        "riverrun.datastream.slot_sharing_group": "MemorySize SlotSharingGroup",
        "riverrun.datastream.state_backend": """
            EmbeddedRocksDBStateBackend HashMapStateBackend PredefinedOptions
            StateBackend
        """,
        "riverrun.datastream.tagged_records": "TaggedUnion",
        "riverrun.datastream.window_join": "CoGroupedStreams JoinedStreams",
        "riverrun.metrics.groups": "MetricGroup",
        "riverrun.metrics.metric": "Counter Distribution Histogram Meter",
        "riverrun.serde.instant": "Instant",
        "riverrun.serde.row": "Row RowKind",
        "riverrun.serde.type_info": "TypeInformation",
        "riverrun.serde.types": "Types",
        "riverrun.state_processor.bootstrap": """
            BootstrapTransformation OperatorTransformation bootstrap
        """,
        "riverrun.state_processor.bootstrap_functions": """
            BroadcastStateBootstrapFunction KeyedStateBootstrapFunction StateBootstrapFunction
        """,
        "riverrun.state_processor.reader": "SavepointReader",
        "riverrun.state_processor.reader_functions": "KeyedStateReaderFunction",
        "riverrun.state_processor.savepoint": "Savepoint",
        "riverrun.state_processor.writer": "SavepointWriter",
        "riverrun.state_processor.writing.entries": "StateRow",
        "riverrun.api.windows": "CountWindow GlobalWindow TimeWindow Window",
        "riverrun.api.window_assigner": "MergingWindowAssigner WindowAssigner",
        "riverrun.api.window_functions": """
            AllWindowFunction ProcessAllWindowFunction ProcessWindowFunction
            WindowFunction
        """,
        "riverrun.api.trigger": "Trigger TriggerResult",
        "riverrun.api.triggers": """
            ContinuousEventTimeTrigger ContinuousProcessingTimeTrigger
            CountTrigger DeltaFunction DeltaTrigger EndOfStreamTrigger
            EventTimeTrigger NeverTrigger ProcessingTimeTrigger
            ProcessingTimeoutTrigger PurgingTrigger
        """,
        "riverrun.api.window_assigners": """
            CountSlidingWindowAssigner CountTumblingWindowAssigner
            DynamicEventTimeSessionWindows
            DynamicProcessingTimeSessionWindows EventTimeSessionWindows
            GlobalWindows ProcessingTimeSessionWindows
            SessionWindowTimeGapExtractor SlidingEventTimeWindows
            SlidingProcessingTimeWindows TumblingEventTimeWindows
            TumblingProcessingTimeWindows
        """,
        "riverrun.api.evictor": "Evictor TimestampedValue",
        "riverrun.api.evictors": "CountEvictor DeltaEvictor TimeEvictor",
        "riverrun.datastream.windowed": "AllWindowedStream WindowedStream",
    }.items()
    for name in names.split()
}
"""Name -> module."""
