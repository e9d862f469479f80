"""Writers of the Kafka sink: one that sends at once, and one that keeps an epoch for its transaction."""

from __future__ import annotations

import uuid
from typing import Any, Final

from riverrun.api.delivery_guarantee import DeliveryGuarantee
from riverrun.api.sink import SinkWriter, SinkWriterContext
from riverrun.connectors.kafka.connection import Connection, KafkaClientError
from riverrun.connectors.kafka.producer_runs import RunProducer
from riverrun.connectors.kafka.sink_messages import EpochBuffer, MessageRun, header_bytes
from riverrun.connectors.kafka.sink_serialization import KafkaRecordSerializationSchema
from riverrun.connectors.kafka.transaction_background import Background

__all__ = ["EpochWriter", "SendingWriter"]

_OVERHEAD: Final = 512
"""Bytes that a message takes up at most beside its key, value and headers."""
DEFAULT_MESSAGE_BYTES: Final = 1_000_000
_LAST_SECONDS: Final = 5.0


class _MessageWriter(SinkWriter[Any]):
    """Makes messages of runs, and knows which topics there are."""

    def __init__(
        self,
        connection: Connection,
        serializer: KafkaRecordSerializationSchema,
        context: SinkWriterContext,
        *,
        check_topics: bool,
    ) -> None:
        self._connection = connection
        self._serializer = serializer
        self._context = context
        self._check_topics = check_topics
        self._partitions: dict[str, int] = {}

    def open(self) -> None:
        context = self._context
        self._serializer.open(context.subtask_index, context.parallelism)
        topic = self._serializer.topic
        if topic is None or not self._check_topics:
            self._connection.metadata()
        else:
            self._partitions_of(topic)

    def write(self, value: Any, timestamp: int | None) -> None:
        self.write_run([value], None if timestamp is None else [timestamp])

    def _messages(self, values: list[Any], timestamps: list[int] | None) -> MessageRun:
        run = self._serializer.messages(values, timestamps, self._partitions_of)
        if self._check_topics and not isinstance(run.topics, str):
            for topic in set(run.topics):
                self._partitions_of(topic)
        return run

    def _partitions_of(self, topic: str) -> int:
        found = self._partitions.get(topic)
        if found is None:
            found = self._partitions[topic] = self._connection.partitions_of([topic])[topic]
        return found


class SendingWriter(_MessageWriter):
    """Sends at once. At a checkpoint it waits until everything has arrived, unless nothing is promised."""

    def __init__(
        self,
        connection: Connection,
        serializer: KafkaRecordSerializationSchema,
        context: SinkWriterContext,
        guarantee: DeliveryGuarantee,
        *,
        check_topics: bool,
    ) -> None:
        super().__init__(connection, serializer, context, check_topics=check_topics)
        self._waits = guarantee is not DeliveryGuarantee.NONE
        self._producer: RunProducer | None = None

    def open(self) -> None:
        super().open()
        self._producer = RunProducer(self._connection)

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        assert self._producer is not None  # noqa: S101  (opened before it writes)
        self._producer.send(self._messages(values, timestamps))

    def flush(self, *, end_of_input: bool) -> None:
        assert self._producer is not None  # noqa: S101  (opened before it writes)
        if self._waits or end_of_input:
            self._producer.flush()

    def close(self) -> None:
        if self._producer is not None:
            if not self._waits:
                # No checkpoint has waited for what is still on its way, and nothing may be wrong with it.
                self._producer.settle(_LAST_SECONDS)
            self._producer.drop()
            self._producer = None


class EpochWriter(_MessageWriter):
    """Keeps the messages between two checkpoints; they are sent when the second one is complete.

    What could never be sent is refused here, before it is part of a checkpoint.
    """

    def __init__(
        self,
        connection: Connection,
        serializer: KafkaRecordSerializationSchema,
        context: SinkWriterContext,
        *,
        check_topics: bool,
        max_epoch_bytes: int,
        background: Background,
    ) -> None:
        super().__init__(connection, serializer, context, check_topics=check_topics)
        self._background = background
        self._max_epoch_bytes = max_epoch_bytes
        self._max_message = int(
            connection.properties.get("message.max.bytes", DEFAULT_MESSAGE_BYTES)
        )
        self._lineage = uuid.uuid4().hex[:16]
        self._number = 0
        self._buffer = EpochBuffer()

    def open(self) -> None:
        super().open()
        # Outside of a task nobody says when the next checkpoint is.
        if self._context.runtime is not None and self._context.checkpointing:
            self._background.allow()

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._background.raise_failure()
        run = self._messages(values, timestamps)
        size = self._buffer.add(run)
        # Only a run that is larger than one message may be can hold one that is too large.
        if size + _OVERHEAD > self._max_message:
            self._refuse_large(run)
        if self._buffer.kept_bytes > self._max_epoch_bytes:
            raise self._epoch_too_large()

    def flush(self, *, end_of_input: bool) -> None:
        """Wait for the commit of the epoch before, which the next checkpoint does not hold any more."""
        if end_of_input:
            self._background.forbid()
        else:
            self._background.join()

    def prepare_commit(self) -> list[Any]:
        epoch = self._buffer.take(self._lineage, self._number + 1)
        if epoch is None:
            return []
        self._number += 1
        return [epoch]

    def _refuse_large(self, run: MessageRun) -> None:
        nothing = [None] * len(run.values)
        for value, key, headers in zip(
            run.values, run.keys or nothing, run.headers or nothing, strict=True
        ):
            size = len(value or b"") + len(key or b"") + header_bytes(headers)
            if size + _OVERHEAD > self._max_message:
                raise KafkaClientError(
                    f"{self._connection.user}: a message of {size} bytes is, with overhead, larger than "
                    f"message.max.bytes={self._max_message}; set that property of the sink, and "
                    f"max.message.bytes of the topic"
                )

    def _epoch_too_large(self) -> KafkaClientError:
        advice = (
            "take checkpoints more often, or raise it with set_max_epoch_bytes"
            if self._context.checkpointing
            else "enable checkpoints: without them everything is kept until the end of input"
        )
        return KafkaClientError(
            f"{self._connection.user}: subtask {self._context.subtask_index} keeps "
            f"{self._buffer.kept_bytes} bytes of messages for the next checkpoint, more than "
            f"{self._max_epoch_bytes}; {advice}"
        )
