"""Where an operator sends what it makes: runs of records, and how far event time has come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

Emit: TypeAlias = Callable[[list[Any], list[int] | None], None]
"""Takes a run of values and their timestamps (``None``: the run has none)."""


class TimeOutput(Protocol):
    """Where an operator that does not simply pass event time on sends its own."""

    def watermark(self, time: int) -> None:
        """Everything downstream has reached ``time``."""

    def status(self, *, idle: bool) -> None:
        """What is downstream leaves this operator out of its minimum, or counts it again."""
