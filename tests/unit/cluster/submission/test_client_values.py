from __future__ import annotations

import threading

from riverrun.cluster.submission.client_values import ClientValues
from riverrun.core.clock import ManualClock
from riverrun.testing.waiting import wait_until

Forsaken = list[tuple[str, int, bytes]]


def values(
    forsaken: Forsaken | None = None, *, window: int = 100, attached: bool = True
) -> ClientValues:
    gone = [] if forsaken is None else forsaken
    return ClientValues(
        window,
        60_000.0,
        lambda operator, subtask, payload: gone.append((operator, subtask, payload)),
        attached=attached,
    )


def test_runs_come_in_order_and_again_until_the_client_has_them() -> None:
    kept = values()
    for payload in (b"a", b"b", b"c"):
        kept.put("op", 1, payload)

    first, _ = kept.take(0, 0.0, 2)
    again, _ = kept.take(0, 0.0, 2)
    rest, last = kept.take(first[-1].number, 0.0, 100)

    assert [run.payload for run in first] == [run.payload for run in again] == [b"a", b"b"]
    assert ([run.payload for run in rest], last) == ([b"c"], False)


def test_the_last_answer_says_so() -> None:
    kept = values()
    kept.put("op", 0, b"a")
    kept.end()

    runs, last = kept.take(0, 0.0, 100)

    assert last
    assert kept.take(runs[-1].number, 0.0, 100) == ([], True)


def test_a_run_larger_than_a_batch_comes_alone() -> None:
    kept = values()
    kept.put("op", 0, b"x" * 50)
    kept.put("op", 0, b"y")

    assert [len(run.payload) for run in kept.take(0, 0.0, 10)[0]] == [50]


def test_a_client_that_is_behind_holds_the_job_up_until_it_takes() -> None:
    kept = values(window=1)
    kept.put("op", 0, b"aa")
    putting = threading.Thread(target=kept.put, args=("op", 0, b"b"))
    putting.start()
    assert putting.is_alive()

    runs, _ = kept.take(0, 0.0, 100)
    kept.take(runs[-1].number, 0.0, 100)
    putting.join(10)

    assert [run.payload for run in kept.take(1, 0.0, 100)[0]] == [b"b"]


def test_nobody_waits_for_a_client_that_is_gone() -> None:
    forsaken: Forsaken = []
    clock = ManualClock()
    kept = ClientValues(1, 1000.0, lambda *run: forsaken.append(run), attached=True, clock=clock)
    kept.put("op", 0, b"aa")
    clock.advance(2000)
    kept.put("op", 0, b"b")

    assert forsaken == [("op", 0, b"aa"), ("op", 0, b"b")]
    assert not kept.has_client


def test_without_a_client_from_the_start_nothing_is_kept() -> None:
    forsaken: Forsaken = []
    kept = values(forsaken, attached=False)
    kept.put("op", 3, b"a")

    assert forsaken == [("op", 3, b"a")]


def test_the_end_of_a_job_wakes_a_client_that_waits() -> None:
    kept = values()
    answers: list[tuple[list[object], bool]] = []
    waiting = threading.Thread(target=lambda: answers.append(kept.take(0, 60.0, 100)))  # type: ignore[arg-type]
    waiting.start()
    kept.end()
    waiting.join(10)
    wait_until(lambda: bool(answers), what="the answer")

    assert answers == [([], True)]
