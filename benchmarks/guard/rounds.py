"""Measures the paths round by round, the bare loop in between.

A look is some short rounds of a path in turn with its bare loop, and its ratio is the least of the one beside
the least of the other: what disturbs a measurement adds to it, and what slows the machine for longer slows
both. Of several looks the lowest ratio counts.
"""

from collections.abc import Mapping
from typing import Final

from benchmarks.guard.bytecode import instructions
from benchmarks.guard.counters import Counter, cost
from benchmarks.guard.paths import bare_of
from benchmarks.guard.verdict import Bounds, Ratios, failed, verdicts
from benchmarks.guard.work import Path

RECORDS: Final = 4_096
ROUNDS: Final = 7
SECOND_LOOKS: Final = 4
_FEW: Final = 2_048


def warm_up(paths: Mapping[str, Path]) -> None:
    """Go down each path once, uncounted: imports and caches of types are nobody's cost."""
    for name, path in paths.items():
        bare_of(name)(_FEW)()
        path(_FEW)()


def bytecode_ratios(paths: Mapping[str, Path], records: int) -> Ratios:
    """The bytecode of each path beside that of its bare loop; the same each time."""
    return {
        name: instructions(path(records)) / instructions(bare_of(name)(records))
        for name, path in paths.items()
    }


class Rounds:
    """Ratios so far; each look can only lower them."""

    def __init__(self, paths: Mapping[str, Path], counter: Counter, records: int) -> None:
        self._paths = paths
        self._counter = counter
        self._records = records
        self._lowest = dict.fromkeys(paths, float("inf"))

    def look(self, rounds: int, only: list[str] | None = None) -> None:
        """Measure all paths, or some, so many times."""
        for name in only or self._paths:
            least = bare = float("inf")
            for _ in range(rounds):
                bare = min(bare, self._cost(bare_of(name)))
                least = min(least, self._cost(self._paths[name]))
            self._lowest[name] = min(self._lowest[name], least / bare)

    def ratios(self) -> Ratios:
        """The lowest of each path."""
        return dict(self._lowest)

    def confirm(self, stored: Ratios, bounds: Bounds, looks: int, rounds: int) -> None:
        """Look again at what seems lost, longer each time: a busy machine must not pass for slow code."""
        for look in range(1, looks + 1):
            suspects = [
                name
                for name in failed(verdicts(stored, self.ratios(), bounds))
                if name in self._paths
            ]
            if not suspects:
                return
            self.look(rounds * (look + 1), suspects)

    def _cost(self, path: Path) -> float:
        return cost(self._counter, path(self._records))
