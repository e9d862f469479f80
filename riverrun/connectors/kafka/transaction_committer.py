"""Writes epochs in transactions, each exactly once: records and marker are visible together or not at all.

Whatever goes wrong, the answer is the same: begin anew with a new producer. Its ``init_transactions`` ends
every transaction of the one before, of this process or of a dead or forgotten one, and bars it for ever.
What the marker says after that is final, so it tells what is left to do. docs/decisions/0028 has the proof.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from riverrun.api.sink import Committable, Committer
from riverrun.connectors.kafka.connection import Connection, KafkaClientError
from riverrun.connectors.kafka.marker_committed import Committed
from riverrun.connectors.kafka.marker_topic import MarkerTopic
from riverrun.connectors.kafka.producer_runs import NotDelivered, RunProducer
from riverrun.connectors.kafka.transaction_background import Background
from riverrun.connectors.kafka.transaction_trouble import Trouble, repeated

__all__ = ["KafkaProducerFenced", "TransactionCommitter", "TransactionSettings"]

log = logging.getLogger(__name__)

MAX_FENCED: Final = 5
"""How often in one commit another producer may take over before it is taken for a second job."""
DEFAULT_TRANSACTION_MS: Final = 60_000
LONGEST_TRANSACTION_MS: Final = 900_000
"""What brokers allow unless they are told otherwise."""


class KafkaProducerFenced(KafkaClientError):  # noqa: N818
    """Another producer with the same transactional id has begun."""


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """What committers of one sink have in common."""

    connection: Connection
    prefix: str
    marker_topic: str
    commit_seconds: float
    """For how long one commit is tried."""

    def name(self, subtask: int) -> str:
        """The transactional id, and the marker's key, of what ``subtask`` prepared."""
        return f"{self.prefix}-{subtask}"


class TransactionCommitter(Committer):
    """Commits epochs of one subtask, and after a restart perhaps those of others."""

    def __init__(self, settings: TransactionSettings, subtask: int, background: Background) -> None:
        """Connect, so that what is wrong with transactions is known before the first record."""
        self._settings = settings
        self._background = background
        self._subtask = subtask
        self._markers = MarkerTopic(settings.connection, settings.marker_topic)
        self._markers.ensure()
        self._own = _Transactions(settings, self._markers, subtask)
        self._own.start()

    def commit(self, committables: Sequence[Committable]) -> None:
        self._background.run(lambda: self._commit(committables))

    def _commit(self, committables: Sequence[Committable]) -> None:
        by_subtask: dict[int, list[Committable]] = {}
        for committable in committables:
            by_subtask.setdefault(committable.subtask, []).append(committable)
        # The id is that of who prepared it: its transactions are the ones to bar.
        others = {
            subtask: _Transactions(self._settings, self._markers, subtask)
            for subtask in by_subtask
            if subtask != self._subtask
        }
        try:
            # All are barred first: markers can only be read once no transaction of theirs is open.
            for each in others.values():
                each.start()
            for subtask, prepared in by_subtask.items():
                others.get(subtask, self._own).commit(prepared)
        finally:
            for each in others.values():
                each.close()

    def close(self) -> None:
        try:
            self._background.close()
        finally:
            self._own.close()


