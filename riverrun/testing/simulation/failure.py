"""What a simulation says when a run did not give what the undisturbed run gave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from riverrun.core.errors import RiverrunError

_SHOWN: Final = 200
"""Lines of a trace that fit into a message; the whole of it is in the error."""


class SimulationFailed(RiverrunError, AssertionError):  # noqa: N818
    """A run went wrong; ``riverrun.testing.simulate.replay`` repeats it.

    Attributes:
        seed: the run that went wrong.
        reason: what was wrong with it.
        schedule: the settings and the faults of the shortest run that went wrong in this way.
        trace: what happened in it, one line for each step.
    """

    def __init__(self, seed: int, reason: str, schedule: str, trace: Sequence[str]) -> None:
        super().__init__(seed, reason, schedule, trace)
        self.seed, self.reason, self.schedule, self.trace = seed, reason, schedule, trace

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {self.reason}", "", "the shortest schedule found:"]
        lines += [f"  {line}" for line in self.schedule.splitlines()]
        lines += ["", f"its trace ({len(self.trace)} lines):"]
        if len(self.trace) > _SHOWN:
            lines.append(f"  ... {len(self.trace) - _SHOWN} lines before are in the error's trace")
        lines += [f"  {line}" for line in self.trace[-_SHOWN:]]
        lines += ["", f"replay(build, {self.seed}) repeats the run"]
        return "\n".join(lines)
