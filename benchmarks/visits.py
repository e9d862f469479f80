"""The logic of the ``sessions`` workload: plain functions, standard library only.

Clicks ``(visitor, page, time)``, 10,000 a second of event time, nearly in order. A group of 500 visitors is
there for 20 seconds and then makes room for the next of 40 groups, so that each visitor's session ends after
a pause that is longer than the gap and another one begins later. The result is the number of clicks of
each session.
"""

from typing import Final, TypeAlias

Click: TypeAlias = tuple[int, int, int]
"""Visitor, page, milliseconds since the Unix epoch."""

START_MS: Final = 1_700_000_000_000
GAP_MS: Final = 5_000
BOUND_MS: Final = 1_000
"""How much the watermark trails the latest time; records are late by less."""


def click(index: int) -> Click:
    """The click number ``index``.

    >>> click(1), click(200_000)
    ((261, 503, 1700000000121), (624, 255, 1700000020105))
    """
    mixed = index * 2_654_435_761 & 0xFFFFFFFF
    group = index // 200_000 % 40
    time = START_MS + index // 10 + (mixed >> 8 & 127)
    return group * 500 + mixed % 500, (mixed >> 16) % 1_000, time


def share(records: int, part: int, parts: int) -> range:
    """The indexes that worker ``part`` of ``parts`` makes: all go through the same time."""
    return range(part, records, parts)


def visitor_of(record: Click) -> int:
    """The key."""
    return record[0]


def time_of(record: Click, so_far: int = 0) -> int:
    """The event time; ``so_far`` is what a source may know of it."""
    del so_far
    return record[2]


class Clicks:
    """The number of clicks, as an aggregate function; each engine adds its own base class."""

    def create_accumulator(self) -> int:
        """None yet."""
        return 0

    def add(self, value: Click, accumulator: int) -> int:
        """One more click."""
        del value
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        """How many."""
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        """Both parts of a session."""
        return acc_a + acc_b
