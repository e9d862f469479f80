"""Measures the paths round by round, the bare loop in between, and keeps the least of each."""

from collections.abc import Mapping
from typing import Final

from benchmarks.guard.counters import Counter, cost
from benchmarks.guard.paths import Path, bare_loop
from benchmarks.guard.verdict import Ratios, failed, verdicts

RECORDS: Final = 30_000
ROUNDS: Final = 5
SECOND_LOOKS: Final = 3
_FEW: Final = 1_000


class Rounds:
    """Costs so far; each round can only lower them: what disturbs a measurement adds to it."""

    def __init__(self, paths: Mapping[str, Path], counter: Counter, records: int) -> None:
        self._paths = paths
        self._counter = counter
        self._records = records
        self._bare = float("inf")
        self._least = dict.fromkeys(paths, float("inf"))

    def warm_up(self) -> None:
        """Go down each path once, uncounted: imports and caches of types are nobody's cost."""
        for path in (bare_loop, *self._paths.values()):
            path(_FEW)()

    def run(self, rounds: int, only: list[str] | None = None) -> None:
        """Measure all paths, or some, so many times more."""
        for _ in range(rounds):
            for name in only or self._paths:
                self._bare = min(self._bare, self._cost(bare_loop))
                self._least[name] = min(self._least[name], self._cost(self._paths[name]))

    def ratios(self) -> Ratios:
        """The least cost of each path beside the least of the bare loop."""
        return {name: least / self._bare for name, least in self._least.items()}

    def confirm(self, stored: Ratios, looks: int, rounds: int) -> None:
        """Look again at what seems lost: a busy machine must not pass for slow code."""
        for _ in range(looks):
            suspects = [
                name for name in failed(verdicts(stored, self.ratios())) if name in self._paths
            ]
            if not suspects:
                return
            self.run(rounds, suspects)

    def _cost(self, path: Path) -> float:
        return cost(self._counter, path(self._records))
