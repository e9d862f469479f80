from __future__ import annotations

import threading

from riverrun.cluster.io_thread import IoThread

PATIENCE = 10.0


def test_work_is_done_in_order_and_what_can_wait_comes_last() -> None:
    io, go_on = IoThread("io"), threading.Event()
    done: list[str] = []

    def hold() -> None:
        go_on.wait(PATIENCE)

    io.run(hold)

    io.run_later(lambda: done.append("later"))
    io.run(lambda: done.append("first"))
    io.run(lambda: done.append("second"))
    go_on.set()

    assert io.close(PATIENCE)
    assert done == ["first", "second", "later"]


def test_closing_does_not_wait_for_work_that_never_ends() -> None:
    io, stuck, entered, done = IoThread("io"), threading.Event(), threading.Event(), list[str]()

    def hang() -> None:
        entered.set()
        stuck.wait(PATIENCE)

    io.run(hang)
    io.run(lambda: done.append("left behind"))
    assert entered.wait(PATIENCE)

    assert not io.wait(0.0)
    assert not io.close(0.0)
    io.run(lambda: done.append("after the end"))
    stuck.set()
    assert io.close(PATIENCE)
    assert done == ["left behind"]


def test_work_that_breaks_does_not_end_the_thread() -> None:
    io = IoThread("io")
    done: list[int] = []

    def broken() -> None:
        raise ValueError("not expected")

    io.run(broken)
    io.run(lambda: done.append(1))

    assert io.close(PATIENCE)
    assert done == [1]


def test_a_thread_without_work_never_begins() -> None:
    before = threading.active_count()

    assert IoThread("io").close(0.0)

    assert threading.active_count() == before
