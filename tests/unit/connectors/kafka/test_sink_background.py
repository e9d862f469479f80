"""Commits in the background: late, but never later than the next snapshot."""

from __future__ import annotations

import threading

import pytest

from riverrun.connectors.kafka.transaction_background import Background


def test_before_it_is_allowed_an_action_happens_at_once() -> None:
    done: list[str] = []
    Background().run(lambda: done.append(threading.current_thread().name))

    assert done == [threading.current_thread().name]


def test_an_action_goes_on_until_somebody_joins() -> None:
    background, go, done = Background(), threading.Event(), []
    background.allow()

    background.run(lambda: done.append(go.wait(30)))
    assert done == []
    go.set()
    background.join()
    assert done == [True]


def test_an_action_waits_for_the_one_before() -> None:
    background, order = Background(), list[int]()
    background.allow()
    for number in range(20):
        background.run(lambda number=number: order.append(number))  # type: ignore[misc]
    background.join()

    assert order == list(range(20))


def test_a_failure_is_raised_by_whoever_comes_next_and_nothing_is_begun_after_it() -> None:
    background, done = Background(), list[int]()
    background.allow()

    def fails() -> None:
        raise ValueError("no good")

    background.run(fails)
    with pytest.raises(ValueError, match="no good"):
        background.run(lambda: done.append(1))
    with pytest.raises(ValueError, match="no good"):
        background.raise_failure()
    with pytest.raises(ValueError, match="no good"):
        background.join()
    assert done == []


def test_closing_tells_a_failure_that_nobody_knows_of() -> None:
    def fails() -> None:
        raise ValueError("no good")

    background = Background()
    background.allow()
    background.run(fails)
    with pytest.raises(ValueError, match="no good"):
        background.close()
    background.close()


def test_after_the_end_of_input_commits_are_done_when_they_return() -> None:
    background, done = Background(), list[str]()
    background.allow()
    background.run(lambda: done.append("before"))
    background.forbid()
    assert done == ["before"]
    background.run(lambda: done.append("after"))
    assert done == ["before", "after"]
