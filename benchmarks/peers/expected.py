"""What each workload gives, by plain loops: standard library only, for the peers' interpreters.

Updates of running sums are left out but for the last: peers differ in how many they give.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final

from benchmarks import blobs, orders, payments, steps, visits
from benchmarks.workloads import (
    CHAIN,
    COLUMNS,
    JOIN,
    KEYED,
    LARGE_RECORDS,
    SESSIONS,
    SKEWED,
    SLIDING,
    STATE,
    STATELESS,
    SUBTASKS,
    WINDOWS,
    Transaction,
    is_large,
    skewed_transaction,
    transaction,
    with_fee,
)

RECORDS: Final = {
    WINDOWS: 250_000,
    SLIDING: 50_000,
    COLUMNS: 250_000,
    JOIN: 100_000,
    LARGE_RECORDS: 30,
    CHAIN: 2_000,
}
"""How many records tell right from wrong; 20,000 of the others."""


def _stateless(records: int) -> list[Transaction]:
    return [paid for paid in map(with_fee, map(transaction, range(records))) if is_large(paid)]


def _sums(make: Callable[[int], Transaction]) -> Callable[[int], list[Transaction]]:
    def sums(records: int) -> list[Transaction]:
        totals: dict[int, int] = defaultdict(int)
        for customer, amount in map(make, range(records)):
            totals[customer] += amount
        return list(totals.items())

    return sums


def _amounts(records: int, size: int) -> Mapping[tuple[int, int], list[int]]:
    """The amounts of each customer in each window; a window has the time at which it starts."""
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    for customer, amount, time in map(payments.payment, range(records)):
        latest = time - time % payments.WINDOW_MS
        for start in range(latest, time - size, -payments.WINDOW_MS):
            found[customer, start].append(amount)
    return found


def _windows(records: int) -> list[int]:
    return [sum(amounts) for amounts in _amounts(records, payments.WINDOW_MS).values()]


def _sliding(records: int) -> list[int]:
    return [sum(amounts) for amounts in _amounts(records, payments.SLIDING_MS).values()]


def _columns(records: int) -> list[tuple[int, int, int, int, int, int]]:
    return [
        (customer, start + payments.WINDOW_MS, sum(each), len(each), min(each), max(each))
        for (customer, start), each in _amounts(records, payments.WINDOW_MS).items()
    ]


def _sessions(records: int) -> list[int]:
    times: dict[int, list[int]] = defaultdict(list)
    for visitor, _, time in map(visits.click, range(records)):
        times[visitor].append(time)
    counts = []
    for seen in times.values():
        seen.sort()
        counts.append(1)
        for before, time in pairwise(seen):
            if time - before > visits.GAP_MS:
                counts.append(0)
            counts[-1] += 1
    return counts


def _join(records: int) -> list[tuple[int, int, int]]:
    pairs = [(orders.order(number), orders.shipment(number)) for number in range(records // 2)]
    return [
        orders.sent(*pair) for pair in pairs if 0 <= pair[1][2] - pair[0][2] <= orders.WITHIN_MS
    ]


def _large_records(records: int) -> list[int]:
    return [blobs.SIZE] * records


def _chain(records: int) -> list[int]:
    return [steps.number(index) + steps.STEPS for index in range(records)]


EXPECTED: Final[Mapping[str, Callable[[int], list[Any]]]] = {
    STATELESS: _stateless,
    KEYED: _sums(transaction),
    STATE: _sums(transaction),
    SKEWED: _sums(skewed_transaction),
    WINDOWS: _windows,
    SLIDING: _sliding,
    SESSIONS: _sessions,
    JOIN: _join,
    COLUMNS: _columns,
    LARGE_RECORDS: _large_records,
    CHAIN: _chain,
    **dict.fromkeys(SUBTASKS, _sums(transaction)),
}


def compare(system: str, workload: str, found: list[Any]) -> None:
    """Say that the results are right.

    Raises:
        SystemExit: If they are not.
    """
    records = RECORDS.get(workload, 20_000)
    expected = EXPECTED[workload](records)
    if sorted(found) != sorted(expected):
        raise SystemExit(
            f"{system} {workload}: {len(found)} results of {records} records, such as "
            f"{sorted(found)[:3]}, expected {len(expected)}, such as {sorted(expected)[:3]}"
        )
    print(f"{system} {workload}: {len(found)} results of {records} records are right", flush=True)
