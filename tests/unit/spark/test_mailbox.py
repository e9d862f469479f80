"""The mailbox of a task: what ends a wait, and what does not."""

from __future__ import annotations

import threading

from riverrun.protocol.control import CheckpointAborted
from riverrun.spark.worker.mailbox import Closed, Mailbox


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
