"""Things that can be described in a program but not run, and the refusal of those."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from riverrun.core.errors import ProgramError

__all__ = ["Unusable", "refuse_unusable"]


class Unusable(ABC):
    """A source, sink or function of which only the description exists here."""

    @abstractmethod
    def refusal(self, method: str) -> ProgramError:
        """What to say to a program that hands it to ``method``."""


def refuse_unusable(method: str, thing: Any) -> None:
    """Raise ProgramError if ``thing``, which a program hands to ``method``, cannot run."""
    if isinstance(thing, Unusable):
        raise thing.refusal(method)
