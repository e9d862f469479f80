"""Which riverrun object stands for which PyFlink name.

Each name is listed once, under the PyFlink module that defines it. PyFlink modules that take the name
from there (``pyflink.datastream``, ``pyflink.common``, ...) follow by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PYFLINK_VERSION: Final = "2.3.0"

TABLE: Final[Mapping[str, Mapping[str, str]]] = {
    "pyflink.version": {"__version__": "riverrun.compat.pyflink.table:PYFLINK_VERSION"},
    "pyflink.common.completable_future": {
        "CompletableFuture": "riverrun.datastream.job_client:CompletableFuture",
    },
    "pyflink.common.config_options": {
        "ConfigOption": "riverrun.core.config_options:ConfigOption",
        "ConfigOptions": "riverrun.core.config_options:ConfigOptions",
    },
    "pyflink.common.configuration": {
        "Configuration": "riverrun.core.configuration:Configuration",
    },
    "pyflink.common.execution_config": {
        "ExecutionConfig": "riverrun.datastream.execution_config:ExecutionConfig",
    },
    "pyflink.common.job_client": {"JobClient": "riverrun.datastream.job_client:JobClient"},
    "pyflink.common.job_execution_result": {
        "JobExecutionResult": "riverrun.datastream.job_client:JobExecutionResult",
    },
    "pyflink.common.job_id": {"JobID": "riverrun.core.ids:JobId"},
    "pyflink.common.job_status": {"JobStatus": "riverrun.core.lifecycle:JobStatus"},
    "pyflink.common.restart_strategy": {
        "RestartStrategies": "riverrun.datastream.restart_strategies:RestartStrategies",
        "RestartStrategyConfiguration": "riverrun.datastream.restart_strategies:RestartStrategyConfiguration",
    },
    "pyflink.common.serialization": {
        name: f"riverrun.api.serialization:{name}"
        for name in (
            "BulkWriterFactory",
            "ByteArraySchema",
            "DeserializationSchema",
            "Encoder",
            "RowDataBulkWriterFactory",
            "RowFieldExtractorSchema",
            "SerializationSchema",
            "SimpleStringSchema",
        )
    },
    "pyflink.common.serializer": {
        "TypeSerializer": "riverrun.serde.type_serializer:TypeSerializer",
        "VoidNamespaceSerializer": "riverrun.serde.type_serializer:VoidNamespaceSerializer",
    },
    "pyflink.common.time": {
        "Duration": "riverrun.core.time:Duration",
        "Instant": "riverrun.serde.instant:Instant",
        "Time": "riverrun.core.time:Time",
    },
    "pyflink.common.typeinfo": {
        "BasicArrayTypeInfo": "riverrun.serde.collection_types:BasicArrayTypeInfo",
        "BasicType": "riverrun.serde.basic_types:BasicType",
        "BasicTypeInfo": "riverrun.serde.basic_types:BasicTypeInfo",
        "DateTypeInfo": "riverrun.serde.time_types:DateTypeInfo",
        "ExternalTypeInfo": "riverrun.serde.composite_types:ExternalTypeInfo",
        "InstantTypeInfo": "riverrun.serde.basic_types:InstantTypeInfo",
        "ListTypeInfo": "riverrun.serde.collection_types:ListTypeInfo",
        "LocalTimeTypeInfo": "riverrun.serde.time_types:LocalTimeTypeInfo",
        "MapTypeInfo": "riverrun.serde.collection_types:MapTypeInfo",
        "ObjectArrayTypeInfo": "riverrun.serde.collection_types:ObjectArrayTypeInfo",
        "PickledBytesTypeInfo": "riverrun.serde.basic_types:PickledBytesTypeInfo",
        "PrimitiveArrayTypeInfo": "riverrun.serde.collection_types:PrimitiveArrayTypeInfo",
        "RowTypeInfo": "riverrun.serde.composite_types:RowTypeInfo",
        "SqlTimeTypeInfo": "riverrun.serde.time_types:SqlTimeTypeInfo",
        "TimeTypeInfo": "riverrun.serde.time_types:TimeTypeInfo",
        "TimestampTypeInfo": "riverrun.serde.time_types:TimestampTypeInfo",
        "TupleTypeInfo": "riverrun.serde.composite_types:TupleTypeInfo",
        "TypeInformation": "riverrun.serde.type_info:TypeInformation",
        "Types": "riverrun.serde.types:Types",
    },
    "pyflink.common.types": {
        "Row": "riverrun.serde.row:Row",
        "RowKind": "riverrun.serde.row:RowKind",
    },
    "pyflink.common.watermark_strategy": {
        "AssignerWithPeriodicWatermarksWrapper": (
            "riverrun.api.watermark_strategy:AssignerWithPeriodicWatermarksWrapper"
        ),
        "TimestampAssigner": "riverrun.api.watermark_strategy:TimestampAssigner",
        "WatermarkStrategy": "riverrun.api.watermark_strategy:WatermarkStrategy",
    },
    "pyflink.datastream.async_data_stream": {
        "AsyncDataStream": "riverrun.datastream.async_data_stream:AsyncDataStream",
    },
    "pyflink.datastream.async_retry_predicates": {
        "empty_result_predicate": "riverrun.api.async_retry_predicates:empty_result_predicate",
        "exception_type_predicate": "riverrun.api.async_retry_predicates:exception_type_predicate",
        "has_exception_predicate": "riverrun.api.async_retry_predicates:has_exception_predicate",
    },
    "pyflink.datastream.async_retry_strategies": {
        "ExponentialBackoffDelayRetryStrategy": (
            "riverrun.api.async_retry_strategies:ExponentialBackoffDelayRetryStrategy"
        ),
        "FixedDelayRetryStrategy": "riverrun.api.async_retry_strategies:FixedDelayRetryStrategy",
        "NO_RETRY_STRATEGY": "riverrun.api.async_retry_strategies:NO_RETRY_STRATEGY",
        "NoRetryStrategy": "riverrun.api.async_retry_strategies:NoRetryStrategy",
        "RetryPredicate": "riverrun.api.async_retry_strategies:RetryPredicate",
    },
    "pyflink.datastream.checkpoint_config": {
        "CheckpointConfig": "riverrun.datastream.checkpoint_config:CheckpointConfig",
    },
    "pyflink.datastream.checkpoint_storage": {
        "CheckpointStorage": "riverrun.datastream.checkpoint_storage:CheckpointStorage",
        "FileSystemCheckpointStorage": "riverrun.datastream.checkpoint_storage:FileSystemCheckpointStorage",
        "JobManagerCheckpointStorage": "riverrun.datastream.checkpoint_storage:JobManagerCheckpointStorage",
    },
    "pyflink.datastream.checkpointing_mode": {
        "CheckpointingMode": "riverrun.core.options:CheckpointingMode",
    },
    "pyflink.datastream.connectors.base": {
        "DeliveryGuarantee": "riverrun.api.delivery_guarantee:DeliveryGuarantee",
        "Sink": "riverrun.api.sink:Sink",
        "Source": "riverrun.api.source:Source",
    },
    "pyflink.datastream.connectors.file_system": {
        "BucketAssigner": "riverrun.connectors.files.bucket_assigners:BucketAssigner",
        **{
            name: f"riverrun.connectors.files.rolling_policies:{name}"
            for name in ("DefaultRollingPolicy", "OnCheckpointRollingPolicy", "RollingPolicy")
        },
        "FileCompactStrategy": "riverrun.connectors.files.compaction_strategy:FileCompactStrategy",
        "FileCompactor": "riverrun.connectors.files.compaction_strategy:FileCompactor",
        "FileSink": "riverrun.connectors.files.sink_builder:FileSink",
        "OutputFileConfig": "riverrun.connectors.files.output_config:OutputFileConfig",
        "StreamingFileSink": "riverrun.connectors.files.sink_streaming:StreamingFileSink",
        "BulkFormat": "riverrun.connectors.files.source_formats:BulkFormat",
        "FileEnumeratorProvider": "riverrun.connectors.files.source_builder:FileEnumeratorProvider",
        "FileSource": "riverrun.connectors.files.source_builder:FileSource",
        "FileSourceBuilder": "riverrun.connectors.files.source_builder:FileSourceBuilder",
        "FileSplitAssignerProvider": (
            "riverrun.connectors.files.source_builder:FileSplitAssignerProvider"
        ),
        "StreamFormat": "riverrun.connectors.files.source_lines:StreamFormat",
    },
    "pyflink.datastream.connectors.hybrid_source": {
        "HybridSource": "riverrun.connectors.hybrid.source:HybridSource",
        "HybridSourceBuilder": "riverrun.connectors.hybrid.source:HybridSourceBuilder",
    },
    "pyflink.datastream.connectors.jdbc": {
        "JdbcConnectionOptions": "riverrun.connectors.jdbc.connection:JdbcConnectionOptions",
        "JdbcExecutionOptions": "riverrun.connectors.jdbc.execution:JdbcExecutionOptions",
        "JdbcSink": "riverrun.connectors.jdbc.sink:JdbcSink",
    },
    "pyflink.datastream.connectors.kafka": {
        "KafkaOffsetResetStrategy": (
            "riverrun.connectors.kafka.offsets_initializer:KafkaOffsetResetStrategy"
        ),
        "KafkaOffsetsInitializer": (
            "riverrun.connectors.kafka.offsets_initializer:KafkaOffsetsInitializer"
        ),
        "KafkaRecordSerializationSchema": (
            "riverrun.connectors.kafka.sink_serialization:KafkaRecordSerializationSchema"
        ),
        "KafkaRecordSerializationSchemaBuilder": (
            "riverrun.connectors.kafka.sink_serialization:KafkaRecordSerializationSchemaBuilder"
        ),
        "KafkaSink": "riverrun.connectors.kafka.sink:KafkaSink",
        "KafkaSinkBuilder": "riverrun.connectors.kafka.sink:KafkaSinkBuilder",
        "KafkaSource": "riverrun.connectors.kafka.source:KafkaSource",
        "KafkaSourceBuilder": "riverrun.connectors.kafka.source:KafkaSourceBuilder",
        "KafkaTopicPartition": "riverrun.connectors.kafka.partition_split:KafkaTopicPartition",
        "KafkaTopicSelector": "riverrun.connectors.kafka.sink_serialization:KafkaTopicSelector",
    },
    "pyflink.datastream.connectors.number_seq": {
        "NumberSequenceSource": "riverrun.connectors.number_sequence:NumberSequenceSource",
    },
    "pyflink.datastream.data_stream": {
        "CachedDataStream": "riverrun.datastream.data_stream:CachedDataStream",
        "AllWindowedStream": "riverrun.datastream.windowed:AllWindowedStream",
        "BroadcastConnectedStream": "riverrun.datastream.broadcast:BroadcastConnectedStream",
        "BroadcastStream": "riverrun.datastream.broadcast:BroadcastStream",
        "CloseableIterator": "riverrun.datastream.collect:CloseableIterator",
        "ConnectedStreams": "riverrun.datastream.connected:ConnectedStreams",
        "DataStream": "riverrun.datastream.data_stream:DataStream",
        "DataStreamSink": "riverrun.datastream.data_stream_sink:DataStreamSink",
        "KeyedStream": "riverrun.datastream.data_stream:KeyedStream",
        "WindowedStream": "riverrun.datastream.windowed:WindowedStream",
    },
    "pyflink.datastream.execution_mode": {
        "RuntimeExecutionMode": "riverrun.core.options:RuntimeExecutionMode",
    },
    "pyflink.datastream.externalized_checkpoint_retention": {
        "ExternalizedCheckpointRetention": "riverrun.core.options:ExternalizedCheckpointRetention",
    },
    "pyflink.datastream.formats.avro": {
        **{
            name: f"riverrun.connectors.formats.avro_rows:{name}"
            for name in ("AvroRowDeserializationSchema", "AvroRowSerializationSchema")
        },
        "AvroBulkWriters": "riverrun.connectors.files.output_records:AvroBulkWriters",
        "AvroInputFormat": "riverrun.connectors.files.source_avro:AvroInputFormat",
        "AvroSchema": "riverrun.connectors.formats.avro_schema:AvroSchema",
        "GenericRecordAvroTypeInfo": (
            "riverrun.connectors.formats.avro_schema:GenericRecordAvroTypeInfo"
        ),
    },
    "pyflink.datastream.formats.csv": {
        "CsvBulkWriters": "riverrun.connectors.files.output_records:CsvBulkWriters",
        "CsvReaderFormat": "riverrun.connectors.files.source_csv:CsvReaderFormat",
        "CsvRowDeserializationSchema": (
            "riverrun.connectors.formats.csv_rows:CsvRowDeserializationSchema"
        ),
        "CsvRowSerializationSchema": "riverrun.connectors.formats.csv_rows:CsvRowSerializationSchema",
        "CsvSchema": "riverrun.connectors.formats.csv_schema:CsvSchema",
        "CsvSchemaBuilder": "riverrun.connectors.formats.csv_schema:CsvSchemaBuilder",
    },
    "pyflink.datastream.formats.json": {
        "JsonRowDeserializationSchema": (
            "riverrun.connectors.formats.json_rows:JsonRowDeserializationSchema"
        ),
        "JsonRowSerializationSchema": (
            "riverrun.connectors.formats.json_rows:JsonRowSerializationSchema"
        ),
    },
    "pyflink.datastream.formats.orc": {
        "OrcBulkWriters": "riverrun.connectors.files.output_columns:OrcBulkWriters",
    },
    "pyflink.datastream.formats.parquet": {
        **{
            name: f"riverrun.connectors.files.output_columns:{name}"
            for name in ("AvroParquetWriters", "ParquetBulkWriters")
        },
        "AvroParquetReaders": "riverrun.connectors.files.source_columns:AvroParquetReaders",
        "ParquetColumnarRowInputFormat": (
            "riverrun.connectors.files.source_columns:ParquetColumnarRowInputFormat"
        ),
    },
    "pyflink.datastream.functions": {
        **{
            name: f"riverrun.compat.pyflink.window_adapters:{name}"
            for name in (
                "FunctionWrapper",
                "InternalIterableAllWindowFunction",
                "InternalIterableProcessAllWindowFunction",
                "InternalIterableProcessWindowFunction",
                "InternalIterableWindowFunction",
                "InternalProcessAllWindowContext",
                "InternalProcessWindowContext",
                "InternalSingleValueAllWindowFunction",
                "InternalSingleValueProcessAllWindowFunction",
                "InternalSingleValueProcessWindowFunction",
                "InternalSingleValueWindowFunction",
                "InternalWindowFunction",
                "ReduceFunctionWrapper",
            )
        },
        "AggregateFunction": "riverrun.api.functions:AggregateFunction",
        "AllWindowFunction": "riverrun.api.window_functions:AllWindowFunction",
        "AsyncFunction": "riverrun.api.async_functions:AsyncFunction",
        "AsyncFunctionDescriptor": "riverrun.api.async_functions:AsyncFunctionDescriptor",
        "AsyncRetryPredicate": "riverrun.api.async_retry_strategies:AsyncRetryPredicate",
        "AsyncRetryStrategy": "riverrun.api.async_retry_strategies:AsyncRetryStrategy",
        "BaseBroadcastProcessFunction": "riverrun.api.broadcast_functions:BaseBroadcastProcessFunction",
        "BroadcastProcessFunction": "riverrun.api.broadcast_functions:BroadcastProcessFunction",
        "CoFlatMapFunction": "riverrun.api.co_functions:CoFlatMapFunction",
        "CoMapFunction": "riverrun.api.co_functions:CoMapFunction",
        "CoProcessFunction": "riverrun.api.co_functions:CoProcessFunction",
        "FilterFunction": "riverrun.api.functions:FilterFunction",
        "FlatMapFunction": "riverrun.api.functions:FlatMapFunction",
        "Function": "riverrun.api.function:Function",
        "KeySelector": "riverrun.api.functions:KeySelector",
        "KeyedBroadcastProcessFunction": "riverrun.api.broadcast_functions:KeyedBroadcastProcessFunction",
        "KeyedCoProcessFunction": "riverrun.api.co_functions:KeyedCoProcessFunction",
        "KeyedProcessFunction": "riverrun.api.process_functions:KeyedProcessFunction",
        "KeyedStateStore": "riverrun.api.runtime_context:KeyedStateStore",
        "MapFunction": "riverrun.api.functions:MapFunction",
        "NullByteKeySelector": "riverrun.api.functions:NullByteKeySelector",
        "Partitioner": "riverrun.api.functions:Partitioner",
        "PassThroughAllWindowFunction": "riverrun.api.window_functions:PassThroughAllWindowFunction",
        "PassThroughWindowFunction": "riverrun.api.window_functions:PassThroughWindowFunction",
        "ProcessAllWindowFunction": "riverrun.api.window_functions:ProcessAllWindowFunction",
        "ProcessFunction": "riverrun.api.process_functions:ProcessFunction",
        "ProcessWindowFunction": "riverrun.api.window_functions:ProcessWindowFunction",
        "ReduceFunction": "riverrun.api.functions:ReduceFunction",
        "RuntimeContext": "riverrun.api.runtime_context:RuntimeContext",
        "SinkFunction": "riverrun.api.source_sink_functions:SinkFunction",
        "SourceFunction": "riverrun.api.source_sink_functions:SourceFunction",
        "WindowFunction": "riverrun.api.window_functions:WindowFunction",
    },
    "pyflink.datastream.output_tag": {"OutputTag": "riverrun.api.output_tag:OutputTag"},
    "pyflink.datastream.slot_sharing_group": {
        "MemorySize": "riverrun.datastream.slot_sharing_group:MemorySize",
        "SlotSharingGroup": "riverrun.datastream.slot_sharing_group:SlotSharingGroup",
    },
    "pyflink.datastream.state": {
        "AggregatingState": "riverrun.api.state:AggregatingState",
        "AggregatingStateDescriptor": "riverrun.api.state:AggregatingStateDescriptor",
        "AppendingState": "riverrun.api.state:AppendingState",
        "BroadcastState": "riverrun.api.state:BroadcastState",
        "ListState": "riverrun.api.state:ListState",
        "ListStateDescriptor": "riverrun.api.state:ListStateDescriptor",
        "MapState": "riverrun.api.state:MapState",
        "MapStateDescriptor": "riverrun.api.state:MapStateDescriptor",
        "MergingState": "riverrun.api.state:MergingState",
        "OperatorStateStore": "riverrun.api.state:OperatorStateStore",
        "ReadOnlyBroadcastState": "riverrun.api.state:ReadOnlyBroadcastState",
        "ReducingState": "riverrun.api.state:ReducingState",
        "ReducingStateDescriptor": "riverrun.api.state:ReducingStateDescriptor",
        "State": "riverrun.api.state:State",
        "StateDescriptor": "riverrun.api.state:StateDescriptor",
        "StateTtlConfig": "riverrun.api.state_ttl:StateTtlConfig",
        "ValueState": "riverrun.api.state:ValueState",
        "ValueStateDescriptor": "riverrun.api.state:ValueStateDescriptor",
    },
    "pyflink.datastream.state_backend": {
        "EmbeddedRocksDBStateBackend": "riverrun.datastream.state_backend:EmbeddedRocksDBStateBackend",
        "HashMapStateBackend": "riverrun.datastream.state_backend:HashMapStateBackend",
        "PredefinedOptions": "riverrun.datastream.state_backend:PredefinedOptions",
        "StateBackend": "riverrun.datastream.state_backend:StateBackend",
    },
    "pyflink.datastream.stream_execution_environment": {
        "StreamExecutionEnvironment": "riverrun.datastream.environment:StreamExecutionEnvironment",
    },
    "pyflink.datastream.time_domain": {"TimeDomain": "riverrun.api.timer_service:TimeDomain"},
    "pyflink.datastream.timerservice": {"TimerService": "riverrun.api.timer_service:TimerService"},
    "pyflink.datastream.window": {
        "ContinuousEventTimeTrigger": "riverrun.api.continuous_triggers:ContinuousEventTimeTrigger",
        "ContinuousProcessingTimeTrigger": "riverrun.api.continuous_triggers:ContinuousProcessingTimeTrigger",
        "CountSlidingWindowAssigner": "riverrun.api.count_window_assigners:CountSlidingWindowAssigner",
        "CountTrigger": "riverrun.api.triggers:CountTrigger",
        "CountTumblingWindowAssigner": "riverrun.api.count_window_assigners:CountTumblingWindowAssigner",
        "CountWindow": "riverrun.api.windows:CountWindow",
        "CountWindowSerializer": "riverrun.api.window_serializers:CountWindowSerializer",
        "DynamicEventTimeSessionWindows": "riverrun.api.session_windows:DynamicEventTimeSessionWindows",
        "DynamicProcessingTimeSessionWindows": "riverrun.api.session_windows:DynamicProcessingTimeSessionWindows",
        "EventTimeSessionWindows": "riverrun.api.session_windows:EventTimeSessionWindows",
        "EventTimeTrigger": "riverrun.api.triggers:EventTimeTrigger",
        "GlobalWindow": "riverrun.api.windows:GlobalWindow",
        "GlobalWindowSerializer": "riverrun.api.window_serializers:GlobalWindowSerializer",
        "GlobalWindows": "riverrun.api.window_assigners:GlobalWindows",
        "MergingWindowAssigner": "riverrun.api.window_assigner:MergingWindowAssigner",
        "Min": "riverrun.api.continuous_triggers:Min",
        "NeverTrigger": "riverrun.api.triggers:NeverTrigger",
        "ProcessingTimeSessionWindows": "riverrun.api.session_windows:ProcessingTimeSessionWindows",
        "ProcessingTimeTrigger": "riverrun.api.triggers:ProcessingTimeTrigger",
        "PurgingTrigger": "riverrun.api.nesting_triggers:PurgingTrigger",
        "SessionWindowTimeGapExtractor": "riverrun.api.session_windows:SessionWindowTimeGapExtractor",
        "SlidingEventTimeWindows": "riverrun.api.window_assigners:SlidingEventTimeWindows",
        "SlidingProcessingTimeWindows": "riverrun.api.window_assigners:SlidingProcessingTimeWindows",
        "TimeWindow": "riverrun.api.windows:TimeWindow",
        "TimeWindowSerializer": "riverrun.api.window_serializers:TimeWindowSerializer",
        "Trigger": "riverrun.api.trigger:Trigger",
        "TriggerResult": "riverrun.api.trigger:TriggerResult",
        "TumblingEventTimeWindows": "riverrun.api.window_assigners:TumblingEventTimeWindows",
        "TumblingProcessingTimeWindows": "riverrun.api.window_assigners:TumblingProcessingTimeWindows",
        "Window": "riverrun.api.windows:Window",
        "WindowAssigner": "riverrun.api.window_assigner:WindowAssigner",
        "WindowOperationDescriptor": "riverrun.datastream.window_operation:WindowOperationDescriptor",
    },
    "pyflink.metrics.metricbase": {
        "Counter": "riverrun.metrics.metric:Counter",
        "Distribution": "riverrun.metrics.metric:Distribution",
        "Meter": "riverrun.metrics.metric:Meter",
        "Metric": "riverrun.metrics.metric:Metric",
        "MetricGroup": "riverrun.metrics.groups:MetricGroup",
    },
}
"""PyFlink module -> name -> "module:name" in riverrun."""
