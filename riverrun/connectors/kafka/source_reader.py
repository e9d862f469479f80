"""Reads partitions with one consumer: fetches in batches, gives runs of one partition each."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from riverrun.api.bad_records import BadRecords
from riverrun.api.source import Polled, SourceReader, SourceReaderContext, SourceStatus
from riverrun.connectors.kafka.connection import Connection, KafkaClientError
from riverrun.connectors.kafka.offsets_initializer import KafkaOffsetResetStrategy
from riverrun.connectors.kafka.partition_split import KafkaPartitionSplit
from riverrun.connectors.kafka.source_buffer import FetchedMessages, PartitionBuffer
from riverrun.connectors.kafka.source_consumer import (
    MakeConsumer,
    MessageConsumer,
    consumer_properties,
    make_consumer,
    offset_after_loss,
    partition_failure,
    refusal,
)
from riverrun.connectors.kafka.source_decoder import KafkaDecoder
from riverrun.connectors.kafka.source_metrics import ReaderMetrics
from riverrun.connectors.kafka.source_records import KafkaRecordDeserializationSchema

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, TopicPartition

log = logging.getLogger(__name__)

_BATCH: Final = 2048
"""Messages to fetch at once; what is fetched of several partitions leaves in longer runs this way."""
_SHORTEST_WAIT_MS: Final = 1.0
_LONGEST_WAIT_MS: Final = 5.0
"""A consumer cannot say that a message came, so it is asked; after a while of silence not so often."""
_UNTIL_TOLD_MS: Final = 60_000.0


@dataclass(frozen=True, slots=True)
class ReaderPlan:
    """How partitions are read."""

    connection: Connection
    deserializer: KafkaRecordDeserializationSchema
    bad_records: BadRecords
    reset_strategy: KafkaOffsetResetStrategy
    client_id_prefix: str
    has_ends: bool
    """Whether partitions have stopping offsets."""
    commits_offsets: bool
    """Whether the group is told what checkpoints hold."""


class KafkaSourceReader(SourceReader[Any]):
    """Reads any number of partitions; what it has given is what its splits say."""

    def __init__(
        self,
        plan: ReaderPlan,
        splits: Sequence[KafkaPartitionSplit],
        context: SourceReaderContext,
        make: MakeConsumer = make_consumer,
    ) -> None:
        self._plan = plan
        self._context = context
        self._make = make
        self._consumer: MessageConsumer | None = None
        self._fetched = FetchedMessages()
        self._not_assigned = list(splits)
        self._paused: set[str] = set()
        self._no_more = False
        self._failure: KafkaClientError | None = None
        self._wait_ms = _SHORTEST_WAIT_MS
        self._checkpoint = 0
        self._snapshots: deque[tuple[int, list[KafkaPartitionSplit]]] = deque()
        """Checkpoints that are not complete yet, or never will be, with their positions."""
        self._ended: list[KafkaPartitionSplit] = []
        """Read to their ends, and no checkpoint with that was completed yet."""
        self._metrics = ReaderMetrics(self._fetched)
        self._decoder = KafkaDecoder(
            plan.deserializer, plan.bad_records, self._metrics.count_bad_record
        )

    def open(self) -> None:
        plan = self._plan
        plan.deserializer.open()
        self._consumer = self._make(
            consumer_properties(
                plan.connection,
                client_id=f"{plan.client_id_prefix}-{self._context.subtask_index}",
                bounded=plan.has_ends,
                on_error=self._on_error,
                on_commit=self._on_commit,
            )
        )
        self._metrics.open(self._context.runtime_context().get_metrics_group(), self._consumer)
        splits, self._not_assigned = self._not_assigned, []
        self.add_splits(splits)

    def add_splits(self, splits: Sequence[KafkaPartitionSplit]) -> None:
        buffers = [self._fetched.add_split(split) for split in splits]
        self._metrics.add_partitions(buffers)
        self._assign([each for each in buffers if not each.reached_end])
        self._wait_ms = _SHORTEST_WAIT_MS

    def notify_no_more_splits(self) -> None:
        self._no_more = True

    def poll(self, limit: int) -> Polled:
        buffer = self._fetched.next(self._paused)
        if buffer is None:
            if not self._fetched:
                return self._without_splits()
            count = self._fetch()
            if self._failure is not None:
                raise self._failure
            buffer = self._fetched.next(self._paused)
            if buffer is None:
                return self._nothing() if count == 0 else Polled()
        return self._give(buffer, limit)

    def prepare_snapshot(self, checkpoint: int) -> None:
        self._checkpoint = checkpoint

    def snapshot_splits(self) -> list[KafkaPartitionSplit]:
        reading = [each.position() for each in self._fetched.partitions]
        self._snapshots.append((self._checkpoint, [*reading, *self._ended]))
        return [*reading, *self._not_assigned]

    def split_ids(self) -> list[str]:
        return [each.name for each in self._fetched.partitions]

    def pause_or_resume_splits(
        self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]
    ) -> None:
        pause, resume = set(splits_to_pause), set(splits_to_resume)
        self._paused = (self._paused | pause) - resume
        consumer = self._open_consumer()
        reading = [each for each in self._fetched.partitions if not each.reached_end]
        if paused := [_where(each) for each in reading if each.name in pause]:
            consumer.pause(paused)
        if resumed := [_where(each) for each in reading if each.name in resume]:
            consumer.resume(resumed)

    def notify_checkpoint_complete(self, checkpoint: int) -> None:
        """Tell the group; for who watches it, since restored jobs know their positions themselves."""
        splits: list[KafkaPartitionSplit] = []
        # With those before it that were given up: nobody goes on from them any more.
        while self._snapshots and self._snapshots[0][0] <= checkpoint:
            splits = self._snapshots.popleft()[1]
        self._ended = [each for each in self._ended if each not in splits]
        if not splits or not self._plan.commits_offsets:
            return
        from confluent_kafka import KafkaException, TopicPartition  # noqa: PLC0415  (an extra)

        offsets = [TopicPartition(each.topic, each.partition, each.offset) for each in splits]
        try:
            self._open_consumer().commit(offsets=offsets, asynchronous=True)
        except KafkaException as e:
            self._on_commit(e.args[0], offsets)

    def close(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def _give(self, buffer: PartitionBuffer, limit: int) -> Polled:
        messages = buffer.take(limit)
        polled = Polled(split=buffer.name)
        if messages:
            decoded = self._decoder.decode(messages)
            polled.values, polled.timestamps = decoded.values, decoded.timestamps
            polled.dead_letters = decoded.dead_letters
            self._wait_ms = _SHORTEST_WAIT_MS
        if buffer.is_finished:
            self._finish(buffer)
            polled.finished_splits = (buffer.name,)
        return polled

    def _without_splits(self) -> Polled:
        if self._no_more and not self._not_assigned:
            return Polled(status=SourceStatus.END_OF_INPUT)
        return Polled(status=SourceStatus.NOTHING_AVAILABLE, wait_ms=_UNTIL_TOLD_MS)

    def _nothing(self) -> Polled:
        wait_ms, self._wait_ms = self._wait_ms, min(2 * self._wait_ms, _LONGEST_WAIT_MS)
        return Polled(status=SourceStatus.NOTHING_AVAILABLE, wait_ms=wait_ms)

    def _fetch(self) -> int:
        """Take in what the consumer has; how many messages and events there were."""
        batch = self._open_consumer().consume(_BATCH, 0)
        self._metrics.note_ends(self._context.clock.monotonic())
        errors = [message.error() for message in batch]
        if not any(errors):
            self._fetched.add(batch)
            return len(batch)
        self._fetched.add([message for message in batch if message.error() is None])
        # An event concerns what follows the messages of its partition that came before it.
        for message in batch:
            if message.error() is not None:
                self._on_event(message)
        return len(batch)

    def _on_event(self, message: Message) -> None:
        from confluent_kafka import KafkaError as Code  # noqa: PLC0415  (an extra)

        error = message.error()
        buffer = self._fetched.partition(message.topic() or "", message.partition() or 0)
        if error is None or (buffer is None and message.topic() is not None):
            return  # of a partition that was read to its end
        code = error.code()
        if buffer is not None and code == Code._PARTITION_EOF:  # noqa: SLF001  (its public name)
            buffer.at_end(message.offset() or 0)
        elif buffer is not None and code == Code._AUTO_OFFSET_RESET:  # noqa: SLF001  (its public name)
            self._reset(buffer)
        elif (failure := partition_failure(self._plan.connection, message)) is not None:
            raise failure
        else:
            log.warning("KafkaSource: %s", error.str())

    def _reset(self, buffer: PartitionBuffer) -> None:
        """The records that follow are gone: go on where the strategy says."""
        consumer = self._open_consumer()
        offset = offset_after_loss(
            consumer, buffer.split.topic_partition, buffer.fetched_to, self._plan.reset_strategy
        )
        buffer.fetched_to = offset
        buffer.at_end(offset)
        if not buffer.reached_end:
            consumer.incremental_unassign([_where(buffer)])
            self._assign([buffer])

    def _assign(self, buffers: Sequence[PartitionBuffer]) -> None:
        if not buffers:
            return
        consumer = self._open_consumer()
        consumer.incremental_assign([_where(each, each.fetched_to) for each in buffers])
        # What is assigned anew is not paused, whatever it was before.
        if paused := [_where(each) for each in buffers if each.name in self._paused]:
            consumer.pause(paused)

    def _finish(self, buffer: PartitionBuffer) -> None:
        if not buffer.split.is_read:
            self._open_consumer().incremental_unassign([_where(buffer)])
        self._fetched.remove(buffer)
        self._ended.append(buffer.position())
        self._paused.discard(buffer.name)

    def _on_error(self, error: KafkaError) -> None:
        """From the consumer, while it is asked for messages; it tries again by itself."""
        failure = refusal(self._plan.connection, error)
        if failure is not None and self._failure is None:
            self._failure = failure

    def _on_commit(self, error: KafkaError | None, offsets: Sequence[TopicPartition]) -> None:
        self._metrics.committed(offsets, succeeded=error is None)
        if error is not None:
            log.warning(
                "KafkaSource: could not commit offsets to the group (the job does not need them): %s",
                error.str(),
            )

    def _open_consumer(self) -> MessageConsumer:
        assert self._consumer is not None  # noqa: S101  (opened before it is used)
        return self._consumer


def _where(buffer: PartitionBuffer, offset: int | None = None) -> TopicPartition:
    from confluent_kafka import TopicPartition  # noqa: PLC0415  (an extra)

    split = buffer.split
    if offset is None:
        return TopicPartition(split.topic, split.partition)
    return TopicPartition(split.topic, split.partition, offset)
