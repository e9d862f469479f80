"""What goes wrong with transactions: too slow, barred, or hopeless."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from riverrun.api.sink import Committable
from riverrun.connectors.kafka import transaction_committer
from riverrun.connectors.kafka.connection import Connection, KafkaClientError
from riverrun.connectors.kafka.marker_committed import Committed
from riverrun.connectors.kafka.marker_topic import MarkerTopic
from riverrun.connectors.kafka.sink_messages import EpochBuffer, MessageRun
from riverrun.connectors.kafka.transaction_background import Background
from riverrun.connectors.kafka.transaction_committer import (
    KafkaProducerFenced,
    TransactionCommitter,
    TransactionSettings,
)


class Broker:
    """Ends transactions that take longer than their producers allow; sending one takes ``seconds``."""

    def __init__(self, seconds: float) -> None:
        self.now = 0.0
        self.seconds = seconds
        self.timeouts: list[int] = []
        self.committed = 0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def producer(self, _: Connection, **more: Any) -> Producer:
        self.timeouts.append(more["transaction_timeout_ms"])
        return Producer(self, more["transaction_timeout_ms"] / 1000)


class Producer:
    failure = None

    def __init__(self, broker: Broker, timeout: float) -> None:
        self.client = self
        self._broker, self._timeout, self._began = broker, timeout, 0.0

    def list_topics(self, name: str, timeout: float) -> None: ...

    def init_transactions(self, timeout: float) -> None: ...

    def begin_transaction(self) -> None:
        self._began = self._broker.now

    def send(self, run: MessageRun) -> None:
        self._broker.now += self._broker.seconds / 2

    def commit_transaction(self, timeout: float) -> None:
        del timeout
        if self._broker.now - self._began >= self._timeout:
            raise KafkaException(KafkaError(KafkaError._FENCED, "fenced"))
        self._broker.committed += 1

    def drop(self) -> None: ...


@pytest.fixture
def commit(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def commits(broker: Broker, **properties: Any) -> None:
        monkeypatch.setattr(transaction_committer, "time", broker)
        monkeypatch.setattr(transaction_committer, "RunProducer", broker.producer)
        monkeypatch.setattr(MarkerTopic, "ensure", lambda _: None)
        monkeypatch.setattr(MarkerTopic, "read", lambda *_: Committed())
        connection = Connection(
            "KafkaSink",
            {"bootstrap.servers": "b:1", **{k.replace("_", "."): v for k, v in properties.items()}},
        )
        settings = TransactionSettings(connection, "job", "job-markers", 300.0)
        buffer = EpochBuffer()
        buffer.add(MessageRun("out", [b"1"]))
        epoch = buffer.take("lineage", 1)
        TransactionCommitter(settings, 0, Background()).commit([Committable(1, 0, 0, epoch)])

    return commits


def test_an_epoch_that_takes_long_gets_more_time(commit: Callable[..., None]) -> None:
    broker = Broker(seconds=100)
    commit(broker)
    assert broker.committed == 1
    assert broker.timeouts == [60_000, 120_000]


def test_a_timeout_that_was_set_stays_and_the_error_says_what_it_was(
    commit: Callable[..., None],
) -> None:
    with pytest.raises(KafkaClientError, match=r"transaction\.timeout\.ms=2000 .*more often") as e:
        commit(Broker(seconds=100), transaction_timeout_ms=2000)
    assert not isinstance(e.value, KafkaProducerFenced)


def test_a_producer_that_is_barred_before_its_time_is_taken_for_a_second_job(
    commit: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fenced(_: Producer, timeout: float) -> None:
        raise KafkaException(KafkaError(KafkaError._FENCED, "fenced"))

    monkeypatch.setattr(Producer, "commit_transaction", fenced)
    with pytest.raises(
        KafkaProducerFenced, match="taken over the transactional id 'job-0' 5 times"
    ):
        commit(Broker(seconds=1))


def test_what_will_be_the_same_next_time_is_not_tried_again_and_comes_with_advice(
    commit: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: Producer, timeout: float) -> None:
        raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "too large"))

    monkeypatch.setattr(Producer, "commit_transaction", refused)
    broker = Broker(seconds=1)
    with pytest.raises(KafkaClientError, match=r"'job-0': too large; set message\.max\.bytes of"):
        commit(broker)
    assert len(broker.timeouts) == 1
