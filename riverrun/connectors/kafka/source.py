"""A source of Kafka: topics read in parallel, from positions that checkpoints keep; and its builder."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from riverrun.api.bad_records import BadRecords
from riverrun.api.serialization import DeserializationSchema
from riverrun.api.source import Boundedness, Source, SourceReader, SourceReaderContext
from riverrun.api.split_enumerator import SplitEnumerator, SplitEnumeratorContext
from riverrun.connectors.kafka.connection import Connection, Property
from riverrun.connectors.kafka.offsets_initializer import KafkaOffsetsInitializer
from riverrun.connectors.kafka.offsets_lookup import BrokerLookup
from riverrun.connectors.kafka.partition_discovery import (
    MatchingTopics,
    NamedPartitions,
    NamedTopics,
    Subscription,
)
from riverrun.connectors.kafka.partition_split import KafkaTopicPartition
from riverrun.connectors.kafka.source_enumerator import (
    DiscoveryPlan,
    KafkaEnumeratorState,
    KafkaSourceEnumerator,
)
from riverrun.connectors.kafka.source_reader import KafkaSourceReader, ReaderPlan
from riverrun.connectors.kafka.source_records import KafkaRecordDeserializationSchema
from riverrun.core.errors import ConfigError, ProgramError
from riverrun.serde.type_info import TypeInformation

log = logging.getLogger(__name__)

_USER: Final = "KafkaSource"
_DISCOVERY_INTERVAL: Final = "partition.discovery.interval.ms"
_CLIENT_ID_PREFIX: Final = "client.id.prefix"
_COMMIT_OFFSETS: Final = "commit.offsets.on.checkpoint"
_OWN: Final = (
    _DISCOVERY_INTERVAL,
    _CLIENT_ID_PREFIX,
    _COMMIT_OFFSETS,
    "register.consumer.metrics",
)
_SET_BY_RIVERRUN: Final = ("auto.offset.reset", "enable.partition.eof", "client.id")
_DEFAULT_INTERVAL_MS: Final = 300_000.0


@dataclass(frozen=True, repr=False)
class KafkaSource(Source[Any]):
    """Reads topics of Kafka; made by ``KafkaSource.builder()``.

    Each partition is a split with a watermark of its own. Positions are kept by checkpoints: after a
    failure each record is read again from exactly there, at any parallelism. The consumer group is only
    told of them, for who watches it.
    """

    boundedness: Boundedness
    discovery: DiscoveryPlan
    reading: ReaderPlan

    discovers_splits: ClassVar[bool] = True

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Begin to describe a source."""
        return KafkaSourceBuilder()

    def create_enumerator(self, context: SplitEnumeratorContext) -> SplitEnumerator[Any]:
        return self.restore_enumerator(context, KafkaEnumeratorState())

    def restore_enumerator(
        self, context: SplitEnumeratorContext, state: Any
    ) -> SplitEnumerator[Any]:
        connection = self.reading.connection
        client_id = f"{self.reading.client_id_prefix}-enumerator"
        named = replace(connection, properties={**connection.properties, "client.id": client_id})
        return KafkaSourceEnumerator(context, self.discovery, BrokerLookup(named), state)

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        return KafkaSourceReader(self.reading, splits, context)

    def get_boundedness(self) -> Boundedness:
        return self.boundedness

    def get_produced_type(self) -> TypeInformation | None:
        return self.reading.deserializer.get_produced_type()

    def __repr__(self) -> str:
        return f"KafkaSource({self.discovery.subscription!r}, {self.reading.connection!r})"