class _Transactions:
    """The transactions with one transactional id, as long as nobody else takes it over."""

    def __init__(self, settings: TransactionSettings, markers: MarkerTopic, subtask: int) -> None:
        self._settings = settings
        self._markers = markers
        self._subtask = subtask
        self._name = settings.name(subtask)
        set_ms = settings.connection.properties.get("transaction.timeout.ms")
        self._timeout_ms = DEFAULT_TRANSACTION_MS if set_ms is None else int(set_ms)
        self._timeout_grows = set_ms is None
        self._open_since: float | None = None
        """When the transaction began that is open."""
        self._producer: RunProducer | None = None
        self._committed: Committed | None = None
        """What the marker says; ``None``: not read since this producer began."""

    def start(self) -> None:
        """Bar every producer before this one."""
        self._retried(self._start)

    def commit(self, prepared: Sequence[Committable]) -> None:
        """Write those that are not written; all of them in one transaction."""
        self._retried(lambda deadline: self._commit(prepared, deadline))

    def close(self) -> None:
        if self._producer is not None:
            self._producer.drop()
            self._producer = self._committed = self._open_since = None

    def _retried(self, action: Callable[[float], None]) -> None:
        from confluent_kafka import KafkaException  # noqa: PLC0415  (an extra)

        deadline = time.monotonic() + self._settings.commit_seconds
        fenced = 0
        while True:
            try:
                action(deadline)
            except (KafkaException, NotDelivered) as e:
                trouble, timed_out = self._trouble(e), self._has_timed_out()
                self.close()
                if trouble.is_fenced and timed_out:
                    trouble = self._too_slow(trouble)
                else:
                    fenced += trouble.is_fenced
                self._raise_when_hopeless(trouble, fenced, deadline, e)
                log.info("transactional id %r: %s; trying again", self._name, trouble.text)
                # Subtasks that fence each other after rescaling must not go on in step.
                time.sleep(random.uniform(0.02, 0.2) * (1 + fenced))  # noqa: S311
            else:
                return

    def _trouble(self, error: Exception) -> Trouble:
        # A message that was refused is the cause of whatever its transaction fails with.
        refused = None if self._producer is None else self._producer.failure
        return Trouble.of(refused or error)

    def _has_timed_out(self) -> bool:
        since = self._open_since
        return since is not None and time.monotonic() - since >= self._timeout_ms / 1000

    def _too_slow(self, trouble: Trouble) -> Trouble:
        """The broker ended the transaction, which looks as if another producer had taken over."""
        text = f"a transaction was not done within transaction.timeout.ms={self._timeout_ms}"
        if self._timeout_grows:
            self._timeout_ms = min(2 * self._timeout_ms, LONGEST_TRANSACTION_MS)
        log.warning("transactional id %r: %s", self._name, text)
        return replace(trouble, text=f"{text} ({trouble.text}); take checkpoints more often")

    def _raise_when_hopeless(
        self, trouble: Trouble, fenced: int, deadline: float, cause: Exception
    ) -> None:
        user = self._settings.connection.user
        if trouble.is_final:
            raise KafkaClientError(
                f"{user}: cannot commit with transactional id {self._name!r}: {trouble.text}; "
                f"{trouble.advice}"
            ) from cause
        if fenced >= MAX_FENCED:
            raise KafkaProducerFenced(
                f"{user}: another producer has taken over the transactional id {self._name!r} "
                f"{fenced} times; give each sink of each job a transactional id prefix of its own"
            ) from cause
        if time.monotonic() > deadline:
            raise KafkaClientError(
                f"{user}: could not commit with transactional id {self._name!r} within "
                f"{self._settings.commit_seconds:g} s: {trouble.text}; nothing is lost, the job commits "
                f"again when it goes on"
            ) from cause

    def _start(self, deadline: float) -> None:
        self._started(deadline)

    def _started(self, deadline: float) -> RunProducer:
        if self._producer is None:
            self._producer = RunProducer(
                self._settings.connection,
                transactional_id=self._name,
                transaction_timeout_ms=self._timeout_ms,
            )
            client = self._producer.client
            # With a broker at hand the coordinator is found at once, otherwise half a second later.
            client.list_topics(self._markers.name, timeout=max(1.0, deadline - time.monotonic()))
            repeated(client.init_transactions, deadline)
        return self._producer

    def _commit(self, prepared: Sequence[Committable], deadline: float) -> None:
        producer = self._started(deadline)
        if self._committed is None:
            left = max(1.0, deadline - time.monotonic())
            self._committed = self._markers.read(self._name, left)
        before = self._committed
        missing = [each for each in prepared if not before.includes(each.value)]
        if not missing:
            return
        committed = before.with_epochs(each.value for each in missing)
        producer.client.begin_transaction()
        self._open_since = time.monotonic()
        for each in missing:
            for run in each.value.runs():
                producer.send(run)
        marker = committed.encode(self._subtask, missing[-1].checkpoint)
        producer.send(self._markers.message(self._name, marker))
        repeated(producer.client.commit_transaction, deadline)
        self._committed, self._open_since = committed, None
