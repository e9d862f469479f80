"""What went wrong in a transaction, and whether trying again can help."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from riverrun.connectors.kafka.producer_runs import NotDelivered

__all__ = ["Trouble", "repeated"]

_CALL_SECONDS: Final = 5.0
"""Of one call into librdkafka, which may be repeated."""

_FENCED: Final = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
_CREDENTIALS: Final = "check sasl.username, sasl.password, sasl.mechanism and security.protocol"
_TOPIC: Final = "create it again, or go back to a savepoint from before its messages"
_FINAL: Final[Mapping[str, str]] = {
    "_AUTHENTICATION": _CREDENTIALS,
    "_UNKNOWN_PARTITION": _TOPIC,
    "_UNKNOWN_TOPIC": _TOPIC,
    "CLUSTER_AUTHORIZATION_FAILED": "allow this user to write idempotently",
    "INVALID_TRANSACTION_TIMEOUT": (
        "set transaction.timeout.ms to no more than transaction.max.timeout.ms of the broker"
    ),
    "MSG_SIZE_TOO_LARGE": (
        "set message.max.bytes of the sink to max.message.bytes of the topic: batches are then as small"
    ),
    "SASL_AUTHENTICATION_FAILED": _CREDENTIALS,
    "TOPIC_AUTHORIZATION_FAILED": "allow this user to write to the topic",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "allow this user to write with that id",
    "UNKNOWN_TOPIC_OR_PART": _TOPIC,
}
"""What will be the same next time, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One failure of librdkafka's or of the broker's."""

    code: int
    text: str

    @staticmethod
    def of(error: Exception) -> Trouble:
        """What a KafkaException or an undelivered message says."""
        if isinstance(error, NotDelivered):
            return Trouble(error.code, error.text)
        found = error.args[0]
        return Trouble(found.code(), found.str())

    @property
    def is_fenced(self) -> bool:
        """Whether another producer took over; so it looks too when a transaction timed out."""
        return self._is_one_of(_FENCED)

    @property
    def is_final(self) -> bool:
        """Whether it will be the same next time."""
        return self._is_one_of(_FINAL)

    @property
    def advice(self) -> str:
        """What to do about what is final."""
        return next((advice for name, advice in _FINAL.items() if self._is_one_of((name,))), "")

    def _is_one_of(self, names: Iterable[str]) -> bool:
        from confluent_kafka import KafkaError  # noqa: PLC0415  (an extra)

        return any(self.code == getattr(KafkaError, name) for name in names)


def repeated(call: Callable[[float], Any], deadline: float) -> None:
    """Call it until it does not end with an error that librdkafka says can be retried.

    Raises:
        KafkaException: another error, or the last one at the deadline.
    """
    from confluent_kafka import KafkaException  # noqa: PLC0415  (an extra)

    while True:
        try:
            call(_CALL_SECONDS)
        except KafkaException as e:
            if not e.args[0].retriable() or time.monotonic() > deadline:
                raise
        else:
            return
