"""Finds the partitions of a Kafka source, where to begin in each, and who reads it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from riverrun.api.split_enumerator import SplitEnumerator, SplitEnumeratorContext
from riverrun.connectors.kafka.connection import KafkaClientError
from riverrun.connectors.kafka.offsets_initializer import (
    KafkaOffsetsInitializer,
    OffsetsLookup,
    OffsetsNotFound,
)
from riverrun.connectors.kafka.partition_assignment import changes, reader_of
from riverrun.connectors.kafka.partition_discovery import Subscription, TopicsLookup
from riverrun.connectors.kafka.partition_split import KafkaPartitionSplit, KafkaTopicPartition

log = logging.getLogger(__name__)


class Lookup(TopicsLookup, OffsetsLookup, Protocol):
    """Asks the brokers."""


@dataclass(frozen=True, slots=True)
class KafkaEnumeratorState:
    """What a checkpoint holds of the enumerator; positions are in the readers' parts."""

    assigned: tuple[KafkaTopicPartition, ...] = ()
    unassigned: tuple[KafkaPartitionSplit, ...] = ()
    """Found, but their readers were not there yet."""
    initial_discovery_done: bool = False


@dataclass(frozen=True, slots=True)
class DiscoveryPlan:
    """What to look for."""

    subscription: Subscription
    starting: KafkaOffsetsInitializer
    stopping: KafkaOffsetsInitializer | None
    interval_ms: float | None
    """How often to look again; None: never."""


@dataclass(frozen=True, slots=True)
class _Discovery:
    new: list[KafkaPartitionSplit]
    vanished: tuple[KafkaTopicPartition, ...]


class KafkaSourceEnumerator(SplitEnumerator[KafkaPartitionSplit]):
    """Looks for partitions, first when the job starts and then from time to time.

    Partitions that the first look finds begin where the program says. Those of later looks are new, and
    begin at their first record, so that nothing is lost that was written before they were found.
    """

    def __init__(
        self,
        context: SplitEnumeratorContext,
        plan: DiscoveryPlan,
        lookup: Lookup,
        state: KafkaEnumeratorState,
    ) -> None:
        self._context = context
        self._plan = plan
        self._lookup = lookup
        self._assigned = set(state.assigned)
        self._unassigned = list(state.unassigned)
        self._initial_done = state.initial_discovery_done
        self._vanished: set[KafkaTopicPartition] = set()
        self._known: frozenset[KafkaTopicPartition] = frozenset()
        """Read by the thread that looks; replaced, never changed."""
        self._note_known()

    def start(self) -> None:
        interval = self._plan.interval_ms
        # A job that is restored looks at least once: its program may name more topics than before.
        ends = self._plan.stopping is not None
        if interval is not None or not ends or not self._initial_done:
            self._context.call_async(self._look, self._looked, period_ms=interval)

    def add_reader(self, subtask: int) -> None:
        self._serve(subtask)

    def handle_split_request(self, subtask: int) -> None:
        del subtask  # readers get their partitions unasked

    def snapshot_state(self, checkpoint: int) -> KafkaEnumeratorState:
        del checkpoint
        return KafkaEnumeratorState(
            tuple(sorted(self._assigned)), tuple(self._unassigned), self._initial_done
        )

    def _look(self) -> _Discovery:
        """Beside the task's thread."""
        plan, lookup = self._plan, self._lookup
        difference = changes(self._known, plan.subscription.find(lookup))
        starting = KafkaOffsetsInitializer.earliest() if self._initial_done else plan.starting
        begin = _offsets(starting, difference.new, lookup)
        stop: dict[KafkaTopicPartition, int] = {}
        if plan.stopping is not None:
            stop = _offsets(plan.stopping, difference.new, lookup)
        return _Discovery(
            [
                KafkaPartitionSplit(each.topic, each.partition, begin[each], stop.get(each))
                for each in difference.new
            ],
            difference.vanished,
        )

    def _looked(self, discovery: _Discovery | None, error: Exception | None) -> None:
        if discovery is None:
            self._failed(error)
            return
        self._note_vanished(discovery.vanished)
        if not discovery.new and not self._initial_done:
            log.warning("KafkaSource: there is nothing to read yet for %r", self._plan.subscription)
        for split in discovery.new:
            log.info(
                "KafkaSource: found topic %r partition %d, to be read from offset %d up to %s",
                split.topic,
                split.partition,
                split.offset,
                "no end" if split.stopping_offset is None else split.stopping_offset,
            )
        self._unassigned += discovery.new
        self._initial_done = True
        self._note_known()
        for subtask in self._context.registered_readers:
            self._serve(subtask)

    def _failed(self, error: Exception | None) -> None:
        """Before the first success the job fails; later the brokers may come back."""
        if error is None:
            return
        if self._initial_done and isinstance(error, KafkaClientError | OffsetsNotFound):
            log.warning("KafkaSource: could not look for new partitions: %s", error)
            return
        raise error

    def _serve(self, subtask: int) -> None:
        parallelism = self._context.parallelism
        given = [
            split
            for split in self._unassigned
            if reader_of(split.topic_partition, parallelism) == subtask
        ]
        if given:
            self._context.assign_splits(given, subtask)
            self._unassigned = [split for split in self._unassigned if split not in given]
            self._assigned.update(split.topic_partition for split in given)
        plan = self._plan
        if self._initial_done and plan.stopping is not None and plan.interval_ms is None:
            self._context.signal_no_more_splits(subtask)

    def _note_known(self) -> None:
        waiting = (split.topic_partition for split in self._unassigned)
        self._known = frozenset(self._assigned).union(waiting)

    def _note_vanished(self, vanished: Sequence[KafkaTopicPartition]) -> None:
        for partition in sorted(set(vanished) - self._vanished):
            log.warning(
                "KafkaSource: %s is not there any more, or not subscribed to; it stays assigned",
                partition,
            )
        self._vanished = set(vanished)


def _offsets(
    initializer: KafkaOffsetsInitializer,
    partitions: Sequence[KafkaTopicPartition],
    lookup: OffsetsLookup,
) -> dict[KafkaTopicPartition, int]:
    if not partitions:
        return {}
    found = initializer.get_partition_offsets(partitions, lookup)
    missing = [each for each in partitions if each not in found]
    if missing:
        raise OffsetsNotFound(
            f"KafkaSource: {type(initializer).__name__} gave no offset for "
            f"{', '.join(map(str, missing))}; expected one for each partition"
        )
    return found
