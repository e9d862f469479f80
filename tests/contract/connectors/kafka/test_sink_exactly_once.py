"""The exactly-once Kafka sink against a real broker: crashes, zombies, outages and rescaling."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from riverrun.api.sink import Committable
from riverrun.connectors.kafka import transaction_committer, transaction_trouble
from riverrun.connectors.kafka.transaction_committer import KafkaProducerFenced
from riverrun.testing.waiting import wait_until
from tests.contract.connectors.kafka.sink_steps import (
    Attempt,
    committer_of,
    context,
    in_order,
    kafka_sink,
    texts,
)
from tests.servers.kafka import KafkaBroker


@pytest.fixture
def topic(kafka_broker: KafkaBroker) -> str:
    return kafka_broker.create_topic()


def prepared(broker: KafkaBroker, topic: str, *records: str) -> bytes:
    """A checkpoint with an epoch of these records, whose job died right after it was complete."""
    writer = kafka_sink(broker, topic).build().create_writer(context())
    writer.write_run(list(records), None)
    return pickle.dumps([Committable(1, 0, 0, epoch) for epoch in writer.prepare_commit()])


Step = Callable[[Producer], None]


def before_commit(monkeypatch: pytest.MonkeyPatch, *steps: Step) -> None:
    """Let each of ``steps`` happen when a transaction is about to be committed, one at a time."""
    original, left = transaction_trouble.repeated, list(steps)

    def gated(call: Callable[[float], Any], deadline: float) -> None:
        if call.__name__ == "commit_transaction" and left:
            left.pop(0)(call.__self__)  # type: ignore[attr-defined]
        original(call, deadline)

    monkeypatch.setattr(transaction_committer, "repeated", gated)


def test_records_are_visible_when_their_checkpoint_is_complete(
    kafka_broker: KafkaBroker, topic: str
) -> None:
    attempt = Attempt(kafka_sink(kafka_broker, topic).build())
    attempt.write("a1", "a2")
    attempt.checkpoint(1)
    attempt.write("a3")

    assert texts(kafka_broker, topic, read_committed=False) == []
    attempt.complete(1)
    assert texts(kafka_broker, topic) == ["a1", "a2"]
    attempt.checkpoint(2)
    attempt.complete(2)
    assert in_order(kafka_broker, topic) == {"a": ["a1", "a2", "a3"]}
    attempt.close()


def test_what_a_failed_checkpoint_prepared_is_committed_with_the_next_one(
    kafka_broker: KafkaBroker, topic: str
) -> None:
    attempt = Attempt(kafka_sink(kafka_broker, topic).build())
    for number in (1, 2, 3):
        attempt.write(f"a{number}")
        checkpoint = attempt.checkpoint(number)
    attempt.complete(3)
    attempt.crash()

    Attempt(kafka_sink(kafka_broker, topic).build(), 1, checkpoint).close()
    assert in_order(kafka_broker, topic) == {"a": ["a1", "a2", "a3"]}


def test_a_crash_before_the_commit_loses_nothing(kafka_broker: KafkaBroker, topic: str) -> None:
    checkpoint = prepared(kafka_broker, topic, "a1", "b1", "a2")

    attempt = Attempt(kafka_sink(kafka_broker, topic).build(), 1, checkpoint)
    attempt.write("a3")
    attempt.checkpoint(2)
    attempt.complete(2)
    attempt.close()
    assert in_order(kafka_broker, topic) == {"a": ["a1", "a2", "a3"], "b": ["b1"]}


def test_commits_that_are_repeated_change_nothing(kafka_broker: KafkaBroker, topic: str) -> None:
    checkpoint = prepared(kafka_broker, topic, "a1", "b1")

    for _ in range(3):
        Attempt(kafka_sink(kafka_broker, topic).build(), 1, checkpoint).crash()
    assert texts(kafka_broker, topic) == ["a1", "b1"]


KILLED = """
import os, pickle, signal, sys
from riverrun.api.sink import Committable
from riverrun.connectors.kafka import transaction_committer, transaction_trouble
from riverrun.api.sink import SinkWriterContext

sink, committables = pickle.load(open(sys.argv[1], "rb"))
original = transaction_committer.repeated

def dies(call, deadline):
    if call.__name__ == "commit_transaction":
        if sys.argv[2] == "after":
            original(call, deadline)
        else:
            call.__self__.flush(30)
        os.kill(os.getpid(), signal.SIGKILL)
    original(call, deadline)

transaction_committer.repeated = dies
sink.create_committer(SinkWriterContext(0, 1, "sink", None)).commit(committables)
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_process_killed_around_the_end_of_its_transaction_leaves_each_record_once(
    kafka_broker: KafkaBroker, topic: str, tmp_path: Path, moment: str
) -> None:
    checkpoint = prepared(kafka_broker, topic, "a1", "b1")
    sink = kafka_sink(kafka_broker, topic).build()
    (tmp_path / "work").write_bytes(pickle.dumps((sink, pickle.loads(checkpoint))))

    died = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "work"), moment], check=False, timeout=60
    )
    assert died.returncode == -9
    assert len(texts(kafka_broker, topic, read_committed=False)) == 2, "it died too early"

    Attempt(sink, 1, checkpoint).close()
    assert texts(kafka_broker, topic) == ["a1", "b1"]


