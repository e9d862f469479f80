"""The compacted topic that says which epochs have been written, in the same transactions as they were."""

from __future__ import annotations

import logging
import time
from typing import Any, Final

from riverrun.connectors.kafka.connection import Connection, KafkaClientError, client_log
from riverrun.connectors.kafka.marker_committed import Committed
from riverrun.connectors.kafka.sink_messages import MessageRun

__all__ = ["MarkerTopic"]

log = logging.getLogger(__name__)

_PARTITION: Final = 0
"""Of all markers, so that adding partitions never hides one."""
_SETTINGS: Final = {
    "cleanup.policy": "compact",
    # A marker is superseded at every checkpoint: small segments keep what a start has to read small.
    "segment.bytes": str(4 << 20),
    "min.cleanable.dirty.ratio": "0.1",
}
_ANSWER_SECONDS: Final = 30.0
"""Until librdkafka gives a request up, with an error of its own."""


class MarkerTopic:
    """Reads markers and makes messages of them."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self.name = name

    def ensure(self) -> None:
        """Create the topic if it is not there.

        Raises:
            KafkaClientError: it is not there and cannot be created, or it would forget markers.
        """
        if self.name in self._connection.metadata().topics:
            self._refuse_forgetful()
        else:
            self._create()

    def message(self, key: str, marker: bytes) -> MessageRun:
        """The message that supersedes the marker of ``key``."""
        return MessageRun(self.name, [marker], keys=[key.encode()], partitions=[_PARTITION])

    def read(self, key: str, timeout: float) -> Committed:
        """What the marker of ``key`` says, now that no older producer can change it any more.

        Messages behind an open transaction of another subtask cannot be told to be committed or not, so
        it waits for that one's end.

        Raises:
            KafkaClientError: it could not be read in time.
        """
        from confluent_kafka import Consumer, KafkaError, TopicPartition  # noqa: PLC0415  (an extra)

        end = self._end()
        consumer = Consumer(
            {
                **self._consumer_properties(),
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            },
            logger=client_log,
        )
        deadline = time.monotonic() + timeout
        found, wanted, position = Committed(), key.encode(), 0
        try:
            consumer.assign([TopicPartition(self.name, _PARTITION, 0)])
            while position < end:
                for message in consumer.consume(1000, timeout=0.05):
                    error = message.error()
                    if error is None:
                        if message.key() == wanted:
                            found = Committed.decode(_content(message))
                    elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  (its public name)
                        position = message.offset() or 0
                    elif not error.retriable():
                        raise self._unreadable(error.str())
                if time.monotonic() > deadline:
                    raise self._unreadable(
                        f"no message beyond offset {position} of {end} within {timeout:g} s, perhaps "
                        f"behind a transaction that is still open"
                    )
        finally:
            consumer.close()
        return found

    def _end(self) -> int:
        from confluent_kafka import IsolationLevel, TopicPartition  # noqa: PLC0415  (an extra)
        from confluent_kafka.admin import OffsetSpec  # noqa: PLC0415

        admin = self._connection.admin()
        partition = TopicPartition(self.name, _PARTITION)
        asked = admin.list_offsets(
            {partition: OffsetSpec.latest()},
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=_ANSWER_SECONDS,
        )
        return int(asked[partition].result().offset)

    def _consumer_properties(self) -> dict[str, Any]:
        # Reads by offset: the group is never joined, and nothing is stored in it.
        return {
            **self._connection.any_client_properties(),
            "group.id": f"{self.name}-reader",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            # An answer that has nothing need not wait for more.
            "fetch.wait.max.ms": 10,
        }

    def _create(self) -> None:
        from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415  (an extra)
        from confluent_kafka.admin import NewTopic  # noqa: PLC0415

        admin = self._connection.admin()
        wanted = NewTopic(self.name, 1, config=_SETTINGS)
        try:
            made = admin.create_topics([wanted], request_timeout=_ANSWER_SECONDS)
            made[self.name].result()
        except KafkaException as e:
            error = e.args[0]
            if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise KafkaClientError(
                    f"{self._connection.user}: the topic {self.name!r}, which says what has been "
                    f"committed, does not exist and could not be created ({error.str()}); create it with "
                    f"cleanup.policy=compact, or name another one with set_marker_topic"
                ) from e

    def _refuse_forgetful(self) -> None:
        from confluent_kafka import KafkaException  # noqa: PLC0415  (an extra)
        from confluent_kafka.admin import ConfigResource  # noqa: PLC0415

        admin = self._connection.admin()
        resource = ConfigResource(ConfigResource.Type.TOPIC, self.name)
        try:
            asked = admin.describe_configs([resource], request_timeout=_ANSWER_SECONDS)
            found = asked[resource].result()
        except KafkaException as e:
            log.debug("cannot look at the settings of topic %r: %s", self.name, e.args[0].str())
            return
        policy = found["cleanup.policy"].value
        if "delete" in policy.split(","):
            raise KafkaClientError(
                f"{self._connection.user}: the topic {self.name!r}, which says what has been committed, "
                f"has cleanup.policy={policy!r} and would forget it; set it to 'compact'"
            )

    def _unreadable(self, reason: str) -> KafkaClientError:
        return KafkaClientError(
            f"{self._connection.user}: cannot read from topic {self.name!r} what has been committed: "
            f"{reason}"
        )


def _content(message: Any) -> bytes:
    value = message.value()
    return value.encode() if isinstance(value, str) else bytes(value)
