"""The Kafka sink in the conformance kit, against a real broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from riverrun.api.delivery_guarantee import DeliveryGuarantee
from riverrun.testing.conformance.sinks import Crash, SinkTarget, check_sink
from tests.contract.connectors.kafka.sink_steps import kafka_sink, texts
from tests.servers.kafka import KafkaBroker

RECORDS = [f"{'abcd'[number % 4]}{number}" for number in range(24)]


def check(broker: KafkaBroker, guarantee: DeliveryGuarantee, **limits: Any) -> None:
    @contextmanager
    def target() -> Iterator[SinkTarget]:
        topic = broker.create_topic()
        sink = kafka_sink(broker, topic, guarantee).build()
        yield SinkTarget(sink, lambda: texts(broker, topic))

    check_sink(
        target, RECORDS, at_least_once=guarantee is not DeliveryGuarantee.EXACTLY_ONCE, **limits
    )


def test_exactly_once_holds_through_a_commit_that_is_cut_in_half(kafka_broker: KafkaBroker) -> None:
    check(
        kafka_broker,
        DeliveryGuarantee.EXACTLY_ONCE,
        crashes=[Crash.HALF_COMMITTED],
        parallelisms=[(2, 3), (3, 1)],
    )


def test_at_least_once_holds_through_a_crash_before_the_checkpoint(
    kafka_broker: KafkaBroker,
) -> None:
    check(
        kafka_broker,
        DeliveryGuarantee.AT_LEAST_ONCE,
        crashes=[Crash.WRITING, Crash.SAVED],
        parallelisms=[(2, 3)],
    )


@pytest.mark.slow
def test_exactly_once_holds_through_a_crash_at_every_step(kafka_broker: KafkaBroker) -> None:
    check(kafka_broker, DeliveryGuarantee.EXACTLY_ONCE)
