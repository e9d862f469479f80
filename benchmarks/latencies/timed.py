"""The pipeline whose latency is measured: plain functions, standard library only.

Each system imports this module with its own interpreter. A record carries the moment at which it was due
by the rate, not the one at which the source got round to making it: a source that is held up makes
its records late, and that counts. All processes share one clock, the monotonic one of this machine.
"""

import argparse
import time
import uuid
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks.workloads import transaction

WARM_UP_SECONDS: Final = 5
SHARES: Final = (
    *(hundredths / 100 for hundredths in range(100)),
    *(0.991, 0.992, 0.993, 0.994, 0.995, 0.996, 0.997, 0.998),
    *(0.999, 0.9995, 0.9998, 0.9999),
)
"""The quantiles that are saved."""

Timed: TypeAlias = tuple[int, int, int]
"""Customer, amount, nanoseconds of the monotonic clock at which the record was due."""


def customer_of(record: Timed) -> int:
    """The key."""
    return record[0]


def add_timed(total: Timed, record: Timed) -> Timed:
    """The running sum, with the moment of the record that caused this update.

    >>> add_timed((1, 10, 100), (1, 5, 200))
    (1, 15, 200)
    """
    return total[0], total[1] + record[1], record[2]


class Schedule:
    """When each record of an even stream was due, worked out from when records are made.

    No source makes a record before it is due, so the earliest record by the rate tells when the stream
    began.

    >>> moments = iter([0, 1_000_000, 5_000_000])
    >>> schedule = Schedule(1_000, lambda: next(moments))
    >>> [schedule.timed(index)[2] for index in range(3)]
    [0, 1000000, 2000000]
    """

    def __init__(self, rate: float, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._gap_ns = 1e9 / rate
        self._clock = clock
        self._began = clock() if clock is time.monotonic_ns else 1 << 62

    def timed(self, index: int) -> Timed:
        """The transaction number ``index``, made now."""
        offset = int(index * self._gap_ns)
        self._began = min(self._began, self._clock() - offset)
        customer, amount = transaction(index)
        return customer, amount, self._began + offset


class Pace:
    """Which records a source of its own kind has to make: every ``step``-th, from ``first``.

    >>> moments = iter([0, 0, 999_999, 2_000_000])
    >>> pace = Pace(2_000, first=0, step=2, count=4, clock=lambda: next(moments))
    >>> [record[2] for record in pace.due()], [record[2] for record in pace.due()]
    ([0], [])
    >>> [record[2] for record in pace.due()], pace.over
    ([1000000], True)
    """

    def __init__(
        self,
        rate: float,
        *,
        first: int,
        step: int,
        count: int,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._gap_ns = 1e9 / rate
        self._next, self._step, self._count = first, step, count
        self._clock = clock
        self._began = clock()

    @property
    def over(self) -> bool:
        """Whether all records were made."""
        return self._next >= self._count

    def due(self) -> list[Timed]:
        """The records that are due by now and were not given yet."""
        until = min(self._count, int((self._clock() - self._began) / self._gap_ns) + 1)
        indexes = range(self._next, until, self._step)
        self._next += len(indexes) * self._step
        began, gap = self._began, self._gap_ns
        return [(*transaction(index), began + int(index * gap)) for index in indexes]


class Samples:
    """The latencies that one sink saw, kept in memory until it closes; of every ``every``-th record."""

    def __init__(self, folder: str, every: int = 1) -> None:
        self._folder = folder
        self._every = every
        self._seen = 0
        self._kept = array("q")

    def take(self, due_ns: int) -> None:
        """A record that was due then is here."""
        self._seen += 1
        if self._seen % self._every == 0:
            self._kept.append(due_ns)
            self._kept.append(time.monotonic_ns() - due_ns)

    def save(self) -> None:
        """Leave the samples where :func:`latencies_ms` finds them."""
        part = Path(self._folder, f"{uuid.uuid4()}.part")
        part.write_bytes(self._kept.tobytes())
        part.rename(part.with_suffix(".samples"))
        self._kept = array("q")


def latencies_ms(folder: Path, seconds: int, warm_up: int = WARM_UP_SECONDS) -> list[float]:
    """The sorted latencies of ``seconds`` in milliseconds, without the warm-up before them."""
    samples: list[tuple[int, int]] = []
    for path in folder.glob("*.samples"):
        numbers = array("q")
        numbers.frombytes(path.read_bytes())
        samples += zip(numbers[::2], numbers[1::2], strict=True)
    if not samples:
        return []
    begins = min(due for due, _ in samples) + warm_up * 1_000_000_000
    ends = begins + seconds * 1_000_000_000
    return sorted(took / 1e6 for due, took in samples if begins <= due < ends)


def quantile(ordered: list[float], share: float) -> float:
    """The value that ``share`` of the sorted values do not exceed.

    >>> quantile([1.0, 2.0, 3.0, 4.0], 0.5)
    2.0
    """
    return ordered[max(0, round(share * len(ordered)) - 1)]


def measured(run: Callable[[argparse.Namespace, int], None], settings: Mapping[str, str]) -> None:
    """The command line of a measured system: one run, whose sinks leave their samples in a folder.

    Args:
        run: Runs the pipeline over the given number of records.
        settings: Tunable options with their defaults; each becomes a ``--name value`` flag.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=int, required=True, help="records a second")
    parser.add_argument("--seconds", type=int, required=True, help="counted, after the warm-up")
    parser.add_argument("--folder", required=True, help="where samples go")
    parser.add_argument("--warm-up", type=int, default=WARM_UP_SECONDS, help="seconds")
    for name, default in settings.items():
        parser.add_argument(f"--{name.replace('_', '-')}", dest=name, default=default)
    arguments = parser.parse_args()
    # A second more than counted: the end of the stream is none of the measurement.
    run(arguments, arguments.rate * (arguments.warm_up + arguments.seconds + 1))
