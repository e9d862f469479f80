"""``stateless``, ``keyed``, ``state`` and ``skewed`` in a bare loop."""

from collections.abc import Callable, Iterator

from benchmarks.workloads import (
    Transaction,
    add_amounts,
    customer_of,
    is_large,
    skewed_transaction,
    transaction,
    with_fee,
)


def stateless(indexes: range) -> int:
    """Map and filter each record; the number of records kept."""
    kept = 0
    for index in indexes:
        record = with_fee(transaction(index))
        if is_large(record):
            kept += 1
    return kept


def keyed(indexes: range) -> dict[int, Transaction]:
    """Keep a running sum per customer."""
    totals: dict[int, Transaction] = {}
    for index in indexes:
        record = transaction(index)
        key = customer_of(record)
        total = totals.get(key)
        totals[key] = record if total is None else add_amounts(total, record)
    return totals


class Totals:
    """The process function of the ``state`` workload with a dict for its state."""

    def __init__(self) -> None:
        self.totals: dict[int, int] = {}

    def process_element(self, value: Transaction) -> Iterator[Transaction]:
        """The customer's sum so far."""
        key = customer_of(value)
        total = self.totals.get(key)
        total = value[1] if total is None else total + value[1]
        self.totals[key] = total
        yield key, total


def state(indexes: range) -> dict[int, int]:
    """Call the process function for each record and take what it yields."""
    return _updated(transaction, indexes)


def skewed(indexes: range) -> dict[int, int]:
    """The same over records of which half are one customer's."""
    return _updated(skewed_transaction, indexes)


def _updated(make: Callable[[int], Transaction], indexes: range) -> dict[int, int]:
    function = Totals()
    process = function.process_element
    for index in indexes:
        for _ in process(make(index)):
            pass
    return function.totals
