"""The logic of ``windows``, ``sliding`` and ``columns``: plain functions, standard library only.

Payments ``(customer, amount, time)`` of 1,000 customers, 10,000 a second of event time, out of order by a
tenth of a second or so. ``windows``: the sum per customer in tumbling windows of ten seconds; ``sliding``: in
windows of a minute every ten seconds; ``columns``: sum, count, least and most amount in tumbling windows
of ten seconds. Each peer imports this with its own interpreter.
"""

from typing import Final, TypeAlias

Payment: TypeAlias = tuple[int, int, int]
"""Customer, amount in cents, milliseconds since the Unix epoch."""

CUSTOMERS: Final = 1_000
START_MS: Final = 1_700_000_000_000
WINDOW_MS: Final = 10_000
SLIDING_MS: Final = 60_000
"""The size of the windows that slide by ``WINDOW_MS``."""
BOUND_MS: Final = 1_000
"""How much the watermark trails the latest time; records are late by less."""


def payment(index: int) -> Payment:
    """The payment number ``index``; its time follows the index but for a jitter.

    >>> payment(1), payment(100_000)
    ((761, 40503, 1700000000121), (312, 26127, 1700000010052))
    """
    mixed = index * 2_654_435_761 & 0xFFFFFFFF
    return mixed % 1_000, (mixed >> 16) % 50_000, START_MS + index // 10 + (mixed >> 8 & 127)


def share(records: int, part: int, parts: int) -> range:
    """The indexes that worker ``part`` of ``parts`` makes: all go through the same time.

    >>> [list(share(5, part, 2)) for part in range(2)]
    [[0, 2, 4], [1, 3]]
    """
    return range(part, records, parts)


def customer_of(record: Payment) -> int:
    """The key."""
    return record[0]


def time_of(record: Payment, so_far: int = 0) -> int:
    """The event time; ``so_far`` is what a source may know of it."""
    del so_far
    return record[2]


class Spend:
    """The sum, as an aggregate function; each engine adds its own base class."""

    def create_accumulator(self) -> int:
        """Nothing spent."""
        return 0

    def add(self, value: Payment, accumulator: int) -> int:
        """One more payment."""
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        """The sum."""
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        """Both sums."""
        return acc_a + acc_b
