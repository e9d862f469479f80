"""The order to leave reaches the task that it was meant for, or nobody."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

import pytest

from riverrun.spark.worker import departure
from riverrun.spark.worker.departure import Departure, TaskCanceled


@pytest.fixture
def exits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The times after which the process would have ended itself."""
    seen: list[float] = []
    monkeypatch.setattr(departure, "exit_within", seen.append)
    before = signal.getsignal(signal.SIGUSR2)
    yield seen
    signal.signal(signal.SIGUSR2, before)


def ask_from_another_thread(leaving: Departure) -> None:
    thread = threading.Thread(target=leaving.ask, args=("the job was cancelled",))
    thread.start()
    thread.join()


def test_asking_interrupts_a_task_that_waits(exits: list[float]) -> None:
    leaving = Departure(grace_s=7.0)

    def wait_for_ever() -> None:
        with leaving.interruptible():
            asking.start()
            threading.Event().wait()

    asking = threading.Thread(target=leaving.ask, args=("now",))
    with pytest.raises(TaskCanceled):
        wait_for_ever()
    asking.join()

    assert exits == [7.0]


def test_user_code_that_swallows_exceptions_does_not_swallow_the_interrupt(
    exits: list[float],
) -> None:
    leaving = Departure(grace_s=7.0)

    with (
        pytest.raises(TaskCanceled),
        leaving.interruptible(),
        contextlib.suppress(Exception),
    ):
        ask_from_another_thread(leaving)


def test_asking_after_an_orderly_end_does_nothing(exits: list[float]) -> None:
    leaving = Departure(grace_s=7.0)
    with leaving.interruptible():
        pass

    ask_from_another_thread(leaving)

    assert exits == []


def test_asking_after_a_failure_does_not_interrupt_the_report(exits: list[float]) -> None:
    leaving = Departure(grace_s=7.0)

    with pytest.raises(ValueError, match="the user's"), leaving.interruptible():
        raise ValueError("the user's")
    ask_from_another_thread(leaving)

    assert exits == [7.0]


def test_a_task_that_was_asked_and_missed_it_leaves_at_its_end(
    exits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    leaving = Departure(grace_s=7.0)
    monkeypatch.setattr(signal, "pthread_kill", lambda thread, number: None)

    with pytest.raises(TaskCanceled), leaving.interruptible():
        ask_from_another_thread(leaving)
