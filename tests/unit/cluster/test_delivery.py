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


def run(sequence: int, *values: Any, operator: str = "op", commit: str | None = None) -> ClientRun:
    return ClientRun(operator, sequence, pickle.dumps(list(values)), len(values), commit)


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


def collected(window_bytes: int = 10_000) -> tuple[list[Any], Watched]:
    seen: list[Any] = []
    return seen, Watched({"op": lambda _, values: seen.extend(values)}, window_bytes)


def test_a_committed_run_is_delivered_once_and_credited_each_time() -> None:
    seen, watched = collected()
    before, after = FakeLink(), FakeLink()
    watched.delivery.offer(before, 0, run(0, "a", commit="1-0-0"))
    watched.delivery.offer(before, 0, run(1, "b", commit="1-0-1"))

    again = run(0, "a", commit="1-0-0")
    watched.delivery.offer(after, 0, again)
    watched.delivery.offer(after, 0, run(1, "c", commit="2-0-0"))
    watched.delivery.drain()

    assert watched.next_report() == "drained"
    assert seen == ["a", "b", "c"]
    assert Credit("op", len(again.payload)) in after.sent
    assert len(after.sent) == 2


def test_a_run_without_a_commit_is_delivered_as_often_as_it_is_sent() -> None:
    seen, watched = collected()

    for link in (FakeLink(), FakeLink()):
        watched.delivery.offer(link, 0, run(0, "a"))
    watched.delivery.drain()

    assert watched.next_report() == "drained"
    assert seen == ["a", "a"]


def test_operators_have_their_own_commits() -> None:
    seen: list[str] = []
    handlers: dict[str, ClientHandler] = {
        name: lambda _, values: seen.extend(values) for name in ("a", "b")
    }
    watched = Watched(handlers, 10_000)

    for name in handlers:
        watched.delivery.offer(FakeLink(), 0, run(0, name, operator=name, commit="1-0-0"))
    watched.delivery.drain()

    assert watched.next_report() == "drained"
    assert seen == ["a", "b"]


def test_only_the_newest_commits_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("riverrun.cluster.delivery.REMEMBERED_COMMITS", 3)
    seen, watched = collected()
    link = FakeLink()
    for n in range(5):
        watched.delivery.offer(link, 0, run(n, n, commit=str(n)))

    for sequence, n in enumerate((4, 3, 2, 0), 5):
        watched.delivery.offer(link, 0, run(sequence, n, commit=str(n)))
    watched.delivery.drain()

    assert watched.next_report() == "drained"
    assert seen == [0, 1, 2, 3, 4, 0]


def test_a_new_connection_counts_its_runs_and_its_window_anew() -> None:
    stuck = threading.Event()

    def handler(subtask: int, values: Sequence[Any]) -> None:
        stuck.wait(PATIENCE)

    watched = Watched({"op": handler})
    first = FakeLink()
    watched.delivery.offer(first, 0, run(0, "x" * 200))
    watched.delivery.forget(first)

    watched.delivery.offer(FakeLink(), 0, run(0, "x" * 200))

    stuck.set()
    watched.delivery.drain()
    assert watched.next_report() == "drained"
    assert first.sent == [Credit("op", len(run(0, "x" * 200).payload))]


def test_room_is_there_when_little_waits() -> None:
    entered, go_on = threading.Event(), threading.Event()
    room: queue.Queue[str] = queue.Queue()

    def handler(subtask: int, values: Sequence[Any]) -> None:
        entered.set()
        go_on.wait(PATIENCE)

    watched = Watched({"op": handler}, window_bytes=100)
    watched.delivery.when_room(lambda: room.put("nothing waits"))
    assert room.get(timeout=PATIENCE) == "nothing waits"
    watched.delivery.offer(FakeLink(), 0, run(0, "x" * 200))
    assert entered.wait(PATIENCE)

    watched.delivery.when_room(lambda: room.put("taken"))

    assert room.empty()
    go_on.set()
    assert room.get(timeout=PATIENCE) == "taken"
    watched.delivery.close(PATIENCE)


def test_settling_delivers_what_waits_and_ends() -> None:
    seen, watched = collected()
    watched.delivery.offer(FakeLink(), 0, run(0, "a"))

    watched.delivery.settle(PATIENCE)
    watched.delivery.offer(FakeLink(), 0, run(0, "b"))
    watched.delivery.settle(PATIENCE)

    assert seen == ["a"]


def test_a_failed_handler_is_never_worth_another_attempt(link: FakeLink) -> None:
    def handler(subtask: int, values: Sequence[Any]) -> None:
        raise ValueError("no")

    watched = Watched({"op": handler})
    watched.delivery.offer(link, 0, run(0, 1))

    failure = watched.next_report()

    assert isinstance(failure, Failure)
    assert not failure.retryable
