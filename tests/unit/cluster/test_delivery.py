from __future__ import annotations

import pickle
import queue
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from riverrun.cluster.delivery import ClientDelivery, ClientHandler
from riverrun.core.errors import Failure, InternalError
from riverrun.protocol.control import ClientRun, Credit, Down

PATIENCE = 10.0


class FakeLink:
    """A connection in memory: what was sent, and how it was closed."""

    def __init__(self) -> None:
        self.sent: list[Down] = []
        self.ends: list[str] = []
        self.last_heard = 0.0

    def send(self, message: Down) -> None:
        self.sent.append(message)

    def close(self) -> None:
        self.ends.append("close")

    def abort(self) -> None:
        self.ends.append("abort")


@pytest.fixture
def link() -> FakeLink:
    return FakeLink()


class Watched:
    """A delivery whose reports wait in a queue."""

    def __init__(self, handlers: Mapping[str, ClientHandler], window_bytes: int = 100) -> None:
        self.reports: queue.Queue[Failure | str] = queue.Queue()
        self.delivery = ClientDelivery(
            handlers, window_bytes, self.reports.put, lambda: self.reports.put("drained")
        )

    def next_report(self) -> Failure | str:
        return self.reports.get(timeout=PATIENCE)


def run(sequence: int, *values: Any, operator: str = "op") -> ClientRun:
    return ClientRun(operator, sequence, pickle.dumps(list(values)), len(values))


def test_runs_reach_their_handlers_in_order_and_are_credited(link: FakeLink) -> None:
    seen: list[tuple[str, int, Sequence[Any]]] = []
    watched = Watched(
        {
            "a": lambda subtask, values: seen.append(("a", subtask, values)),
            "b": lambda subtask, values: seen.append(("b", subtask, values)),
        },
        window_bytes=10_000,
    )
    runs = [run(0, 1, 2, operator="a"), run(0, "x", operator="b"), run(1, None, operator="a")]

    for one in runs:
        watched.delivery.offer(link, 3, one)
    watched.delivery.drain()

    assert watched.next_report() == "drained"
    assert seen == [("a", 3, [1, 2]), ("b", 3, ["x"]), ("a", 3, [None])]
    assert link.sent == [Credit(r.operator_id, len(r.payload)) for r in runs]
    watched.delivery.close(PATIENCE)


def test_credit_comes_only_after_the_handler_has_taken_the_values(link: FakeLink) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def handler(subtask: int, values: Sequence[Any]) -> None:
        entered.set()
        go_on.wait(PATIENCE)

    watched = Watched({"op": handler})
    watched.delivery.offer(link, 0, run(0, 1))
    assert entered.wait(PATIENCE)

    assert link.sent == []
    go_on.set()
    watched.delivery.drain()
    assert watched.next_report() == "drained"
    assert len(link.sent) == 1


def test_a_failing_handler_is_reported_once_with_the_users_frames_only(link: FakeLink) -> None:
    def handler(subtask: int, values: Sequence[Any]) -> None:
        raise ValueError(f"cannot take {values!r}")

    watched = Watched({"op": handler}, window_bytes=10_000)
    for sequence in range(3):
        watched.delivery.offer(link, 0, run(sequence, sequence))

    failure = watched.next_report()

    assert isinstance(failure, Failure)
    assert (failure.type_name, failure.message) == ("ValueError", "cannot take [0]")
    assert "in handler" in failure.traceback
    assert "delivery.py" not in failure.traceback.replace("test_delivery.py", "")
    assert failure.exception is not None
    watched.delivery.close(PATIENCE)
    assert watched.reports.empty()


def test_a_run_that_cannot_be_unpickled_fails_the_job(link: FakeLink) -> None:
    watched = Watched({"op": lambda subtask, values: None})

    watched.delivery.offer(link, 0, ClientRun("op", 0, b"junk", 1))

    assert isinstance(watched.next_report(), Failure)


def test_an_empty_delivery_is_drained_at_once() -> None:
    watched = Watched({})

    watched.delivery.drain()

    assert watched.next_report() == "drained"


def test_what_is_dropped_is_not_delivered_and_not_reported(link: FakeLink) -> None:
    entered, go_on = threading.Event(), threading.Event()
    calls: list[int] = []

    def handler(subtask: int, values: Sequence[Any]) -> None:
        calls.append(values[0])
        entered.set()
        go_on.wait(PATIENCE)

    watched = Watched({"op": handler}, window_bytes=10_000)
    for sequence in range(3):
        watched.delivery.offer(link, 0, run(sequence, sequence))
    assert entered.wait(PATIENCE)

    watched.delivery.drop()
    go_on.set()
    watched.delivery.close(PATIENCE)
    watched.delivery.offer(link, 0, run(3, 3))
    watched.delivery.drain()

    assert calls == [0]
    assert watched.reports.empty()


def test_a_task_that_sends_beyond_its_window_is_caught(link: FakeLink) -> None:
    stuck = threading.Event()

    def handler(subtask: int, values: Sequence[Any]) -> None:
        stuck.wait(PATIENCE)

    watched = Watched({"op": handler})
    watched.delivery.offer(link, 0, run(0, "x" * 200))
    watched.delivery.offer(FakeLink(), 1, run(0, "y"))

    with pytest.raises(InternalError, match="beyond its window of 100"):
        watched.delivery.offer(link, 0, run(1, "z"))

    stuck.set()
    watched.delivery.close(PATIENCE)


def test_a_missing_run_is_caught(link: FakeLink) -> None:
    watched = Watched({"op": lambda subtask, values: None})
    watched.delivery.offer(link, 0, run(0, 1))

    with pytest.raises(InternalError, match="run 2 came when run 1 was next"):
        watched.delivery.offer(link, 0, run(2, 1))

    watched.delivery.close(PATIENCE)


def test_values_for_nobody_are_caught(link: FakeLink) -> None:
    with pytest.raises(InternalError, match="'other' sent values to the client, which has no"):
        Watched({}).delivery.offer(link, 0, run(0, 1, operator="other"))
