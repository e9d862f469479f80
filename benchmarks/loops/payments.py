"""``windows`` and ``sliding`` in a bare loop.

A dict of sums for each ten seconds; they are over, and results are made, when the latest time is ahead of their end
by the bound. A sliding window adds up the sums of the six tens that it covers, so a payment is added once.
"""

from collections.abc import Iterator

from benchmarks.payments import (
    BOUND_MS,
    SLIDING_MS,
    WINDOW_MS,
    Spend,
    customer_of,
    payment,
    time_of,
)


def windows(indexes: range) -> list[int]:
    """The sums of all windows."""
    results: list[int] = []
    result_of = Spend().get_result
    for _, sums in _tens(indexes):
        results += map(result_of, sums.values())
    return results


def sliding(indexes: range) -> list[int]:
    """The sums of all windows of a minute."""
    spend = Spend()
    results: list[int] = []
    covered: dict[int, dict[int, int]] = {}
    end = 0

    def close_until(latest: int) -> None:
        nonlocal end
        while covered and end <= latest:
            merged: dict[int, int] = {}
            for sums in covered.values():
                for key, accumulator in sums.items():
                    held = merged.get(key)
                    merged[key] = accumulator if held is None else spend.merge(held, accumulator)
            results.extend(map(spend.get_result, merged.values()))
            covered.pop(end - SLIDING_MS, None)
            end += WINDOW_MS

    for start, sums in _tens(indexes):
        if not covered:
            end = start + WINDOW_MS
        close_until(start)
        covered[start] = sums
    close_until(end + SLIDING_MS)
    return results


def _tens(indexes: range) -> Iterator[tuple[int, dict[int, int]]]:
    """Start and sums of each ten seconds, in order, when they are over."""
    spend = Spend()
    open_windows: dict[int, dict[int, int]] = {}
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
                start = next_end - WINDOW_MS
                yield start, open_windows.pop(start)
                next_end = min(open_windows) + WINDOW_MS
    yield from sorted(open_windows.items())
