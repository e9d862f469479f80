"""What can go wrong with a database, by what follows from it."""

from __future__ import annotations

from enum import Enum, auto

from riverrun.core.errors import ExternalError, ProgramError

__all__ = ["DatabaseFailed", "DatabaseRefused", "Trouble"]


class Trouble(Enum):
    """What an error of a database means for whoever ran into it."""

    PASSING = auto()
    """The same may work a little later: connection lost, server starting, deadlock, lock not free."""
    REFUSED = auto()
    """It will never work as the program stands: credentials, names, types, privileges."""
    FOREIGN = auto()
    """It is no error of a database at all."""
    UNCLEAR = auto()
    """Nothing is known; the job's restart strategy decides."""


class DatabaseRefused(ProgramError):  # noqa: N818  (named after what it is)
    """The database will never do what the program asks of it."""


class DatabaseFailed(ExternalError):  # noqa: N818
    """The database did not do what was asked; later it may."""
