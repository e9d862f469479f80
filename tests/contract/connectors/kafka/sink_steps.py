"""Drives a sink as its tasks do: writers, checkpoints, commits, and attempts that go on from one."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka import Message

from riverrun.api.delivery_guarantee import DeliveryGuarantee
from riverrun.api.runtime_context import DetachedRuntimeContext
from riverrun.api.serialization import SimpleStringSchema
from riverrun.api.sink import Committable, Committer, SinkWriter, SinkWriterContext
from riverrun.connectors.kafka.sink import KafkaSink, KafkaSinkBuilder
from riverrun.connectors.kafka.sink_serialization import KafkaRecordSerializationSchema
from riverrun.connectors.kafka.transaction_committer import TransactionCommitter
from tests.servers.kafka import KafkaBroker


class NoClient:
    def send(self, values: Sequence[Any], commit: str | None = None) -> None:
        raise AssertionError


def first_letter(record: str) -> str:
    return record[0]


class KeySchema(SimpleStringSchema):
    """The key is the record's first letter."""

    def serialize(self, element: str) -> bytes:
        return element[:1].encode()


def kafka_sink(
    broker: KafkaBroker,
    topic: str,
    guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE,
    **properties: Any,
) -> KafkaSinkBuilder:
    """A sink of text with keys, whose transactional id prefix is the topic's name."""
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_key_serialization_schema(KeySchema())
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(broker.bootstrap_servers)
        .set_record_serializer(serializer)
        .set_delivery_guarantee(guarantee)
        .set_transactional_id_prefix(topic)
        .set_properties({name.replace("_", "."): value for name, value in properties.items()})
        .set_property("reconnect.backoff.max.ms", 200)
    )


def context(subtask: int = 0, parallelism: int = 1, *, in_task: bool = False) -> SinkWriterContext:
    """Where a subtask runs; ``in_task``: with a runtime context, as in a job."""
    runtime = DetachedRuntimeContext("sink", subtask, parallelism) if in_task else None
    return SinkWriterContext(
        subtask, parallelism, "sink", NoClient(), runtime=runtime, checkpointing=True
    )


class Attempt:
    """All subtasks of a sink, from a start to a failure."""

    def __init__(
        self,
        sink: KafkaSink,
        parallelism: int = 1,
        checkpoint: bytes | None = None,
        *,
        in_task: bool = False,
    ) -> None:
        """Start, with what ``checkpoint`` holds dealt out over the subtasks as restoring does it."""
        restored: list[Committable] = [] if checkpoint is None else pickle.loads(checkpoint)
        self.committers: list[Committer] = []
        self.writers: list[SinkWriter[Any]] = []
        self._prepared: list[Committable] = []
        self._sink = pickle.dumps(sink)

        def start(subtask: int) -> tuple[Committer, SinkWriter[Any]]:
            where = context(subtask, parallelism, in_task=in_task)
            own: KafkaSink = pickle.loads(self._sink)
            committer = own.create_committer(where)
            assert committer is not None
            if due := restored[subtask::parallelism]:
                committer.commit(due)
            writer = own.create_writer(where)
            writer.open()
            return committer, writer

        # At the same time, as in a cluster.
        with ThreadPoolExecutor(parallelism) as pool:
            for committer, writer in pool.map(start, range(parallelism)):
                self.committers.append(committer)
                self.writers.append(writer)

    def write(self, *records: str, subtask: int = 0) -> None:
        self.writers[subtask].write_run(list(records), None)

    def checkpoint(self, number: int) -> bytes:
        """Prepare in every subtask; gives what the checkpoint holds."""
        for subtask, writer in enumerate(self.writers):
            writer.flush(end_of_input=False)
            self._prepared += [
                Committable(number, subtask, index, value)
                for index, value in enumerate(writer.prepare_commit())
            ]
        return pickle.dumps(self._prepared)

    def complete(self, number: int) -> None:
        """Commit in every subtask what is prepared."""
        due, self._prepared = self._prepared, []
        for subtask, committer in enumerate(self.committers):
            if own := [each for each in due if each.subtask == subtask]:
                assert all(each.checkpoint <= number for each in own)
                committer.commit(own)

    def crash(self) -> None:
        """End without a word to anybody, at least from the sink."""
        self.close()

    def close(self) -> None:
        for writer in self.writers:
            writer.close()
        for committer in self.committers:
            committer.close()


def committer_of(sink: KafkaSink, subtask: int = 0) -> TransactionCommitter:
    """A committer by itself."""
    made = sink.create_committer(context(subtask, subtask + 1))
    assert isinstance(made, TransactionCommitter)
    return made


def texts(broker: KafkaBroker, topic: str, *, read_committed: bool = True) -> list[str]:
    """All values, sorted."""
    found = broker.values(topic, read_committed=read_committed)
    return sorted(value.decode() for value in found if value is not None)


def in_order(
    broker: KafkaBroker, topic: str, key: Callable[[str], str] = first_letter
) -> dict[str, list[str]]:
    """The values of each key in the order in which readers get them; a key is in one partition."""
    found: dict[str, list[str]] = {}
    partitions: dict[str, set[int]] = {}
    for partition, messages in broker.consume(topic).items():
        for message in messages:
            text = text_of(message)
            found.setdefault(key(text), []).append(text)
            partitions.setdefault(key(text), set()).add(partition)
    assert all(len(where) == 1 for where in partitions.values())
    return found


def text_of(message: Message) -> str:
    value = message.value()
    assert value is not None
    return value if isinstance(value, str) else value.decode()


def counted(found: Sequence[str]) -> dict[str, int]:
    """Those that are there more than once."""
    return {text: count for text, count in Counter(found).items() if count > 1}
