"""Pairs of real systems at both ends of the all-round job: what they are asked for, and what they hold."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riverrun.api.delivery_guarantee import DeliveryGuarantee
from riverrun.api.functions import MapFunction
from riverrun.api.serialization import Encoder, SimpleStringSchema
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.files.sink_builder import FileSink
from riverrun.connectors.files.source_builder import FileSource
from riverrun.connectors.files.source_lines import StreamFormat
from riverrun.connectors.jdbc.connection import JdbcConnectionOptions
from riverrun.connectors.jdbc.sink import JdbcSink
from riverrun.connectors.kafka.offsets_initializer import KafkaOffsetsInitializer
from riverrun.connectors.kafka.sink import KafkaSink
from riverrun.connectors.kafka.sink_serialization import KafkaRecordSerializationSchema
from riverrun.connectors.kafka.source import KafkaSource
from riverrun.connectors.lake.delta import DeltaSink
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.spark.allround.job import Shape, gate_of, results_of

Settings = Mapping[str, str]
LINE = Types.ROW_NAMED(["line"], [Types.STRING()])


def build(env: StreamExecutionEnvironment, shape: Shape, folder: Path, settings: Settings) -> None:
    """The all-round job between the two ends that ``settings`` name."""
    env.set_parallelism(shape.parallelism)
    lines = _SOURCES[settings["source"]](env, settings)
    sequences = lines.map(Parse(shape.rate / shape.parallelism, gate_of(folder))).name("parse")
    results = results_of(env, shape, folder, sequences).map(json.dumps, Types.STRING())
    _SINKS[settings["sink"]](results, settings)


class Parse(MapFunction):
    """Reads a line; slowly, as long as there is no gate, so that the job lasts as long as it is disturbed."""

    def __init__(self, rate: float, gate: Path) -> None:
        self._pause_s, self._gate = 1.0 / rate, str(gate)
        self._calls = 0

    def map(self, value: str) -> Any:
        self._calls += 1
        if self._pause_s:
            time.sleep(self._pause_s)
            if self._calls % 20 == 0 and Path(self._gate).exists():
                self._pause_s = 0.0
        return tuple(json.loads(value))


def _from_kafka(env: StreamExecutionEnvironment, settings: Settings) -> DataStream:
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(settings["servers"])
        .set_topics(settings["topic"])
        .set_group_id("pairs")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "sequences")


def _from_files(env: StreamExecutionEnvironment, settings: Settings) -> DataStream:
    lines = StreamFormat.text_line_format()
    source = FileSource.for_record_stream_format(lines, settings["folder"])
    return env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "sequences")


def _to_kafka(results: DataStream, settings: Settings) -> None:
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(settings["target"])
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(settings["servers"])
        .set_record_serializer(serializer)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(settings["target"])
        .build()
    )
    results.sink_to(sink).name("kafka")


def _to_files(results: DataStream, settings: Settings) -> None:
    sink = FileSink.for_row_format(settings["out"], Encoder.simple_string_encoder()).build()
    results.sink_to(sink).name("files")


def _to_postgresql(results: DataStream, settings: Settings) -> None:
    options = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(settings["url"])
        .with_driver_name("org.postgresql.Driver")
        .with_user_name(settings["user"])
        .with_password(settings["password"])
        .build()
    )
    rows = results.map(lambda line: Row(line=line), LINE)
    sink = JdbcSink.sink("INSERT INTO results (line) VALUES (?)", LINE, options)
    rows.sink_to(sink.exactly_once(name="results")).name("postgresql")


def _to_delta(results: DataStream, settings: Settings) -> None:
    rows = results.map(lambda line: Row(line=line), LINE)
    rows.sink_to(DeltaSink(settings["table"], LINE)).name("delta").uid("delta")


_SOURCES: Mapping[str, Callable[[StreamExecutionEnvironment, Settings], DataStream]] = {
    "kafka": _from_kafka,
    "files": _from_files,
}
_SINKS: Mapping[str, Callable[[DataStream, Settings], None]] = {
    "kafka": _to_kafka,
    "files": _to_files,
    "postgresql": _to_postgresql,
    "delta": _to_delta,
}


def sequences(shape: Shape, part: int, parts: int) -> Iterator[str]:
    """The records of every ``parts``-th key, in order per key."""
    keys = range(part, shape.keys, parts)
    return (json.dumps([key, n]) for n in range(shape.per_key) for key in keys)


@dataclass(frozen=True)
class Pair:
    """Two ends that are ready: filled with the sequences, and empty."""

    settings: Settings
    read_back: Callable[[], list[str]]
    restart_server: Callable[[], None] | None = None
    """Kills the server at one of the ends and starts it again."""

    def results(self) -> list[tuple[Any, ...]]:
        """What a careful reader finds behind the sink."""
        return [_tuples(json.loads(line)) for line in self.read_back()]


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
