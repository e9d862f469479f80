"""How records become Kafka messages: topic, key, value, headers, partition and timestamp, run by run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, Self, TypeAlias

from riverrun.api.serialization import SerializationSchema
from riverrun.connectors.kafka.sink_messages import Headers, MessageRun
from riverrun.core.errors import ProgramError, UserCodeError

__all__ = [
    "FixedPartitioner",
    "KafkaPartitioner",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaTopicSelector",
]

HeaderProvider: TypeAlias = Callable[[Any], Headers | None]
PartitionsOf: TypeAlias = Callable[[str], int]
"""How many partitions a topic has."""


class KafkaTopicSelector(ABC):
    """Chooses the topic of each record."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """The topic that ``data`` goes to, which must exist."""


class KafkaPartitioner(ABC):
    """Chooses the partition of each record, instead of Kafka's hash of the key."""

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:  # noqa: B027  (an optional hook)
        """Called in the worker, before the first record."""

    @abstractmethod
    def partition(
        self, record: Any, key: bytes | None, value: bytes | None, topic: str, partitions: int
    ) -> int:
        """The number of the partition, from 0 to ``partitions - 1``."""


class FixedPartitioner(KafkaPartitioner):
    """Each subtask writes into one partition, so that each partition is written by few subtasks."""

    def __init__(self) -> None:
        self._subtask = 0

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        del parallel_instances
        self._subtask = parallel_instance_id

    def partition(
        self, record: Any, key: bytes | None, value: bytes | None, topic: str, partitions: int
    ) -> int:
        del record, key, value, topic
        return self._subtask % partitions


class KafkaRecordSerializationSchema:
    """Makes messages of runs of records; made by its builder."""

    def __init__(
        self,
        topic: str | KafkaTopicSelector,
        value: SerializationSchema,
        key: SerializationSchema | None = None,
        headers: HeaderProvider | None = None,
        partitioner: KafkaPartitioner | None = None,
    ) -> None:
        self._topic = topic
        self._value = value
        self._key = key
        self._headers = headers
        self._partitioner = partitioner

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """A builder, which needs a topic and a value schema."""
        return KafkaRecordSerializationSchemaBuilder()

    @property
    def topic(self) -> str | None:
        """The topic of all records; ``None`` when each one has its own."""
        return self._topic if isinstance(self._topic, str) else None

    @property
    def needs_partitions(self) -> bool:
        """Whether ``messages`` asks how many partitions topics have."""
        return self._partitioner is not None

    def open(self, subtask: int, parallelism: int) -> None:
        """Called in the worker, before the first record."""
        self._value.open()
        if self._key is not None:
            self._key.open()
        if self._partitioner is not None:
            self._partitioner.open(subtask, parallelism)

    def messages(
        self,
        records: Sequence[Any],
        timestamps: Sequence[int] | None,
        partitions_of: PartitionsOf,
    ) -> MessageRun:
        """The messages of a run, in its order.

        Raises:
            UserCodeError: a schema or a function gave what is no part of a message.
        """
        selector = self._topic
        run = MessageRun(
            selector if isinstance(selector, str) else _topics(selector, records),
            # A value that is None is a tombstone, which a schema may make.
            _parts(self._value, "value", records),
        )
        if self._key is not None:
            run.keys = _parts(self._key, "key", records)
        if timestamps is not None:
            # Kafka has no time before 1970; such a message gets the time at which it is sent.
            run.timestamps = [max(time, 0) for time in timestamps]
        if self._headers is not None:
            provide = self._headers
            run.headers = [_headers(provide(each), each) for each in records]
        if self._partitioner is not None:
            run.partitions = _partitions(self._partitioner, records, run, partitions_of)
        return run


def _parts(schema: SerializationSchema, what: str, records: Sequence[Any]) -> list[bytes | None]:
    """Values or keys. What could not be sent must not get into a checkpoint, so it is refused here."""
    parts: list[bytes | None] = list(schema.serialize_run(records))
    if len(parts) != len(records):
        raise UserCodeError(
            f"KafkaSink: the {what} schema {type(schema).__name__} made {len(parts)} of {len(records)} "
            f"records; expected one for each, None where there is none"
        )
    if not _BYTES_OR_NONE.issuperset(map(type, parts)):
        for record, part in zip(records, parts, strict=True):
            if part is not None and not isinstance(part, bytes):
                raise UserCodeError(
                    f"KafkaSink: the {what} schema {type(schema).__name__} made the "
                    f"{type(part).__name__} {part!r} of {record!r}; expected bytes or None"
                )
    return parts


_BYTES_OR_NONE: Final = frozenset({bytes, type(None)})


def _topics(selector: KafkaTopicSelector, records: Sequence[Any]) -> list[str]:
    topics = [selector.apply(each) for each in records]
    for record, topic in zip(records, topics, strict=True):
        if not topic or not isinstance(topic, str):
            raise UserCodeError(
                f"KafkaSink: the topic selector chose {topic!r} for {record!r}; expected a name"
            )
    return topics


