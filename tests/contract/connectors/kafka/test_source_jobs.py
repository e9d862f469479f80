"""Whole jobs that read a real broker: event time of each partition, dead letters, refusals, conformance."""

from __future__ import annotations

import pytest

from riverrun.api.bad_records import DEAD_LETTERS, BadRecords
from riverrun.api.serialization import SimpleStringSchema
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigners import TumblingEventTimeWindows
from riverrun.connectors.kafka.offsets_initializer import KafkaOffsetsInitializer
from riverrun.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from riverrun.core.configuration import Configuration
from riverrun.core.errors import JobFailed
from riverrun.core.time import Time
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.testing.conformance.sources import check_source
from tests.servers.kafka import KafkaBroker

LATEST = KafkaOffsetsInitializer.latest()


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    settings = {"riverrun.master": "in-process"}
    return StreamExecutionEnvironment.get_execution_environment(Configuration(settings))


def building(broker: KafkaBroker, topic: str) -> KafkaSourceBuilder:
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(broker.bootstrap_servers)
        .set_topics(topic)
        .set_value_only_deserializer(SimpleStringSchema())
        .set_bounded(LATEST)
    )


@pytest.mark.parametrize("parallelism", [1, 2])
def test_each_partition_has_a_watermark_of_its_own(
    kafka_broker: KafkaBroker, env: StreamExecutionEnvironment, parallelism: int
) -> None:
    topic = kafka_broker.create_topic(partitions=3)
    hour = 3_600_000
    for partition in range(3):  # a timestamp of 0 stands for now
        # Whole hours apart: one watermark for all of them would make two partitions late.
        begin = (1 + partition) * hour
        times = range(begin, begin + 30_000, 5)
        kafka_broker.produce(topic, ["x"] * 6000, partition=partition, timestamps=times)
    env.get_config().set_auto_watermark_interval(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = env.set_parallelism(parallelism).from_source(
        building(kafka_broker, topic).build(), strategy, "hours"
    )
    counted = (
        stream.map(lambda _: ("all", 1))
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(1)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    with counted.execute_and_collect("hours") as results:
        assert list(results) == [("all", 200)] * 90


def test_dead_letters_leave_a_job_by_their_side_output(
    kafka_broker: KafkaBroker, env: StreamExecutionEnvironment
) -> None:
    topic = kafka_broker.create_topic(partitions=1)
    kafka_broker.produce(topic, ["good", b"\xff", None, "fine"])
    source = building(kafka_broker, topic).set_bad_records(BadRecords.DEAD_LETTER).build()
    stream = env.set_parallelism(1).from_source(source, WatermarkStrategy.no_watermarks(), "mixed")
    letters = stream.get_side_output(DEAD_LETTERS).map(lambda each: (each.origin, each.payload))
    with stream.union(letters).execute_and_collect("mixed") as results:
        found = list(results)
    at = f"topic '{topic}' partition 0 offset"
    assert sorted(found, key=str) == [(f"{at} 1", b"\xff"), (f"{at} 2", None), "fine", "good"]


@pytest.mark.parametrize("checkpointed", [True, False])
def test_a_topic_that_is_missing_fails_a_job_at_once_although_it_may_restart(
    kafka_broker: KafkaBroker, env: StreamExecutionEnvironment, *, checkpointed: bool
) -> None:
    if checkpointed:
        env.enable_checkpointing(100)
    source = building(kafka_broker, "nowhere").build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "missing").add_sink(lambda _: None)
    with pytest.raises(JobFailed, match=r"'.*missing.*know no topic 'nowhere'"):
        env.execute("missing")


def test_the_source_conforms(kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.create_topic(partitions=4)
    values = [str(number) for number in range(2000)]
    kafka_broker.produce(topic, values)
    source = building(kafka_broker, topic).set_property("fetch.wait.max.ms", 20).build()
    check_source(lambda: source, values, seeds=range(3))
