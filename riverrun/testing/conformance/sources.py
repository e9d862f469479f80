"""``check_source``: whatever happens, each record of a source counts exactly once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from riverrun.api.source import Boundedness, Source
from riverrun.core.clock import Clock, SystemClock
from riverrun.testing.conformance.failure import difference, not_conforming
from riverrun.testing.conformance.source_run import SavedSource, SourceRun, some_limit

_AFTERWARDS: Final = 10
"""Polls of each reader of an unbounded source after its last record: nothing may follow."""


def check_source(  # noqa: PLR0913  (settings by name)
    make: Callable[[], Source[Any]],
    expected: Iterable[Any],
    *,
    seeds: Iterable[int] = range(15),
    parallelisms: Sequence[int] = (1, 2, 3),
    crashes: int = 3,
    patience_s: float = 10.0,
    clock: Clock | None = None,
) -> None:
    """Read a source with checkpoints, crashes and rescales at random moments, once for each seed.

    After a crash everything goes on from the last checkpoint, at another parallelism perhaps, and what
    was read since counts no more. At the end the records that count must be ``expected``, in any order.

    Args:
        make: gives the source; called once for each seed.
        expected: its records; of an unbounded source those that are there now.
        seeds: the same seed does the same, as far as the system behind the source does.
        parallelisms: at which the source runs.
        crashes: how many at most in each run.
        patience_s: how long a source may give nothing before it has ended.
        clock: the time for readers and enumerators; the system's, if it is not given.

    Raises:
        NotConforming: records are lost, repeated or invented; with the seed and the steps.
    """
    wanted = list(expected)
    for seed in seeds:
        rng = random.Random(seed)  # noqa: S311  (has to be repeatable)
        reading = _Reading(make(), wanted, rng, clock or SystemClock(), patience_s)
        reading.steps.append(f"seed {seed}")
        reading.run(parallelisms, crashes)


class _Reading:
    def __init__(
        self,
        source: Source[Any],
        wanted: list[Any],
        rng: random.Random,
        clock: Clock,
        patience_s: float,
    ) -> None:
        self._source = source
        self._wanted = wanted
        self._rng = rng
        self._clock = clock
        self._patience_ms = patience_s * 1000
        self._bounded = source.get_boundedness() is Boundedness.BOUNDED
        self._counted: list[Any] = []
        """Read before the last checkpoint."""
        self._since: list[Any] = []
        self._saved: SavedSource | None = None
        self._number = 0
        self.steps: list[str] = []
        self._quiet_since = 0.0

    def run(self, parallelisms: Sequence[int], crashes: int) -> None:
        while True:
            parallelism = self._rng.choice(tuple(parallelisms))
            origin = "the start" if self._saved is None else f"checkpoint {self._number}"
            self.steps.append(f"runs at parallelism {parallelism} from {origin}")
            run = SourceRun(self._source, parallelism, self._saved, self._clock)
            try:
                finished = self._attempt(run, may_crash=crashes > 0)
            finally:
                run.close()
            if finished:
                break
            crashes -= 1
            self.steps.append(f"crashes after {len(self._since)} records")
            self._since = []
        found = difference(self._wanted, self._counted + self._since)
        if found is not None:
            raise not_conforming(f"source {type(self._source).__name__}: {found}", self.steps)

    def _attempt(self, run: SourceRun, *, may_crash: bool) -> bool:
        """Whether the source was read to its end."""
        self._quiet_since = self._clock.monotonic()
        while not self._has_all(run):
            run.pass_messages()
            subtask = self._rng.randrange(run.parallelism)
            polled = run.poll(subtask, some_limit(self._rng))
            self._since += polled.values
            if polled.values:
                self._quiet_since = self._clock.monotonic()
            else:
                self._check_patience()
                if self._rng.random() < 0.5:  # noqa: PLR2004  (now and then)
                    run.wait(polled)
            if self._rng.random() < 0.15:  # noqa: PLR2004  (now and then)
                self._checkpoint(run)
            if may_crash and self._rng.random() < 0.08:  # noqa: PLR2004  (now and then)
                return False
        return True

    def _checkpoint(self, run: SourceRun) -> None:
        self._number += 1
        self._saved = run.checkpoint(self._number)
        self._counted += self._since
        self._since = []
        self.steps.append(f"checkpoint {self._number} after {len(self._counted)} records")
        if self._rng.random() < 0.7:  # noqa: PLR2004  (the others complete, too, but nobody hears of it)
            run.complete(self._number)

    def _has_all(self, run: SourceRun) -> bool:
        if self._bounded:
            return run.is_over
        if len(self._counted) + len(self._since) < len(self._wanted):
            return False
        for _ in range(_AFTERWARDS):
            for subtask in range(run.parallelism):
                run.pass_messages()
                self._since += run.poll(subtask, 100).values
        return True

    def _check_patience(self) -> None:
        if self._clock.monotonic() - self._quiet_since > self._patience_ms:
            so_far = self._counted + self._since
            raise not_conforming(
                f"source {type(self._source).__name__}: gives nothing any more and has not ended; "
                f"{difference(self._wanted, so_far) or 'every record was read'}",
                self.steps,
            )
