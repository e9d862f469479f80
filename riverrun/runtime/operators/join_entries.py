"""Records with their times, sorted by time: what a key holds in an interval join."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort_right
from collections.abc import Callable
from operator import itemgetter
from typing import Final

from riverrun.loops.pure import Entry, Held

__all__ = ["TIME", "Entry", "Held", "as_list", "found_between", "insert", "merged", "within"]

TIME: Final = itemgetter(0)


def as_list(held: Held) -> list[Entry]:
    """What a key holds, as the state has it."""
    return held if isinstance(held, list) else [held]


def insert(entries: list[Entry], entry: Entry) -> None:
    """Put a record to the others of its bucket."""
    if entries[-1][0] <= entry[0]:
        entries.append(entry)
    else:
        insort_right(entries, entry, key=TIME)


def merged(earlier: list[Entry], later: list[Entry]) -> list[Entry]:
    """Both by time; of those of one time the ``earlier`` first.

    >>> merged([(1, "a"), (3, "b")], [(1, "c"), (2, "d")])
    [(1, 'a'), (1, 'c'), (2, 'd'), (3, 'b')]
    """
    if not earlier or not later:
        return earlier or later
    both = earlier + later
    if earlier[-1][0] > later[0][0]:
        both.sort(key=TIME)
    return both


def found_between(
    bucket_at: Callable[[int], list[Entry] | None], width: int, first: int, last: int
) -> list[Entry]:
    """The records from ``first`` to ``last``, both inclusive, in the buckets of one key.

    >>> found_between({0: [(3, "a"), (9, "b")], 1: [(12, "c")]}.get, 10, 9, 12)
    [(9, 'b'), (12, 'c')]
    """
    found: list[Entry] = []
    for bucket in range(first // width, last // width + 1):
        entries = bucket_at(bucket)
        if entries:
            found += within(entries, first, last)
    return found


def within(entries: list[Entry], first: int, last: int) -> list[Entry]:
    """Those of the records of one bucket that are from ``first`` to ``last``, both inclusive."""
    earliest, latest = entries[0][0], entries[-1][0]
    if earliest > last or latest < first:
        return []
    start = 0 if earliest >= first else bisect_left(entries, first, key=TIME)
    end = len(entries) if latest <= last else bisect_right(entries, last, key=TIME)
    return entries[start:end]
