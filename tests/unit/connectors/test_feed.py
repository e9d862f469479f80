"""A thread that brings and a reader that takes: order, room, errors and the end."""

from __future__ import annotations

import threading

import pytest

from riverrun.connectors.base.backoff import Backoff
from riverrun.connectors.base.feed import Feed


def taken(feed: Feed[int]) -> list[int]:
    found: list[int] = []
    while not feed.has_ended:
        run = feed.take()
        if run is not None:
            found.append(run)
    return found


def test_everything_comes_in_order_although_there_is_little_room() -> None:
    def bring(feed: Feed[int]) -> None:
        assert all(feed.put(number, 3) for number in range(100))

    feed = Feed(bring, name="t", wake=lambda: None, capacity=5)
    feed.start()

    assert taken(feed) == list(range(100))


def test_a_run_larger_than_the_room_comes_alone() -> None:
    def bring(feed: Feed[int]) -> None:
        feed.put(1, 100)
        feed.put(2, 100)

    feed = Feed(bring, name="t", wake=lambda: None, capacity=5)
    feed.start()

    assert taken(feed) == [1, 2]


def test_what_the_thread_raised_comes_after_what_it_brought() -> None:
    def bring(feed: Feed[int]) -> None:
        feed.put(1)
        raise ConnectionError("gone")

    feed = Feed(bring, name="t", wake=lambda: None)
    feed.start()

    with pytest.raises(ConnectionError, match="gone"):
        taken(feed)


def test_something_new_and_the_end_wake_the_reader() -> None:
    def bring(feed: Feed[int]) -> None:
        feed.put(1)

    woken = threading.Semaphore(0)
    feed = Feed(bring, name="t", wake=woken.release)
    feed.start()

    assert woken.acquire(timeout=10)
    assert woken.acquire(timeout=10)


def test_a_thread_that_waits_hears_of_the_end() -> None:
    heard: list[bool] = []

    def bring(feed: Feed[int]) -> None:
        feed.put(1, 10)
        waits.set()
        heard.append(feed.put(2, 10))
        heard.append(feed.pause(600))
        heard.append(feed.is_wanted)
        raise ValueError("nobody wants to hear this")

    waits = threading.Event()
    feed = Feed(bring, name="t", wake=lambda: None, capacity=10)
    feed.start()
    waits.wait()
    interrupted: list[int] = []
    feed.stop(lambda: interrupted.append(1))

    assert feed.take() is None
    assert heard == [False, False, False]
    assert interrupted == [1]


def test_delays_grow_up_to_a_limit_and_differ_a_little() -> None:
    backoff = Backoff(first_s=1.0, most_s=8.0, jitter=0.5)

    for failures, most in [(0, 1.0), (1, 2.0), (2, 4.0), (3, 8.0), (400, 8.0)]:
        delays = {backoff.delay(failures) for _ in range(20)}
        assert all(most / 2 <= delay <= most for delay in delays)
        assert len(delays) > 1
