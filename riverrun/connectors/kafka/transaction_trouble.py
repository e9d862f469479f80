"""What went wrong in a transaction, and whether trying again can help."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from riverrun.connectors.kafka.producer_runs import NotDelivered

__all__ = ["Trouble", "repeated"]

_CALL_SECONDS: Final = 5.0
"""Of one call into librdkafka, which may be repeated."""

_FENCED: Final = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
_FINAL: Final = (
    "_AUTHENTICATION",
    "_UNKNOWN_PARTITION",
    "_UNKNOWN_TOPIC",
    "CLUSTER_AUTHORIZATION_FAILED",
    "INVALID_TRANSACTION_TIMEOUT",
    "MSG_SIZE_TOO_LARGE",
    "SASL_AUTHENTICATION_FAILED",
    "TOPIC_AUTHORIZATION_FAILED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "UNKNOWN_TOPIC_OR_PART",
)


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

    def _is_one_of(self, names: tuple[str, ...]) -> bool:
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
