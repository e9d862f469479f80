"""Timers set and fired by a KeyedProcessFunction in a task, beside a bare loop with a heap.

Run it with ``python -m benchmarks.timers``. A timer per record, all set first, then the watermark passes
them all; each yields a record. Spread times mean that nearly every timer has its own, dense ones that a
thousand share one. Rates of one run, the best of some rounds; the last column is the share of the bare
loop's rate.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.datastream.data_stream import DataStream
from riverrun.testing.harness import OperatorHarness

RUN = 5000
"""Records in one run."""
HEAP = {"state.backend.rocksdb.timer-service.factory": "HEAP"}


class Remind(KeyedProcessFunction):
    """Sets a timer for each record, at the time that the record names."""

    def process_element(
        self, value: tuple[int, int], ctx: KeyedProcessFunction.Context
    ) -> Iterator[Any] | None:
        ctx.timer_service().register_event_time_timer(value[1])
        return None

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> list[int]:
        del timestamp
        return [ctx.get_current_key()]


@dataclass(frozen=True, slots=True)
class Rates:
    """Timers a second."""

    both: float
    """Set and fired."""
    setting: float
    firing: float


def reminders(stream: DataStream) -> DataStream:
    """The program."""
    return stream.key_by(lambda value: value[0]).process(Remind())


def in_task(
    records: list[tuple[int, int]], backend: str, config: dict[str, str], memory: str
) -> tuple[float, float]:
    """Seconds to set and to fire the timers of the records."""
    config = {"state.backend.rocksdb.memory.fixed-per-slot": memory, **config}
    runs = [records[at : at + RUN] for at in range(0, len(records), RUN)]
    last = max(due for _, due in records)
    with OperatorHarness(reminders, backend=backend, config=config) as harness:
        start = time.perf_counter()
        for run in runs:
            harness.push_run(run)
        middle = time.perf_counter()
        harness.watermark(last)
        end = time.perf_counter()
        fired = len(harness.output())
        if fired != len(set(records)):
            raise AssertionError(f"{fired} timers fired, expected {len(set(records))}")
    return middle - start, end - middle


def bare(records: list[tuple[int, int]]) -> tuple[float, float]:
    """The same with a heap, a set against duplicates and a function."""
    out: list[int] = []
    on_timer = out.append
    start = time.perf_counter()
    heap: list[tuple[int, int]] = []
    known: set[tuple[int, int]] = set()
    for key, due in records:
        timer = (due, key)
        if timer not in known:
            known.add(timer)
            heappush(heap, timer)
    middle = time.perf_counter()
    while heap:
        timer = heappop(heap)
        known.remove(timer)
        on_timer(timer[1])
    return middle - start, time.perf_counter() - middle


def best(count: int, rounds: int, run: Callable[[], tuple[float, float]]) -> Rates:
    """The best of some rounds."""
    found = []
    for _ in range(rounds):
        gc.collect()
        found.append(run())
    setting, firing = min(found, key=sum)
    return Rates(count / (setting + firing), count / setting, count / firing)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timers", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", default="256mb", help="of the rocksdb backend")
    arguments = parser.parse_args()
    count, rounds, memory = arguments.timers, arguments.rounds, arguments.memory
    for label, times in (("spread", count), ("dense", max(count // 1000, 1))):
        records = [(number, number * 7919 % times) for number in range(count)]
        plain = best(count, rounds, lambda: bare(records))  # noqa: B023  (called at once)
        print(f"{count:,} timers, {label} over {times:,} times")
        _print("heapq, bare loop", plain, plain)
        for name, backend, config in (
            ("hashmap", "hashmap", {}),
            ("rocksdb, HEAP", "rocksdb", HEAP),
            ("rocksdb, ROCKSDB", "rocksdb", {}),
        ):
            found = best(count, rounds, lambda: in_task(records, backend, config, memory))  # noqa: B023
            _print(name, found, plain)


def _print(name: str, rates: Rates, plain: Rates) -> None:
    print(
        f"  {name:18} {rates.both:10,.0f} timers/s  (set {rates.setting:10,.0f}, fired "
        f"{rates.firing:10,.0f})  {rates.both / plain.both:5.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
