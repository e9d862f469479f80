"""What a Kafka reader tells of itself: offsets of each partition, what is waiting, commits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from riverrun.connectors.kafka.source_buffer import FetchedMessages, PartitionBuffer
from riverrun.connectors.kafka.source_consumer import MessageConsumer
from riverrun.metrics.groups import MetricGroup
from riverrun.metrics.metric import Counter

if TYPE_CHECKING:
    from confluent_kafka import TopicPartition

_NOTE_EVERY_MS: Final = 1000.0


class ReaderMetrics:
    """Named as Flink names them; worked out when somebody looks."""

    def __init__(self, fetched: FetchedMessages) -> None:
        self._fetched = fetched
        self._consumer: MessageConsumer | None = None
        self._group: MetricGroup | None = None
        self._bad = Counter()
        self._commits_succeeded = Counter()
        self._commits_failed = Counter()
        self._committed: dict[tuple[str, int], int] = {}
        self._ends: dict[tuple[str, int], int] = {}
        self._next_note = 0.0

    def open(self, group: MetricGroup, consumer: MessageConsumer) -> None:
        """Register what concerns all partitions."""
        self._consumer = consumer
        self._bad = group.counter("numBadRecords")
        group.gauge("pendingRecords", self._pending)
        self._group = own = group.add_group("KafkaSourceReader")
        self._commits_succeeded = own.counter("commitsSucceeded")
        self._commits_failed = own.counter("commitsFailed")

    def add_partitions(self, buffers: Sequence[PartitionBuffer]) -> None:
        """Register what concerns these."""
        if self._group is None:
            return
        for buffer in buffers:
            split = buffer.split
            group = self._group.add_group("topic", split.topic).add_group(
                "partition", str(split.partition)
            )
            group.gauge("currentOffset", lambda each=buffer: each.given_to - 1)  # type: ignore[misc]
            key = (split.topic, split.partition)
            group.gauge("committedOffset", lambda at=key: self._committed.get(at, -1))  # type: ignore[misc]

    def count_bad_record(self) -> None:
        """One was left out."""
        self._bad.inc()

    def committed(self, offsets: Sequence[TopicPartition], *, succeeded: bool) -> None:
        """What came of a commit."""
        if not succeeded:
            self._commits_failed.inc()
            return
        self._commits_succeeded.inc()
        for each in offsets:
            self._committed[each.topic, each.partition] = each.offset

    def note_ends(self, now: float) -> None:
        """Ask the consumer, on the task's thread and once a second, how far the partitions go.

        Metrics are read by another thread, which must not touch the consumer.
        """
        if now < self._next_note or self._consumer is None:
            return
        from confluent_kafka import TopicPartition  # noqa: PLC0415  (an extra)

        self._next_note = now + _NOTE_EVERY_MS
        for buffer in self._fetched.partitions:
            split = buffer.split
            known = self._consumer.get_watermark_offsets(
                TopicPartition(split.topic, split.partition), cached=True
            )
            if known is not None:
                self._ends[split.topic, split.partition] = known[1]

    def _pending(self) -> int:
        """Records that the brokers are known to have and that were not given yet."""
        return sum(
            max(self._ends.get((each.split.topic, each.split.partition), 0) - each.given_to, 0)
            for each in list(self._fetched.partitions)
        )
