"""A producer that takes runs: one call into librdkafka for each message, no callback for those that arrive."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from riverrun.connectors.kafka.connection import Connection, KafkaClientError, client_log
from riverrun.connectors.kafka.sink_messages import MessageRun

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

__all__ = ["NotDelivered", "RunProducer"]

_TURN_SECONDS: Final = 1.0
_ANY_PARTITION: Final = -1
_NOW: Final = 0


class NotDelivered(KafkaClientError):  # noqa: N818
    """Kafka did not take a message."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text, code)
        self.text, self.code = text, code

    def __str__(self) -> str:
        return self.text


class RunProducer:
    """Sends messages in order; the first one that did not arrive is raised by whoever is called next."""

    def __init__(self, connection: Connection, **more: Any) -> None:
        """Make the client, which connects by itself.

        Args:
            connection: whom to.
            more: further properties, with an underscore for each dot.
        """
        from confluent_kafka import Producer  # noqa: PLC0415  (an extra)

        self._reports = _Reports(connection.user)
        properties = connection.client_properties(**more, delivery_report_only_error=True)
        properties["on_delivery"] = self._reports
        self._producer: Producer = Producer(properties, logger=client_log)

    @property
    def client(self) -> Producer:
        """The producer itself, for transactions."""
        return self._producer

    def send(self, run: MessageRun) -> None:
        """Hand over a run; waits where librdkafka's queue is full.

        Raises:
            NotDelivered: a message did not arrive, perhaps one of an earlier run.
        """
        producer = self._producer
        producer.poll(0)
        self.raise_failure()
        topics = repeat(run.topics) if isinstance(run.topics, str) else run.topics
        keys = run.keys if run.keys is not None else repeat(None)
        messages: Iterable[tuple[Any, ...]] = zip(topics, run.values, keys, strict=False)
        if run.partitions is not None or run.timestamps is not None or run.headers is not None:
            messages = zip(
                topics,
                run.values,
                keys,
                run.partitions if run.partitions is not None else repeat(_ANY_PARTITION),
                repeat(None),
                repeat(None),
                run.timestamps if run.timestamps is not None else repeat(_NOW),
                run.headers if run.headers is not None else repeat(None),
                strict=False,
            )
        from confluent_kafka import KafkaException  # noqa: PLC0415  (an extra)

        produce = producer.produce
        for message in messages:
            try:
                produce(*message)
            except BufferError:
                self._when_there_is_room(message)
            except KafkaException as e:
                raise self._refused(message, e) from e

    def flush(self) -> None:
        """Wait until every message has arrived or failed, which librdkafka's timeouts bound.

        Raises:
            NotDelivered: one did not arrive.
        """
        while self._producer.flush(_TURN_SECONDS):
            self.raise_failure()
        self.raise_failure()

    def settle(self, seconds: float) -> None:
        """Wait for what is on its way, but not for long, and whether it arrives or not."""
        self._producer.flush(seconds)

    def raise_failure(self) -> None:
        """Raise the first failure of a delivery, again and again."""
        if self._reports.failure is not None:
            raise self._reports.failure

    @property
    def failure(self) -> NotDelivered | None:
        """What ``raise_failure`` would raise."""
        return self._reports.failure

    def drop(self) -> None:
        """Drop what has not arrived and leave an open transaction open; nothing more can be sent."""
        self._producer.purge()

    def _refused(self, message: tuple[Any, ...], error: Exception) -> NotDelivered:
        """The error for a message that librdkafka does not even take."""
        topic, value, *_ = message
        found = error.args[0]
        return NotDelivered(
            f"{self._reports.user}: a message of {len(value or b'')} bytes for topic {topic!r} cannot be "
            f"sent: {found.str()}",
            found.code(),
        )

    def _when_there_is_room(self, message: tuple[Any, ...]) -> None:
        while True:
            self._producer.poll(_TURN_SECONDS)
            self.raise_failure()
            try:
                self._producer.produce(*message)
            except BufferError:
                continue
            return


class _Reports:
    """Takes what librdkafka says about deliveries; apart, so that no cycle keeps a client alive."""

    def __init__(self, user: str) -> None:
        self.user = user
        self.failure: NotDelivered | None = None

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and self.failure is None:
            self.failure = NotDelivered(
                f"{self.user}: a message for topic {message.topic()!r} (partition "
                f"{message.partition()}) was not delivered: {error.str()}",
                error.code(),
            )
