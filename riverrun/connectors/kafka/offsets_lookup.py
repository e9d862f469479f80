"""Asks the brokers for topics, partitions and offsets, on behalf of a source's enumerator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from riverrun.connectors.kafka.connection import REACH_SECONDS, Connection, client_log
from riverrun.connectors.kafka.offsets_initializer import OffsetsNotFound
from riverrun.connectors.kafka.partition_split import KafkaTopicPartition

K = TypeVar("K")
READ_UNCOMMITTED = "read_uncommitted"


class BrokerLookup:
    """Finds topics and offsets; every method blocks until there is an answer.

    Args:
        connection: how to reach the brokers, as consumers do.
        timeout: seconds to wait for an answer.
    """

    def __init__(self, connection: Connection, timeout: float = REACH_SECONDS) -> None:
        self._connection = connection
        self._timeout = timeout

    def partitions_of(self, topics: Sequence[str]) -> Mapping[str, Sequence[int]]:
        there = self.all_topics()
        return {topic: there[topic] for topic in topics if topic in there}

    def all_topics(self) -> Mapping[str, Sequence[int]]:
        found = self._connection.metadata(self._timeout).topics
        return {
            name: tuple(sorted(topic.partitions))
            for name, topic in found.items()
            if topic.partitions  # without any it is just being made
        }

    def earliest(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        from confluent_kafka.admin import OffsetSpec  # noqa: PLC0415  (an extra)

        return self._offsets(partitions, OffsetSpec.earliest())

    def latest(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        from confluent_kafka.admin import OffsetSpec  # noqa: PLC0415  (an extra)

        return self._offsets(partitions, OffsetSpec.latest())

    def at_time(
        self, partitions: Sequence[KafkaTopicPartition], timestamp: int
    ) -> dict[KafkaTopicPartition, int]:
        from confluent_kafka.admin import OffsetSpec  # noqa: PLC0415  (an extra)

        found = self._offsets(partitions, OffsetSpec.for_timestamp(timestamp))
        return {partition: offset for partition, offset in found.items() if offset >= 0}

    def committed(
        self, partitions: Sequence[KafkaTopicPartition]
    ) -> dict[KafkaTopicPartition, int]:
        from confluent_kafka import (  # noqa: PLC0415  (an extra)
            Consumer,
            KafkaException,
            TopicPartition,
        )

        # The client for topics can ask this too, but crashes while the group's coordinator is not there yet.
        properties = self._connection.client_properties(enable_auto_commit=False)
        consumer = Consumer(properties, logger=client_log)
        asked = [TopicPartition(each.topic, each.partition) for each in partitions]
        try:
            answer = consumer.committed(asked, timeout=self._timeout)
        except KafkaException as e:
            raise self._failed("committed offsets", partitions, e) from e
        finally:
            consumer.close()
        for each in answer:
            # Not known is not the same as none: what the strategy says for none may lose records.
            if each.error is not None:
                partition = KafkaTopicPartition(each.topic, each.partition)
                raise self._failed("committed offset", [partition], KafkaException(each.error))
        return {
            KafkaTopicPartition(each.topic, each.partition): each.offset
            for each in answer
            if each.offset >= 0
        }

    def _offsets(
        self, partitions: Sequence[KafkaTopicPartition], spec: Any
    ) -> dict[KafkaTopicPartition, int]:
        from confluent_kafka import (  # noqa: PLC0415  (an extra)
            IsolationLevel,
            KafkaException,
            TopicPartition,
        )

        if not partitions:
            return {}
        isolation = self._connection.properties.get("isolation.level")
        admin = self._connection.admin()  # It must outlive its futures.
        futures = admin.list_offsets(
            {TopicPartition(each.topic, each.partition): spec for each in partitions},
            isolation_level=(
                IsolationLevel.READ_UNCOMMITTED
                if isolation == READ_UNCOMMITTED
                else IsolationLevel.READ_COMMITTED
            ),
            request_timeout=self._timeout,
        )
        found: dict[KafkaTopicPartition, int] = {}
        for asked, future in futures.items():
            partition = KafkaTopicPartition(asked.topic, asked.partition)
            try:
                found[partition] = future.result().offset
            except KafkaException as e:
                raise self._failed("offsets", [partition], e) from e
        return found

    def _failed(
        self, what: str, partitions: Sequence[KafkaTopicPartition], error: Exception
    ) -> OffsetsNotFound:
        return OffsetsNotFound(
            f"{self._connection.user}: asked for the {what} of {', '.join(map(str, partitions))}, and "
            f"{self._connection.bootstrap_servers!r} answered: {error.args[0].str()}"
        )
