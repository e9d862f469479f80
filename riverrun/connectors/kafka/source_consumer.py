"""The consumer of a reader: which partitions it fetches, and which of its errors are the end of a job."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from riverrun.connectors.kafka.connection import (
    Connection,
    KafkaClientError,
    client_log,
    refuses_credentials,
)
from riverrun.connectors.kafka.offsets_initializer import KafkaOffsetResetStrategy
from riverrun.connectors.kafka.partition_split import KafkaTopicPartition
from riverrun.core.errors import ExternalError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, TopicPartition

log = logging.getLogger(__name__)


class OffsetOutOfRange(ExternalError):  # noqa: N818  (named after what it is)
    """Records that a job has still to read were deleted, or never were."""

    def __init__(
        self, topic: str, partition: int, wanted: int, available: tuple[int, int] | None
    ) -> None:
        super().__init__(topic, partition, wanted, available)
        self.topic, self.partition = topic, partition
        self.wanted, self.available = wanted, available

    def __str__(self) -> str:
        return (
            f"{_lost(self.topic, self.partition, self.wanted, self.available)}, and the offset reset "
            f"strategy is NONE; start the job from other offsets, or choose EARLIEST or LATEST"
        )


class MessageConsumer(Protocol):
    """What a reader needs of ``confluent_kafka.Consumer``."""

    def consume(self, num_messages: int = ..., timeout: float = ...) -> list[Message]:
        """Messages and events that are there, at most so many."""

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """Fetch these too, from their offsets."""

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        """Fetch these no longer."""

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Fetch these not for now."""

    def resume(self, partitions: list[TopicPartition]) -> None:
        """Fetch these again."""

    def commit(self, *, offsets: list[TopicPartition], asynchronous: bool) -> Any:
        """Tell the brokers how far the group is."""

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float = ..., *, cached: bool = ...
    ) -> tuple[int, int] | None:
        """The partition's first offset and the one after its last, as far as known."""

    def close(self) -> None:
        """Leave."""


MakeConsumer = Callable[[dict[str, Any]], MessageConsumer]


def make_consumer(properties: dict[str, Any]) -> MessageConsumer:
    """A real one."""
    from confluent_kafka import Consumer  # noqa: PLC0415  (an extra)

    consumer: MessageConsumer = Consumer(properties, logger=client_log)
    return consumer


def refusal(connection: Connection, error: KafkaError) -> KafkaClientError | None:
    """The error to fail the job with, if ``error`` of a client will not pass by itself."""
    from confluent_kafka import KafkaError as Code  # noqa: PLC0415  (an extra)

    if refuses_credentials(error):
        return connection.refused(error)
    user, code, text = connection.user, error.code(), error.str()
    if code in {
        Code.UNKNOWN_TOPIC_OR_PART,
        Code._UNKNOWN_TOPIC,  # noqa: SLF001  (its public name)
        Code._UNKNOWN_PARTITION,  # noqa: SLF001  (its public name)
        Code.UNKNOWN_TOPIC_ID,
    }:
        # The client has waited for it to come back (topic.metadata.propagation.max.ms) before it says so.
        return KafkaClientError(
            f"{user}: a topic or partition that is being read is gone ({text}); make it again, or start "
            f"the job without it"
        )
    if error.fatal():
        return KafkaClientError(f"{user}: the client cannot go on: {text}")
    return None


def partition_failure(connection: Connection, message: Message) -> KafkaClientError | None:
    """The error to fail the job with, if the event in ``message`` will not pass by itself."""
    from confluent_kafka import KafkaError as Code  # noqa: PLC0415  (an extra)

    error = message.error()
    if error is None:
        return None
    code, text = error.code(), error.str()
    if code in {
        Code.TOPIC_AUTHORIZATION_FAILED,
        Code._BAD_MSG,  # noqa: SLF001  (its public name)
        Code._BAD_COMPRESSION,  # noqa: SLF001  (its public name)
        Code.TOPIC_EXCEPTION,
    }:
        return KafkaClientError(
            f"{connection.user}: cannot read topic {message.topic()!r} partition "
            f"{message.partition()}: {text}"
        )
    return refusal(connection, error)


def offset_after_loss(
    consumer: MessageConsumer,
    partition: KafkaTopicPartition,
    wanted: int,
    strategy: KafkaOffsetResetStrategy,
) -> int:
    """Where to go on in a partition whose records at ``wanted`` are gone.

    Raises:
        OffsetOutOfRange: nowhere, says the strategy.
    """
    from confluent_kafka import KafkaException, TopicPartition  # noqa: PLC0415  (an extra)

    asked = TopicPartition(partition.topic, partition.partition)
    try:
        available = consumer.get_watermark_offsets(asked, timeout=_ASK_SECONDS, cached=False)
    except KafkaException:
        available = None
    if strategy is KafkaOffsetResetStrategy.NONE:
        raise OffsetOutOfRange(partition.topic, partition.partition, wanted, available)
    if available is None:
        raise KafkaClientError(
            f"{_lost(partition.topic, partition.partition, wanted, None)}, and the broker does not say "
            f"which are there"
        )
    offset = available[0] if strategy is KafkaOffsetResetStrategy.EARLIEST else available[1]
    log.warning(
        "%s; going on at offset %d, as the offset reset strategy %s says",
        _lost(partition.topic, partition.partition, wanted, available),
        offset,
        strategy.name,
    )
    return offset


_ASK_SECONDS = 10.0


def _lost(topic: str, partition: int, wanted: int, available: tuple[int, int] | None) -> str:
    there = "" if available is None else f": it has those from {available[0]} to {available[1]}"
    return (
        f"KafkaSource: topic {topic!r} partition {partition} has no offset {wanted} any more, or not yet"
        f"{there}"
    )


def consumer_properties(
    connection: Connection,
    *,
    client_id: str,
    bounded: bool,
    on_error: Callable[[KafkaError], None],
    on_commit: Callable[[KafkaError | None, Sequence[TopicPartition]], None],
) -> dict[str, Any]:
    """For a consumer whose positions are kept by checkpoints, not by its group."""
    given = connection.client_properties()
    commits_itself = str(given.get("enable.auto.commit", False)).lower() == "true"
    return {
        "group.id": "riverrun",  # one is needed, also where nothing is committed
        "enable.auto.commit": False,
        "enable.auto.offset.store": commits_itself,
        # After its queue was full a consumer waits this long; a second is long for one that is emptied fast.
        "fetch.queue.backoff.ms": 10,
        **given,
        "client.id": client_id,
        # Nobody joins the group. This is how long a commit is waited for when the consumer is closed while
        # brokers are down.
        "session.timeout.ms": 3000,
        "heartbeat.interval.ms": 1000,
        # An offset that is gone is an event, which says which one it was.
        "auto.offset.reset": "error",
        "enable.partition.eof": bounded,
        "error_cb": on_error,
        "on_commit": on_commit,
    }
