"""``join`` in a bare loop.

Each side keeps its records in a dict by number until no record of the other side can be joined with them: when
the latest time is ahead by the bound and the width of the interval. An order and its shipment are made one
right after the other.
"""

from collections import deque
from typing import Final

from benchmarks.orders import (
    BOUND_MS,
    WITHIN_MS,
    Order,
    Shipment,
    number_of,
    order,
    sent,
    shipment,
    time_of,
)

_KEPT_MS: Final = BOUND_MS + WITHIN_MS


def join(numbers: range) -> int:
    """Join orders and shipments with these numbers; how long all orders together waited."""
    orders: dict[int, list[Order]] = {}
    shipments: dict[int, list[Shipment]] = {}
    ages: deque[tuple[int, int]] = deque()
    waited = 0
    for number in numbers:
        left = order(number)
        key, time = number_of(left), time_of(left)
        orders.setdefault(key, []).append(left)
        for other in shipments.get(key, ()):
            if 0 <= time_of(other) - time <= WITHIN_MS:
                waited += sent(left, other)[2]
        right = shipment(number)
        key, leaves = number_of(right), time_of(right)
        shipments.setdefault(key, []).append(right)
        for each in orders.get(key, ()):
            if 0 <= leaves - time_of(each) <= WITHIN_MS:
                waited += sent(each, right)[2]
        ages.append((time, key))
        while ages[0][0] < time - _KEPT_MS:
            _, over = ages.popleft()
            del orders[over], shipments[over]
    return waited
