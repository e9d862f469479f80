"""The topic of markers, where no broker answers."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaException

from riverrun.connectors.kafka import marker_topic
from riverrun.connectors.kafka.connection import Connection
from riverrun.connectors.kafka.marker_topic import MarkerTopic


def test_a_broker_that_does_not_answer_is_an_error_that_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(marker_topic, "_ANSWER_SECONDS", 0.1)
    topic = MarkerTopic(Connection("KafkaSink", {"bootstrap.servers": "127.0.0.1:1"}), "markers")
    with pytest.raises(KafkaException):
        topic.read("key", 1.0)