def test_a_zombie_in_the_middle_of_its_transaction_is_barred(
    kafka_broker: KafkaBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = prepared(kafka_broker, topic, "a1", "b1")
    sink = kafka_sink(kafka_broker, topic).build()
    sent, released = threading.Event(), threading.Event()

    def stalls(_: Producer) -> None:
        sent.set()
        assert released.wait(60)

    before_commit(monkeypatch, stalls)
    zombie = committer_of(sink)
    with ThreadPoolExecutor(1) as pool:
        finds_out = pool.submit(zombie.commit, pickle.loads(checkpoint))
        assert sent.wait(60)
        attempt = Attempt(sink, 1, checkpoint)
        attempt.write("a2")
        attempt.checkpoint(2)
        attempt.complete(2)
        released.set()
        finds_out.result(60)

    attempt.write("a3")
    attempt.checkpoint(3)
    attempt.complete(3)
    attempt.close()
    zombie.close()
    assert in_order(kafka_broker, topic) == {"a": ["a1", "a2", "a3"], "b": ["b1"]}


def test_a_zombie_that_wakes_up_late_finds_its_work_done(
    kafka_broker: KafkaBroker, topic: str
) -> None:
    checkpoint = prepared(kafka_broker, topic, "a1", "b1")
    sink = kafka_sink(kafka_broker, topic).build()
    attempt = Attempt(sink, 1, checkpoint)
    attempt.write("a2")
    attempt.checkpoint(2)

    zombie = committer_of(sink)
    zombie.commit(pickle.loads(checkpoint))
    attempt.complete(2)
    zombie.close()
    attempt.close()
    assert in_order(kafka_broker, topic) == {"a": ["a1", "a2"], "b": ["b1"]}


def test_two_jobs_with_one_prefix_are_told(
    kafka_broker: KafkaBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_committer, "MAX_FENCED", 2)
    checkpoint = prepared(kafka_broker, topic, "a1")
    committer = committer_of(kafka_sink(kafka_broker, topic).build())

    def other_job(_: Producer) -> None:
        Producer(kafka_broker.client(transactional_id=f"{topic}-0")).init_transactions(30)

    before_commit(monkeypatch, other_job, other_job)
    with pytest.raises(KafkaProducerFenced, match="a transactional id prefix of its own"):
        committer.commit(pickle.loads(checkpoint))
    committer.close()
    assert texts(kafka_broker, topic) == []


def test_a_transaction_that_timed_out_is_written_again(
    kafka_broker: KafkaBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = prepared(kafka_broker, topic, "a1", "a2")

    def until_the_broker_has_ended_it(producer: Producer) -> None:
        assert producer.flush(30) == 0
        admin = kafka_broker.admin()
        wait_until(
            lambda: (
                ends(admin, topic, IsolationLevel.READ_COMMITTED)
                == ends(admin, topic, IsolationLevel.READ_UNCOMMITTED)
            ),
            what="the end of the transaction, by the broker",
        )

    before_commit(monkeypatch, until_the_broker_has_ended_it)
    sink = kafka_sink(kafka_broker, topic, transaction_timeout_ms=1000).build()
    Attempt(sink, 1, checkpoint).close()
    assert in_order(kafka_broker, topic) == {"a": ["a1", "a2"]}
    assert len(texts(kafka_broker, topic, read_committed=False)) == 4, "it did not time out"


def ends(admin: AdminClient, topic: str, isolation: IsolationLevel) -> dict[int, int]:
    """Up to where each partition can be read."""
    asked = admin.list_offsets(
        {TopicPartition(topic, number): OffsetSpec.latest() for number in range(3)},
        isolation_level=isolation,
    )
    return {each.partition: future.result(30).offset for each, future in asked.items()}


def test_a_broker_killed_during_the_commit_loses_and_repeats_nothing(
    kafka_broker: KafkaBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = Attempt(kafka_sink(kafka_broker, topic).build())
    attempt.write(*(f"{letter}{number}" for number in range(500) for letter in "ab"))
    attempt.checkpoint(1)

    with ThreadPoolExecutor(1) as pool:

        def restart(_: Producer) -> None:
            pool.submit(kafka_broker.restart)

        before_commit(monkeypatch, restart)
        attempt.complete(1)
    attempt.write("a500")
    attempt.checkpoint(2)
    attempt.complete(2)
    attempt.close()
    assert in_order(kafka_broker, topic) == {
        "a": [f"a{number}" for number in range(501)],
        "b": [f"b{number}" for number in range(500)],
    }


@pytest.mark.slow
def test_a_broker_that_pauses_for_longer_than_the_transaction_may_take_loses_and_repeats_nothing(
    kafka_broker: KafkaBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = prepared(kafka_broker, topic, "a1", "a2")
    sink = kafka_sink(kafka_broker, topic, transaction_timeout_ms=1000).build()

    def pause(producer: Producer) -> None:
        assert producer.flush(30) == 0
        kafka_broker.pause()
        threading.Timer(2.5, kafka_broker.resume).start()

    before_commit(monkeypatch, pause)
    Attempt(sink, 1, checkpoint).close()
    assert in_order(kafka_broker, topic) == {"a": ["a1", "a2"]}


def test_in_a_task_a_commit_goes_on_while_records_come_and_is_done_before_the_next_snapshot(
    kafka_broker: KafkaBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = Attempt(kafka_sink(kafka_broker, topic).build(), in_task=True)
    go = threading.Event()

    def waits(_: Producer) -> None:
        assert go.wait(60)

    before_commit(monkeypatch, waits)
    attempt.write("a1")
    attempt.checkpoint(1)
    attempt.complete(1)
    attempt.write("a2")
    assert texts(kafka_broker, topic) == []
    go.set()
    attempt.checkpoint(2)
    assert texts(kafka_broker, topic) == ["a1"]
    attempt.complete(2)
    attempt.close()
    assert in_order(kafka_broker, topic) == {"a": ["a1", "a2"]}


def test_an_epoch_larger_than_the_producers_queue_is_written_in_one_transaction(
    kafka_broker: KafkaBroker, topic: str
) -> None:
    sink = kafka_sink(kafka_broker, topic, queue_buffering_max_messages=50).build()
    attempt = Attempt(sink)
    attempt.write(*(f"a{number}" for number in range(3000)))
    attempt.checkpoint(1)
    attempt.complete(1)
    attempt.close()

    assert in_order(kafka_broker, topic) == {"a": [f"a{number}" for number in range(3000)]}


@pytest.mark.parametrize("parallelism", [1, 2, pytest.param(5, marks=pytest.mark.slow)])
def test_rescaling_commits_each_epoch_once_whoever_commits_it(
    kafka_broker: KafkaBroker, topic: str, parallelism: int
) -> None:
    sink = kafka_sink(kafka_broker, topic).build()
    attempt = Attempt(sink, 3)
    for number in (1, 2):
        for subtask, letter in enumerate("abc"):
            attempt.write(f"{letter}{number}", subtask=subtask)
        checkpoint = attempt.checkpoint(number)
    attempt.crash()

    for _ in range(2):
        after = Attempt(sink, parallelism, checkpoint)
        after.crash()
    after = Attempt(sink, parallelism, checkpoint)
    for subtask in range(parallelism):
        after.write(f"{'defgh'[subtask]}3", subtask=subtask)
    after.checkpoint(3)
    after.complete(3)
    after.close()

    once = [f"{letter}{number}" for letter in "abc" for number in (1, 2)]
    assert texts(kafka_broker, topic) == once + [f"{letter}3" for letter in "defgh"[:parallelism]]


def test_a_zombie_of_a_larger_parallelism_is_barred(
    kafka_broker: KafkaBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = kafka_sink(kafka_broker, topic).build()
    attempt = Attempt(sink, 2)
    attempt.write("b1", subtask=1)
    checkpoint = attempt.checkpoint(1)
    attempt.crash()
    sent, released = threading.Event(), threading.Event()

    def stalls(_: Producer) -> None:
        sent.set()
        assert released.wait(60)

    before_commit(monkeypatch, stalls)
    zombie = committer_of(sink, subtask=1)
    with ThreadPoolExecutor(1) as pool:
        finds_out = pool.submit(zombie.commit, pickle.loads(checkpoint))
        assert sent.wait(60)
        Attempt(sink, 1, checkpoint).close()
        released.set()
        finds_out.result(60)
    zombie.close()
    assert texts(kafka_broker, topic) == ["b1"]


def test_going_back_to_an_old_savepoint_writes_its_epochs_no_second_time_and_loses_no_new_one(
    kafka_broker: KafkaBroker, topic: str
) -> None:
    sink = kafka_sink(kafka_broker, topic).build()
    attempt = Attempt(sink)
    attempt.write("a1")
    savepoint = attempt.checkpoint(1)
    attempt.complete(1)
    for number in (2, 3):
        attempt.write(f"a{number}")
        attempt.checkpoint(number)
        attempt.complete(number)
    attempt.close()

    again = Attempt(sink, 1, savepoint)
    for number in (2, 3):
        again.write(f"b{number}")
        again.checkpoint(number)
        again.complete(number)
    again.close()
    assert in_order(kafka_broker, topic) == {"a": ["a1", "a2", "a3"], "b": ["b2", "b3"]}


def test_sinks_may_share_a_topic_for_their_markers(kafka_broker: KafkaBroker, topic: str) -> None:
    other = kafka_broker.create_topic()
    for name in (topic, other):
        sink = kafka_sink(kafka_broker, name).set_marker_topic(f"{topic}-shared").build()
        attempt = Attempt(sink)
        attempt.write("a1")
        checkpoint = attempt.checkpoint(1)
        attempt.complete(1)
        attempt.crash()
        Attempt(sink, 1, checkpoint).close()

    assert texts(kafka_broker, topic) == texts(kafka_broker, other) == ["a1"]
    assert len(kafka_broker.values(f"{topic}-shared")) == 2
