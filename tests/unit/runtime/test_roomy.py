"""Frames of deep calls have room: no call asks the system for memory."""

from __future__ import annotations

import resource
from collections.abc import Callable

import pytest

from riverrun.runtime.roomy import roomy
from riverrun.runtime.task import Task

CALLS = 200


def leaf(value: int) -> int:
    return value + 1


def down(depth: int, values: list[int]) -> None:
    """What a chain does: a run through a function at each depth."""
    if depth:
        down(depth - 1, [leaf(value) for value in values])


def faults(work: Callable[[], None]) -> int:
    """Pages that the system had to give."""
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    work()
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


@pytest.mark.skipif(not hasattr(resource, "RUSAGE_THREAD"), reason="only Linux counts them")
def test_a_deep_chain_of_calls_asks_for_memory_a_few_times_and_not_for_each_record() -> None:
    def plain() -> None:
        down(300, list(range(CALLS)))

    @roomy
    def with_room() -> None:
        down(300, list(range(CALLS)))

    for work in (plain, with_room):
        work()

    assert faults(with_room) < CALLS <= faults(plain)


def test_a_task_reads_its_runs_with_room() -> None:
    assert Task._read_with_room.__code__.co_stacksize > 1 << 16


def test_what_is_not_written_in_python_is_left_as_it_is() -> None:
    assert roomy(len) is len
