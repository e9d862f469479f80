"""What becomes of rows that hold something which Python has no value for."""

from __future__ import annotations

from collections.abc import Sequence

from riverrun.api.bad_records import BadRecords, DeadLetter
from riverrun.connectors.base.message_decoder import BadMessage
from riverrun.connectors.postgres_cdc.pgoutput import Cell
from riverrun.metrics.metric import Counter

__all__ = ["BadRows"]


class BadRows:
    """Fails, or counts bad rows and keeps them for the dead letters.

    Args:
        policy: which of these.
        count: counts them.
    """

    def __init__(self, policy: BadRecords, count: Counter) -> None:
        self._policy = policy
        self._count = count
        self._letters: list[DeadLetter] = []

    def take(self, bad: BadMessage, cells: Sequence[Cell]) -> None:
        """Treat a row as the policy says; raises ``bad`` itself if that is to fail."""
        if self._policy is BadRecords.FAIL:
            raise bad
        self._count.inc()
        if self._policy is BadRecords.DEAD_LETTER:
            texts = tuple(each if isinstance(each, bytes) else None for each in cells)
            self._letters.append(DeadLetter(bad.origin, bad.reason, texts))

    def letters(self) -> list[DeadLetter]:
        """Those since the last call."""
        letters, self._letters = self._letters, []
        return letters
