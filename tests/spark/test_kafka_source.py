"""Kafka on Spark: counts and windows are exact although workers of the source and of the counts are killed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from riverrun.api.serialization import SimpleStringSchema
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigners import TumblingEventTimeWindows
from riverrun.connectors.kafka.offsets_initializer import KafkaOffsetsInitializer
from riverrun.connectors.kafka.partition_split import KafkaTopicPartition
from riverrun.connectors.kafka.source import KafkaSource
from riverrun.core.time import Time
from tests.servers.kafka import KafkaBroker, kafka_broker
from tests.spark.allround.chaos import Chaos, await_checkpoint
from tests.spark.allround.file_sink import FileSink, committed
from tests.spark.allround.run import RECOVERING
from tests.spark.conftest import MakeEnv

__all__ = ["kafka_broker"]

pytestmark = pytest.mark.spark

HOUR = 3_600_000
EACH = 3000
"""Records of each partition, 10 ms apart; those of different partitions are hours apart."""


def produce(broker: KafkaBroker, topic: str, first: int, count: int) -> None:
    for partition in range(3):
        begin = (1 + partition) * HOUR
        broker.produce(
            topic,
            [f"key-{number % 5}" for number in range(first, first + count)],
            partition=partition,
            timestamps=[begin + 10 * number for number in range(first, first + count)],
        )


def test_counts_and_windows_of_partitions_are_exact_over_kills(
    make_env: MakeEnv, tmp_path: Path, kafka_broker: KafkaBroker
) -> None:
    topic = kafka_broker.create_topic(partitions=3)
    produce(kafka_broker, topic, 0, EACH // 3)
    ends = {KafkaTopicPartition(topic, partition): EACH for partition in range(3)}
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka_broker.bootstrap_servers)
        .set_group_id(f"group-{topic}")
        .set_topics(topic)
        .set_value_only_deserializer(SimpleStringSchema())
        .set_bounded(KafkaOffsetsInitializer.offsets(ends))
        .build()
    )
    env = make_env(2, dict(RECOVERING))
    env.get_config().set_auto_watermark_interval(5)
    stream = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "orders")
    keyed = stream.map(lambda key: (key, 1)).key_by(lambda pair: pair[0])
    totals = keyed.reduce(lambda a, b: (a[0], a[1] + b[1])).name("totals")
    windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(1))).reduce(
        lambda a, b: (a[0], a[1] + b[1])
    )
    totals.sink_to(FileSink(str(tmp_path / "totals")))
    windows.sink_to(FileSink(str(tmp_path / "windows")))
    client = env.execute_async("kafka")
    chaos = Chaos(client)
    await_checkpoint(client, 2)

    chaos.kill_and_recover("orders", 1)
    produce(kafka_broker, topic, EACH // 3, EACH // 3)
    await_checkpoint(client, 1)
    chaos.kill_and_recover("totals", 0)
    produce(kafka_broker, topic, 2 * EACH // 3, EACH // 3)
    client.get_job_execution_result().result(90)

    of_a_key = 3 * EACH // 5
    assert sorted(committed(tmp_path / "totals")) == [
        (f"key-{key}", number + 1) for key in range(5) for number in range(of_a_key)
    ]
    # A second has 100 records of a partition, 20 of each key; nothing came too late.
    seconds = 3 * EACH // 100
    assert Counter(committed(tmp_path / "windows")) == {
        (f"key-{key}", 20): seconds for key in range(5)
    }