class KafkaSourceBuilder:
    """Collects what a source needs; ``build`` checks it and connects to nothing."""

    def __init__(self) -> None:
        self._properties: dict[str, Property] = {}
        self._subscription: Subscription | None = None
        self._subscribed_by = ""
        self._starting = KafkaOffsetsInitializer.earliest()
        self._stopping: KafkaOffsetsInitializer | None = None
        self._boundedness = Boundedness.CONTINUOUS_UNBOUNDED
        self._deserializer: KafkaRecordDeserializationSchema | None = None
        self._bad_records = BadRecords.FAIL

    def build(self) -> KafkaSource:
        """The source.

        Raises:
            ProgramError: something is missing, or contradicts.
            ConfigError: a property is unknown or has a wrong value.
            MissingExtra: confluent-kafka is not installed.
        """
        if self._subscription is None:
            raise ProgramError(
                f"{_USER}: nothing to read; call set_topics, set_topic_pattern or set_partitions"
            )
        if self._deserializer is None:
            raise ProgramError(
                f"{_USER}: no deserializer; call set_value_only_deserializer or set_deserializer"
            )
        group = str(self._properties.get("group.id", ""))
        self._check_group(group)
        commits = _flag(self._properties.get(_COMMIT_OFFSETS, True))
        prefix = str(self._properties.get(_CLIENT_ID_PREFIX, group or "riverrun"))
        return KafkaSource(
            self._boundedness,
            DiscoveryPlan(self._subscription, self._starting, self._stopping, self._interval()),
            ReaderPlan(
                self._connection(),
                self._deserializer,
                self._bad_records,
                self._starting.get_auto_offset_reset_strategy(),
                client_id_prefix=prefix,
                has_ends=self._stopping is not None,
                commits_offsets=commits and bool(group),
            ),
        )

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Where brokers are: ``host:port,...``."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """The consumer group that is told of positions; it takes no part in sharing out partitions."""
        return self.set_property("group.id", group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Read all partitions of these topics."""
        if not topics or not all(isinstance(name, str) and name for name in topics):
            raise ProgramError(f"{_USER}: set_topics got {topics!r}; expected names of topics")
        return self._subscribe("set_topics", NamedTopics(tuple(dict.fromkeys(topics))))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Read all topics whose whole name matches the regular expression, also those that come later."""
        try:
            re.compile(topic_pattern)
        except (re.error, TypeError) as e:
            raise ProgramError(
                f"{_USER}: set_topic_pattern got {topic_pattern!r}, which is no regular expression: {e}"
            ) from e
        return self._subscribe("set_topic_pattern", MatchingTopics(topic_pattern))

    def set_partitions(self, partitions: Collection[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Read just these partitions."""
        chosen = frozenset(partitions)
        if not chosen or not all(isinstance(each, KafkaTopicPartition) for each in chosen):
            raise ProgramError(
                f"{_USER}: set_partitions got {partitions!r}; expected KafkaTopicPartition objects"
            )
        return self._subscribe("set_partitions", NamedPartitions(chosen))

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Where to begin when the job starts for the first time; earliest unless set."""
        self._starting = _initializer("set_starting_offsets", starting_offsets_initializer)
        return self

    def set_unbounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Count as unbounded (streaming execution), and yet stop at these offsets."""
        self._stopping = _initializer("set_unbounded", stopping_offsets_initializer)
        self._boundedness = Boundedness.CONTINUOUS_UNBOUNDED
        return self

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Stop at these offsets, found when the job starts; the records at them are not read."""
        self._stopping = _initializer("set_bounded", stopping_offsets_initializer)
        self._boundedness = Boundedness.BOUNDED
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> KafkaSourceBuilder:
        """Make records of the messages' values alone."""
        value_only = KafkaRecordDeserializationSchema.value_only
        return self.set_deserializer(value_only(deserialization_schema))

    def set_deserializer(
        self, record_deserializer: KafkaRecordDeserializationSchema
    ) -> KafkaSourceBuilder:
        """Make records of whole messages: value, key, headers, topic, partition, offset, timestamp."""
        if not isinstance(record_deserializer, KafkaRecordDeserializationSchema):
            raise ProgramError(
                f"{_USER}: set_deserializer got {record_deserializer!r}; expected a "
                f"KafkaRecordDeserializationSchema, or call set_value_only_deserializer"
            )
        self._deserializer = record_deserializer
        return self

    def set_bad_records(self, bad_records: BadRecords) -> KafkaSourceBuilder:
        """What becomes of messages that the deserializer refuses; the job fails unless set."""
        if not isinstance(bad_records, BadRecords):
            raise ProgramError(
                f"{_USER}: set_bad_records got {bad_records!r}; expected one of "
                f"{', '.join(map(str, BadRecords))}"
            )
        self._bad_records = bad_records
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """What client ids begin with, in the brokers' logs and quotas."""
        return self.set_property(_CLIENT_ID_PREFIX, prefix)

    def set_property(self, key: str, value: Property) -> KafkaSourceBuilder:
        """A property of the source or of its consumers, by librdkafka's name or Java's."""
        self._properties[key] = value
        return self

    def set_properties(self, props: Mapping[str, Property]) -> KafkaSourceBuilder:
        """Several properties."""
        self._properties.update(props)
        return self

    def _subscribe(self, method: str, subscription: Subscription) -> KafkaSourceBuilder:
        if self._subscription is not None:
            raise ProgramError(
                f"{_USER}: {method} after {self._subscribed_by}; a source reads named topics, a pattern "
                f"or partitions, said once"
            )
        self._subscription, self._subscribed_by = subscription, method
        return self

    def _connection(self) -> Connection:
        properties = dict(self._properties)
        for name in _OWN:
            properties.pop(name, None)
        for name in _SET_BY_RIVERRUN:
            if properties.pop(name, None) is not None:
                log.warning(
                    "%s: the property %r is left out; riverrun sets it as the source needs it",
                    _USER,
                    name,
                )
        servers = properties.pop("bootstrap.servers", None)
        return Connection.of(
            _USER, None if servers is None else str(servers), properties, "Consumer"
        )

    def _check_group(self, group: str) -> None:
        needing = [
            each
            for each in (self._starting, self._stopping)
            if each is not None and each.needs_group
        ]
        if needing and not group:
            raise ProgramError(
                f"{_USER}: offsets are those that a group committed, and there is no group; call "
                f"set_group_id"
            )

    def _interval(self) -> float | None:
        given = self._properties.get(_DISCOVERY_INTERVAL)
        if given is None:
            # What is to end does not wait for more, unless it is told to.
            return _DEFAULT_INTERVAL_MS if self._stopping is None else None
        try:
            interval = float(given)
        except ValueError:
            raise ConfigError(
                f"{_USER}: property {_DISCOVERY_INTERVAL!r} is {given!r}; expected milliseconds, or 0 "
                f"or less for never"
            ) from None
        if interval > 0 and self._boundedness is Boundedness.BOUNDED:
            log.warning(
                "%s: the property %r is left out; a bounded source looks once, or it would never end",
                _USER,
                _DISCOVERY_INTERVAL,
            )
            return None
        return interval if interval > 0 else None


def _initializer(method: str, given: KafkaOffsetsInitializer) -> KafkaOffsetsInitializer:
    if not isinstance(given, KafkaOffsetsInitializer):
        raise ProgramError(
            f"{_USER}: {method} got {given!r}; expected a KafkaOffsetsInitializer, such as "
            f"KafkaOffsetsInitializer.latest()"
        )
    return given


def _flag(value: Property) -> bool:
    return str(value).lower() == "true"
