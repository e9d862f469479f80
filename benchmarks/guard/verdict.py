"""Costs now beside those stored: which path lost how much.

A ratio is the cost of a record on a path divided by that of a record of the bare loop. The stored ones
are kept by unit (instructions, cpu) and by minor version of Python, since interpreters differ.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final, TypeAlias

ALLOWED: Final = 0.20
"""The loss that is let pass: a path may cost this much more than it did."""
STORED: Final = Path(__file__).with_name("baseline.json")

Ratios: TypeAlias = Mapping[str, float]


class Outcome(Enum):
    """What became of a path."""

    KEPT = "kept"
    LOST = "lost"
    GAINED = "gained"
    NEW = "new"
    GONE = "gone"


FAILED: Final = frozenset({Outcome.LOST, Outcome.GONE})


@dataclass(frozen=True, slots=True)
class Verdict:
    """One path; a ratio is ``None`` where there is none."""

    path: str
    stored: float | None
    found: float | None

    @property
    def change(self) -> float | None:
        """How much more it costs, as a share of what it did.

        >>> Verdict("reduce", 2.0, 2.5).change
        0.25
        """
        if self.stored is None or self.found is None:
            return None
        return self.found / self.stored - 1

    @property
    def outcome(self) -> Outcome:
        """Whether that is let pass.

        >>> Verdict("reduce", 2.0, 2.5).outcome
        <Outcome.LOST: 'lost'>
        """
        if self.stored is None:
            return Outcome.NEW
        if self.change is None:
            return Outcome.GONE
        if self.change > ALLOWED:
            return Outcome.LOST
        return Outcome.GAINED if self.change < -ALLOWED else Outcome.KEPT


def verdicts(stored: Ratios, found: Ratios) -> list[Verdict]:
    """Every path, in the order in which they were measured; then those that no longer are."""
    names = dict.fromkeys((*found, *stored))
    return [Verdict(name, stored.get(name), found.get(name)) for name in names]


def failed(compared: list[Verdict]) -> list[str]:
    """The paths that must not stay as they are."""
    return [verdict.path for verdict in compared if verdict.outcome in FAILED]


def this_python() -> str:
    """The minor version that ratios are kept by."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def load(path: Path, unit: str, python: str) -> Ratios | None:
    """The stored ratios; ``None`` where none were stored for this unit and Python."""
    ratios: Ratios | None = _document(path).get(unit, {}).get(python)
    return ratios


def store(path: Path, unit: str, python: str, found: Ratios) -> None:
    """Put these ratios in the place of those of the same unit and Python."""
    document = _document(path)
    document.setdefault(unit, {})[python] = {name: round(found[name], 3) for name in found}
    path.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")


def _document(path: Path) -> dict[str, dict[str, Ratios]]:
    if not path.exists():
        return {}
    document: dict[str, dict[str, Ratios]] = json.loads(path.read_text())
    return document
