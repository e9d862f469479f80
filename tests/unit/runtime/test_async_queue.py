"""The queues of asynchronous calls lose nothing, repeat nothing, and keep the order they promise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.runtime.async_queue import (
    AsyncQueue,
    Entry,
    OrderedQueue,
    TimeMark,
    UnorderedQueue,
)

QUEUES = [OrderedQueue, UnorderedQueue]


class Bench:
    """A queue, what went in, and what came out: numbers for records, ("time", n) for watermarks."""

    def __init__(self, queue: AsyncQueue) -> None:
        self.queue = queue
        self.entered: list[Any] = []
        self.left: list[Any] = []
        self.waiting: list[Entry] = []
        self._next = 0

    def put(self) -> Entry:
        entry = Entry(self._next, self._next)
        self._next += 1
        self.entered.append(entry.value)
        self.waiting.append(entry)
        self.queue.put(entry)
        return entry

    def mark(self) -> None:
        self.entered.append(("time", len(self.entered)))
        self.queue.mark(TimeMark(watermark=self.entered[-1][1]))

    def complete(self, index: int) -> None:
        entry = self.waiting.pop(index % len(self.waiting))
        self.queue.complete(entry, [entry.value])

    def take(self) -> None:
        for element in self.queue.take():
            if isinstance(element, Entry):
                assert element.made == [element.value]
                self.left.append(element.value)
            else:
                self.left.append(("time", element.watermark))

    def values_left(self) -> list[int]:
        return [each for each in self.left if isinstance(each, int)]


def collapsed(elements: list[Any]) -> list[Any]:
    """Of watermarks with no record between them the last."""
    return [
        each
        for index, each in enumerate(elements)
        if isinstance(each, int) or not isinstance((*elements, None)[index + 1], tuple)
    ]


def sides(elements: list[Any]) -> dict[int, int]:
    """For each record the last watermark before it."""
    before, found = -1, {}
    for each in elements:
        if isinstance(each, int):
            found[each] = before
        else:
            before = each[1]
    return found


steps = st.lists(
    st.one_of(
        st.just("put"), st.just("mark"), st.just("take"), st.integers(min_value=0, max_value=20)
    ),
    max_size=60,
)


def run(bench: Bench, plan: list[Any]) -> None:
    for step in plan:
        if step == "put":
            bench.put()
        elif step == "mark":
            bench.mark()
        elif step == "take":
            bench.take()
        elif bench.waiting:
            bench.complete(step)
    expected = set(bench.entered) - {each for each in bench.entered if isinstance(each, tuple)}
    kept = [entry.value for entry in bench.queue.entries()]
    assert kept == sorted(expected - set(bench.values_left()))


def finish(bench: Bench) -> None:
    while bench.waiting:
        bench.complete(len(bench.waiting) // 2)
    bench.take()
    assert bench.queue.is_empty
    assert bench.queue.entries() == []


@settings(max_examples=150)
@given(steps)
def test_the_ordered_queue_gives_everything_in_the_order_in_which_it_came(plan: list[Any]) -> None:
    bench = Bench(OrderedQueue())

    run(bench, plan)
    finish(bench)

    assert collapsed(bench.left) == collapsed(bench.entered)


@settings(max_examples=150)
@given(steps)
def test_the_unordered_queue_lets_no_record_pass_a_watermark_and_loses_none(
    plan: list[Any],
) -> None:
    bench = Bench(UnorderedQueue())

    run(bench, plan)
    finish(bench)

    assert sorted(bench.values_left()) == [each for each in bench.entered if isinstance(each, int)]
    # Watermarks that nothing stands between may come as one: a record then has a later one before it.
    assert sides(collapsed(bench.left)) == sides(collapsed(bench.entered))
    marks = [each for each in bench.left if isinstance(each, tuple)]
    assert marks == sorted(marks)


@settings(max_examples=80)
@given(steps)
def test_nothing_leaves_before_its_result_and_all_that_may_leave_does(plan: list[Any]) -> None:
    bench = Bench(UnorderedQueue())

    run(bench, plan)
    bench.take()

    pending = {entry.value for entry in bench.waiting}
    assert pending.isdisjoint(bench.values_left())
    first = min(pending, default=None)
    if first is not None:
        border = next(
            (i for i, each in enumerate(bench.entered) if each == first), len(bench.entered)
        )
        before = [each for each in bench.entered[:border] if isinstance(each, int)]
        assert set(before) <= set(bench.values_left())


@pytest.mark.parametrize("queue", QUEUES)
def test_marks_with_no_record_between_them_leave_as_one(queue: type[AsyncQueue]) -> None:
    bench = Bench(queue())
    entry = bench.put()
    for watermark in (1, 2):
        bench.queue.mark(TimeMark(watermark=watermark))
    bench.queue.mark(TimeMark(idle=True))
    assert bench.queue.take() == []

    bench.queue.complete(entry, [])
    leaving = bench.queue.take()

    assert leaving[0] is entry
    [mark] = leaving[1:]
    assert isinstance(mark, TimeMark)
    assert (mark.watermark, mark.idle) == (2, True)
    assert bench.queue.is_empty


@pytest.mark.parametrize("queue", QUEUES)
def test_a_mark_that_nothing_is_before_leaves_at_once(queue: type[AsyncQueue]) -> None:
    bench = Bench(queue())

    bench.mark()
    assert not bench.queue.is_empty
    bench.take()

    assert bench.left == bench.entered
    assert bench.queue.is_empty
