"""Whole jobs into Kafka exactly once: workers and the broker are killed, and readers see each record once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from riverrun.api.delivery_guarantee import DeliveryGuarantee
from riverrun.api.serialization import SerializationSchema
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.kafka.sink import KafkaSink
from riverrun.connectors.kafka.sink_serialization import KafkaRecordSerializationSchema
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.job_client import JobClient
from riverrun.testing.waiting import wait_until
from tests.servers.kafka import KafkaBroker, kafka_broker
from tests.spark.allround.chaos import Chaos, await_checkpoint, await_running, statistics
from tests.spark.allround.run import RECOVERING
from tests.spark.allround.sequences import SequenceSource
from tests.spark.conftest import MakeEnv

pytestmark = pytest.mark.spark

__all__ = ["kafka_broker"]

KEYS, PER_KEY = 6, 1000


class Field(SerializationSchema):
    """One field of a pair."""

    def __init__(self, field: int) -> None:
        self._field = field

    def serialize(self, element: Any) -> bytes:
        return str(element[self._field]).encode()


def counting_job(
    env: StreamExecutionEnvironment, broker: KafkaBroker, topic: str, gate: Path
) -> JobClient:
    """Counts the records of each key, and writes each count into the topic under its key."""
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_key_serialization_schema(Field(0))
        .set_value_serialization_schema(Field(1))
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(broker.bootstrap_servers)
        .set_record_serializer(serializer)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(topic)
        .set_property("reconnect.backoff.max.ms", 200)
        .build()
    )
    source = SequenceSource(KEYS, PER_KEY, 500.0, str(gate))
    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        .map(lambda value: (value[0], 1))
        .key_by(lambda value: value[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .name("counts")
        .sink_to(sink)
    )
    return env.execute_async("into Kafka")


def counts(broker: KafkaBroker, topic: str) -> dict[bytes, list[int]]:
    """What readers of committed messages get for each key, in order."""
    found: dict[bytes, list[int]] = {}
    for messages in broker.consume(topic).values():
        for message in messages:
            key, value = message.key(), message.value()
            assert isinstance(key, bytes)
            assert isinstance(value, bytes)
            found.setdefault(key, []).append(int(value))
    return found


EXPECTED = {str(key).encode(): list(range(1, PER_KEY + 1)) for key in range(KEYS)}


def test_workers_are_killed_and_each_count_is_in_kafka_once_and_in_order(
    kafka_broker: KafkaBroker, make_env: MakeEnv, tmp_path: Path
) -> None:
    topic = kafka_broker.create_topic()
    client = counting_job(make_env(2, dict(RECOVERING)), kafka_broker, topic, tmp_path / "gate")
    chaos = Chaos(client)
    for subtask in (0, 1):
        await_checkpoint(client)
        chaos.kill_and_recover("counts", subtask)
    await_checkpoint(client)
    (tmp_path / "gate").touch()
    client.get_job_execution_result().result(60)

    assert counts(kafka_broker, topic) == EXPECTED


def await_checkpoint_patiently(client: JobClient) -> None:
    """Wait for one more checkpoint, though the broker may have to come back for it."""
    await_running(client, timeout_s=120)
    before = statistics(client).counts.completed
    wait_until(
        lambda: statistics(client).counts.completed > before,
        what="a checkpoint after the broker was killed",
        timeout_s=120,
    )


@pytest.mark.slow
def test_workers_and_the_broker_are_killed_at_random_and_each_count_is_in_kafka_once(
    kafka_broker: KafkaBroker, make_env: MakeEnv, tmp_path: Path
) -> None:
    topic = kafka_broker.create_topic()
    client = counting_job(make_env(2, dict(RECOVERING)), kafka_broker, topic, tmp_path / "gate")
    chaos = Chaos(client, seed=7)
    for turn in range(8):
        if turn % 2:
            kafka_broker.restart()
        await_checkpoint_patiently(client)
        chaos.kill_within(0.4)
    await_checkpoint_patiently(client)
    (tmp_path / "gate").touch()
    client.get_job_execution_result().result(120)

    assert counts(kafka_broker, topic) == EXPECTED
