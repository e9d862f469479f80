"""The limit of Nexmark's queries: the functions of the queries in bare loops, one process per core.

Each process makes its share of the events with the same generator, a run at a time as a source does, and keeps what
it finds to itself: events of one key that are in two shares do not meet. A share is one piece of
time, so that sellers and bidders are mostly in it.
"""

import argparse
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Final

from benchmarks.baseline import seconds_of
from benchmarks.measurement import PARALLELISM, measure
from benchmarks.nexmark.events import Event
from benchmarks.nexmark.generator import Generator
from benchmarks.nexmark.loops import LOOPS
from benchmarks.workloads import share

_RUN: Final = 2_048


def loop(query: str, numbers: range) -> int:
    """Take the events with these numbers through the query; how many there were."""
    deque(LOOPS[query](_events(numbers)), maxlen=0)
    return len(numbers)


def _events(numbers: range) -> Iterator[Event]:
    make = Generator().events
    for start in range(numbers.start, numbers.stop, _RUN):
        yield from make(range(start, min(start + _RUN, numbers.stop)))


def run(arguments: argparse.Namespace, records: int) -> float:
    """Seconds that the loops take."""
    shares = [share(records, part, PARALLELISM) for part in range(PARALLELISM)]
    return seconds_of(partial(loop, arguments.workload), shares)


if __name__ == "__main__":
    measure("baseline", run, {}, tuple(LOOPS))
