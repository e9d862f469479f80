"""Drives a Relay inside a Spark worker: every frame goes on to the next layer at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from riverrun.runtime.relay import Relay
from riverrun.spark.worker.ledger import Spending, TimeLedger
from riverrun.spark.worker.mailbox import Closed, Mailbox
from riverrun.spark.worker.nearby import Nearby
from riverrun.spark.worker.rows import batches_of


class RelayShell:
    """Forwards until the input ends; sends fillers whenever nothing more is waiting."""

    def __init__(self, relay: Relay, mailbox: Mailbox, ledger: TimeLedger, nearby: Nearby) -> None:
        self._relay, self._mailbox, self._ledger = relay, mailbox, ledger
        self._nearby = nearby

    def run(self) -> Iterator[Any]:
        """Work until the input is read to the end."""
        while True:
            letter = self._mailbox.take(0.0)
            if letter is None:
                fillers = self._relay.fillers()
                if fillers:
                    yield from self._hand_over(fillers)
                self._ledger.enter(Spending.IDLE)
                letter = self._mailbox.take(None)
                self._ledger.enter(Spending.BUSY)
            if isinstance(letter, memoryview):
                yield from self._hand_over([self._relay.forward(letter)])
            elif isinstance(letter, Closed):
                return
            elif letter is not None:
                raise letter

    def _hand_over(self, rows: Sequence[tuple[int, bytes | memoryview]]) -> Iterator[Any]:
        for batch in batches_of(rows, self._nearby):
            self._ledger.enter(Spending.BACK_PRESSURED)
            yield batch
            self._ledger.enter(Spending.BUSY)