def _headers(given: Headers | None, record: Any) -> list[tuple[str, bytes | None]] | None:
    if not given:
        return None
    headers = [tuple(pair) for pair in given]
    for pair in headers:
        match pair:
            case (str(), bytes() | None):
                continue
        raise UserCodeError(
            f"KafkaSink: the header provider gave {given!r} for {record!r}; expected pairs of a name "
            f"and bytes or None"
        )
    return headers  # type: ignore[return-value]  # pairs, as was just found


def _partitions(
    partitioner: KafkaPartitioner,
    records: Sequence[Any],
    run: MessageRun,
    partitions_of: PartitionsOf,
) -> list[int]:
    count = len(records)
    topics = [run.topics] * count if isinstance(run.topics, str) else run.topics
    keys = run.keys or [None] * count
    chosen = []
    for record, key, value, topic in zip(records, keys, run.values, topics, strict=True):
        partitions = partitions_of(topic)
        partition = partitioner.partition(record, key, value, topic, partitions)
        if not isinstance(partition, int) or not 0 <= partition < partitions:
            raise UserCodeError(
                f"partitioner {type(partitioner).__name__}: chose partition {partition!r} of topic "
                f"{topic!r} for {record!r}; expected 0 to {partitions - 1}"
            )
        chosen.append(partition)
    return chosen


class KafkaRecordSerializationSchemaBuilder:
    """Collects what messages are made of."""

    def __init__(self) -> None:
        self._topic: str | KafkaTopicSelector | None = None
        self._value: SerializationSchema | None = None
        self._key: SerializationSchema | None = None
        self._headers: HeaderProvider | None = None
        self._partitioner: KafkaPartitioner | None = None

    def set_topic(self, topic: str) -> Self:
        """The topic of all records."""
        if not isinstance(topic, str) or not topic:
            raise ProgramError(f"KafkaSink: the topic is {topic!r}; expected a name")
        return self._with_topic(topic)

    def set_topic_selector(self, topic_selector: KafkaTopicSelector | Callable[[Any], str]) -> Self:
        """Who chooses the topic of each record: a selector or a function of the record."""
        if isinstance(topic_selector, KafkaTopicSelector):
            return self._with_topic(topic_selector)
        if not callable(topic_selector):
            raise ProgramError(
                f"KafkaSink: the topic selector is {topic_selector!r}; expected a KafkaTopicSelector or a "
                f"function from a record to a topic"
            )
        return self._with_topic(_Function(topic_selector))

    def set_key_serialization_schema(self, key_serialization_schema: SerializationSchema) -> Self:
        """What makes the key of a record; without it messages have none."""
        self._key = _schema(key_serialization_schema, "key")
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> Self:
        """What makes the value of a record; ``None`` is a tombstone."""
        self._value = _schema(value_serialization_schema, "value")
        return self

    def set_header_provider(self, header_provider: HeaderProvider) -> Self:
        """A function from a record to its headers: pairs of a name and bytes."""
        if not callable(header_provider):
            raise ProgramError(
                f"KafkaSink: the header provider is {header_provider!r}; expected a function from a "
                f"record to pairs of a name and bytes"
            )
        self._headers = header_provider
        return self

    def set_partitioner(self, partitioner: KafkaPartitioner) -> Self:
        """Who chooses partitions; without one it is Kafka's hash of the key, the same as in Java."""
        if not isinstance(partitioner, KafkaPartitioner):
            raise ProgramError(
                f"KafkaSink: the partitioner is {partitioner!r}; expected a KafkaPartitioner"
            )
        self._partitioner = partitioner
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """The schema.

        Raises:
            ProgramError: the topic or the value schema is missing.
        """
        if self._topic is None:
            raise ProgramError(
                "KafkaSink: the record serializer has no topic; call set_topic or set_topic_selector"
            )
        if self._value is None:
            raise ProgramError(
                "KafkaSink: the record serializer has no value schema; call "
                "set_value_serialization_schema"
            )
        return KafkaRecordSerializationSchema(
            self._topic, self._value, self._key, self._headers, self._partitioner
        )

    def _with_topic(self, topic: str | KafkaTopicSelector) -> Self:
        if self._topic is not None:
            raise ProgramError(
                "KafkaSink: the record serializer has a topic already; call one of set_topic and "
                "set_topic_selector, once"
            )
        self._topic = topic
        return self


class _Function(KafkaTopicSelector):
    def __init__(self, select: Callable[[Any], str]) -> None:
        self._select = select

    def apply(self, data: Any) -> str:
        return self._select(data)


def _schema(given: Any, what: str) -> SerializationSchema:
    if not isinstance(given, SerializationSchema):
        raise ProgramError(
            f"KafkaSink: the {what} serialization schema is {given!r}; expected a SerializationSchema"
        )
    return given
