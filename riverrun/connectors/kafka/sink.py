"""The Kafka sink and its builder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

from riverrun.api.delivery_guarantee import DeliveryGuarantee
from riverrun.api.sink import Committer, Sink, SinkWriter, SinkWriterContext
from riverrun.connectors.kafka.connection import Connection, Property, refuse_reserved
from riverrun.connectors.kafka.sink_serialization import KafkaRecordSerializationSchema
from riverrun.connectors.kafka.sink_writers import EpochWriter, SendingWriter
from riverrun.connectors.kafka.transaction_background import Background
from riverrun.connectors.kafka.transaction_committer import (
    TransactionCommitter,
    TransactionSettings,
)
from riverrun.core.errors import ProgramError
from riverrun.core.time import Duration, DurationLike, to_millis

__all__ = ["KafkaSink", "KafkaSinkBuilder"]

_USER: Final = "KafkaSink"
MAX_EPOCH_BYTES: Final = 1 << 30
COMMIT_TIMEOUT: Final = Duration.of_minutes(5)
_RESERVED: Final = {
    "transactional.id": "call set_transactional_id_prefix",
    "enable.gapless.guarantee": "leave it out",
    "delivery.report.only.error": "leave it out",
}


@dataclass(frozen=True, slots=True)
class _Transactional:
    settings: TransactionSettings
    max_epoch_bytes: int


class KafkaSink(Sink[Any]):
    """Writes records into Kafka topics; made by its builder.

    With ``AT_LEAST_ONCE`` records are sent at once and a checkpoint waits until Kafka has them. With
    ``EXACTLY_ONCE`` they are kept, become part of the checkpoint, and are sent in one transaction per
    subtask when it is complete: readers with ``isolation.level=read_committed`` see each one once.
    """

    def __init__(
        self,
        connection: Connection,
        serializer: KafkaRecordSerializationSchema,
        guarantee: DeliveryGuarantee,
        transactional: _Transactional | None,
        *,
        check_topics: bool,
    ) -> None:
        self._connection = connection
        self._serializer = serializer
        self._guarantee = guarantee
        self._transactional = transactional
        self._check_topics = check_topics
        self._backgrounds: dict[int, Background] = {}
        """Where writer and committer of a subtask wait for each other; not sent to workers."""

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """A builder, which needs bootstrap servers and a record serializer."""
        return KafkaSinkBuilder()

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        if self._transactional is not None:
            return EpochWriter(
                self._connection,
                self._serializer,
                context,
                check_topics=self._check_topics,
                max_epoch_bytes=self._transactional.max_epoch_bytes,
                background=self._backgrounds.setdefault(context.subtask_index, Background()),
            )
        return SendingWriter(
            self._connection,
            self._serializer,
            context,
            self._guarantee,
            check_topics=self._check_topics,
        )

    def get_transformer(self) -> None:
        """Nothing happens to records before they are written; PyFlink asks."""

    def create_committer(self, context: SinkWriterContext) -> Committer | None:
        if self._transactional is None:
            return None
        background = self._backgrounds[context.subtask_index] = Background()
        return TransactionCommitter(self._transactional.settings, context.subtask_index, background)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_backgrounds": {}}


class KafkaSinkBuilder:
    """Collects what a Kafka sink needs."""

    def __init__(self) -> None:
        self._servers: str | None = None
        self._serializer: KafkaRecordSerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix: str | None = None
        self._properties: dict[str, Property] = {}
        self._marker_topic: str | None = None
        self._max_epoch_bytes = MAX_EPOCH_BYTES
        self._commit_millis = COMMIT_TIMEOUT.to_millis()
        self._check_topics = True

    def set_bootstrap_servers(self, bootstrap_servers: str) -> Self:
        """The brokers to ask first: ``host:port,host:port``."""
        self._servers = bootstrap_servers
        return self

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema) -> Self:
        """How records become messages."""
        if not isinstance(record_serializer, KafkaRecordSerializationSchema):
            raise ProgramError(
                f"{_USER}: the record serializer is {record_serializer!r}; expected what "
                f"KafkaRecordSerializationSchema.builder() builds"
            )
        self._serializer = record_serializer
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """What is promised when something fails; ``NONE`` unless it is set."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise ProgramError(
                f"{_USER}: the delivery guarantee is {delivery_guarantee!r}; expected a DeliveryGuarantee"
            )
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> Self:
        """Begins the transactional ids of ``EXACTLY_ONCE``; of this sink alone, and the same for ever."""
        if not isinstance(transactional_id_prefix, str) or not transactional_id_prefix:
            raise ProgramError(
                f"{_USER}: the transactional id prefix is {transactional_id_prefix!r}; expected a name"
            )
        self._prefix = transactional_id_prefix
        return self

    def set_property(self, key: str, value: Property) -> Self:
        """A property of the producer: security, compression, linger.ms, transaction.timeout.ms, ..."""
        self._properties[key] = value
        return self

    def set_properties(self, props: dict[str, Property]) -> Self:
        """Several of them."""
        self._properties |= props
        return self

    def set_marker_topic(self, topic: str) -> Self:
        """Where it is kept what has been committed, instead of ``<prefix>-markers``; sinks may share it."""
        self._marker_topic = topic
        return self

    def set_max_epoch_bytes(self, size: int) -> Self:
        """How much a subtask may keep between two checkpoints, compressed; 1 GiB unless it is set."""
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ProgramError(f"{_USER}: max epoch bytes are {size!r}; expected 1 or more")
        self._max_epoch_bytes = size
        return self

    def set_commit_timeout(self, timeout: DurationLike) -> Self:
        """For how long a commit is tried before the job fails, to commit again; 5 minutes unless set."""
        self._commit_millis = to_millis(timeout)
        return self

    def set_check_topics(self, check: bool) -> Self:  # noqa: FBT001  (a setter's only argument)
        """Whether a topic that does not exist fails the job, which is so unless it is set to False.

        Without the check messages for it fail after a while, unless the broker creates topics by itself.
        """
        self._check_topics = check
        return self

    def build(self) -> KafkaSink:
        """The sink; nothing is connected to yet.

        Raises:
            ProgramError: something is missing or does not go together.
        """
        if self._serializer is None:
            raise ProgramError(f"{_USER}: has no record serializer; call set_record_serializer")
        refuse_reserved(_USER, self._properties, _RESERVED)
        exactly_once = self._guarantee is DeliveryGuarantee.EXACTLY_ONCE
        if exactly_once and self._prefix is None:
            raise ProgramError(
                f"{_USER}: EXACTLY_ONCE needs a transactional id prefix that no other sink uses; call "
                f"set_transactional_id_prefix"
            )
        connection = Connection.of(_USER, self._servers, self._with_defaults())
        return KafkaSink(
            connection,
            self._serializer,
            self._guarantee,
            self._transactional(connection) if exactly_once else None,
            check_topics=self._check_topics,
        )

    def _with_defaults(self) -> dict[str, Property]:
        # As Java's clients do: the same key is in the same partition, whoever writes it.
        properties: dict[str, Property] = {"partitioner": "murmur2_random", **self._properties}
        if not {"acks", "request.required.acks"} & properties.keys():
            properties.setdefault("enable.idempotence", True)
        return properties

    def _transactional(self, connection: Connection) -> _Transactional:
        assert self._prefix is not None  # noqa: S101  (asked by the caller)
        acks = connection.properties.get("acks", "all")
        if str(acks) not in {"all", "-1"}:
            raise ProgramError(
                f"{_USER}: EXACTLY_ONCE needs acks='all', found {acks!r}; leave it out"
            )
        connection.check_producer(transactional_id=self._prefix)
        settings = TransactionSettings(
            connection,
            self._prefix,
            self._marker_topic or f"{self._prefix}-markers",
            self._commit_millis / 1000,
        )
        return _Transactional(settings, self._max_epoch_bytes)
