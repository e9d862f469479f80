"""The mailbox of a task: what ends a wait, and what does not."""

from __future__ import annotations

import queue
import threading
from pathlib import Path

import pyarrow as pa

from riverrun.protocol.control import CheckpointAborted
from riverrun.spark.worker.arenas import ConsumerArenas, ProducerArena
from riverrun.spark.worker.mailbox import Closed, Mailbox
from riverrun.spark.worker.rows import batches_of
from riverrun.testing.waiting import wait_until


def with_a_letter() -> Mailbox:
    mailbox = Mailbox(4)
    mailbox.read(iter(())).join()
    return mailbox


def test_a_wait_without_letters_leaves_them_where_they_are() -> None:
    mailbox = with_a_letter()

    mailbox.wait(0.0)

    assert len(mailbox) == 1
    assert mailbox.take(None) is Closed.CLOSED


def test_a_wake_up_ends_one_wait_also_when_it_came_before() -> None:
    mailbox = with_a_letter()
    mailbox.wake()

    mailbox.wait(None)

    threading.Timer(0, mailbox.wake).start()
    mailbox.wait(None)


def test_an_order_ends_every_wait_until_it_is_taken() -> None:
    mailbox = with_a_letter()
    mailbox.order(CheckpointAborted(1))

    mailbox.wait(None)
    mailbox.wait(None)

    assert mailbox.take_orders() == [CheckpointAborted(1)]


def test_the_memory_of_a_frame_is_given_back_before_the_next_one_comes(tmp_path: Path) -> None:
    producer = ProducerArena(tmp_path, 1 << 20)
    mailbox = Mailbox(4, ConsumerArenas(tmp_path))
    sent: queue.SimpleQueue[pa.RecordBatch | None] = queue.SimpleQueue()
    reader = mailbox.read(iter(sent.get, None))
    reference = producer.place([b"frame"], 5)
    assert reference is not None
    (batch,) = batches_of([(0, reference.encoded())])
    sent.put(batch)

    frame = mailbox.take(None)
    assert isinstance(frame, memoryview)
    assert bytes(frame) == b"frame"
    del frame
    wait_until(lambda: not producer.held, what="the memory given back")
    sent.put(None)
    reader.join()
