"""What a path is, and the runs of records that paths are given."""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

Work: TypeAlias = Callable[[], int]
"""Handles prepared records once, and says how many."""
Path: TypeAlias = Callable[[int], Work]
"""Prepares so many records, and whatever takes them."""

RUN: Final = 2048
"""Records of a run: what a task takes in hand at once when records are cheap."""


def shares(records: int) -> Iterator[range]:
    """The numbers of the records, run by run."""
    for start in range(0, records, RUN):
        yield range(start, min(start + RUN, records))


def runs_of(make: Callable[[int], Any], records: int) -> list[list[Any]]:
    """The records themselves, run by run."""
    return [list(map(make, indexes)) for indexes in shares(records)]


def timed_runs(
    make: Callable[[int], Any], time_of: Callable[[Any], int], records: int
) -> list[tuple[list[Any], list[int]]]:
    """The same with their timestamps."""
    return [(run, list(map(time_of, run))) for run in runs_of(make, records)]
