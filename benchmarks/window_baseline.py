"""The limit of the ``windows`` workload: the user's code in a bare loop, one process per core.

A dict of sums for each window; a window is over, and its results are made, when the latest time is ahead
of its end by the bound. As in ``benchmarks.baseline``, nothing of the user's code is inlined.
"""

import argparse

from benchmarks.baseline import seconds_of
from benchmarks.measurement import PARALLELISM, measure
from benchmarks.payments import (
    BOUND_MS,
    WINDOW_MS,
    Spend,
    customer_of,
    payment,
    share,
    time_of,
)


def windows(indexes: range) -> int:
    """Sum the payments in windows; how many results there were."""
    spend = Spend()
    open_windows: dict[int, dict[int, int]] = {}
    results = 0
    latest = next_end = 0
    for index in indexes:
        record = payment(index)
        time = time_of(record)
        start = time - time % WINDOW_MS
        sums = open_windows.get(start)
        if sums is None:
            sums = open_windows[start] = {}
            next_end = min(open_windows) + WINDOW_MS
        key = customer_of(record)
        accumulator = sums.get(key)
        if accumulator is None:
            accumulator = spend.create_accumulator()
        sums[key] = spend.add(record, accumulator)
        if time > latest:
            latest = time
            if latest - BOUND_MS >= next_end:
                over = open_windows.pop(next_end - WINDOW_MS)
                results += len([spend.get_result(each) for each in over.values()])
                next_end = min(open_windows) + WINDOW_MS
    for over in open_windows.values():
        results += len([spend.get_result(each) for each in over.values()])
    return results


def run(_arguments: argparse.Namespace, records: int) -> float:
    """Seconds that the loops take."""
    return seconds_of(windows, [share(records, part, PARALLELISM) for part in range(PARALLELISM)])


if __name__ == "__main__":
    measure("baseline", run, {})
