"""A producer of runs, where it needs no broker."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from riverrun.connectors.kafka.connection import Connection, Property
from riverrun.connectors.kafka.producer_runs import NotDelivered, RunProducer
from riverrun.connectors.kafka.sink_messages import MessageRun


def test_a_message_that_the_client_refuses_is_named() -> None:
    nobody: dict[str, Property] = {
        "bootstrap.servers": "127.0.0.1:1",
        "message.max.bytes": 1000,
        "log_level": 0,
    }
    producer = RunProducer(Connection("KafkaSink", nobody))
    try:
        with pytest.raises(
            NotDelivered, match=r"KafkaSink: a message of 5000 bytes for topic 'out' cannot be sent"
        ) as caught:
            producer.send(MessageRun("out", [b"small", b"x" * 5000]))
    finally:
        producer.drop()
    assert caught.value.code == KafkaError.MSG_SIZE_TOO_LARGE
