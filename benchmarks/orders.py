"""The logic of the ``join`` workload: plain functions, standard library only.

Orders ``(number, amount, time)``, 5,000 a second of event time, and for each of them one shipment
``(number, weight, time)`` which leaves up to two seconds later, so shipments are out of order. An order and its
shipment are joined by their number if the shipment leaves within ``WITHIN_MS``; half of the records are orders,
half are shipments. ``records`` of a run counts both.
"""

from typing import Final, TypeAlias

Order: TypeAlias = tuple[int, int, int]
"""Number, amount in cents, milliseconds since the Unix epoch."""
Shipment: TypeAlias = tuple[int, int, int]
"""Number of the order, weight in grams, milliseconds since the Unix epoch."""

START_MS: Final = 1_700_000_000_000
WITHIN_MS: Final = 3_000
BOUND_MS: Final = 3_000
"""How much the watermark trails the latest time; records are late by less."""


def order(index: int) -> Order:
    """The order number ``index``.

    >>> order(10)
    (10, 11818, 1700000000002)
    """
    mixed = index * 2_654_435_761 & 0xFFFFFFFF
    return index, (mixed >> 16) % 50_000, START_MS + index // 5


def shipment(index: int) -> Shipment:
    """What is sent for the order number ``index``.

    >>> shipment(10)
    (10, 3834, 1700000000236)
    """
    mixed = index * 2_654_435_761 & 0xFFFFFFFF
    return index, mixed % 5_000, START_MS + index // 5 + mixed % 2_048


def share(records: int, part: int, parts: int) -> range:
    """The numbers of the orders that worker ``part`` of ``parts`` makes."""
    return range(part, records // 2, parts)


def number_of(record: Order | Shipment) -> int:
    """The key of both sides."""
    return record[0]


def time_of(record: Order | Shipment, so_far: int = 0) -> int:
    """The event time; ``so_far`` is what a source may know of it."""
    del so_far
    return record[2]


def sent(order: Order, shipment: Shipment) -> tuple[int, int, int]:
    """A joined pair: number, amount, and how long the order waited.

    >>> sent((10, 500, 1_000), (10, 70, 1_800))
    (10, 500, 800)
    """
    return order[0], order[1], shipment[2] - order[2]
