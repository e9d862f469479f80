"""A setting that somebody made, and where."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from riverrun.core.secrets import masked


class Source(Enum):
    """Who may set an option; a later one in this list wins over those before it."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command line"
    PROGRAM = "program"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where exactly a setting was made."""

    source: Source
    place: str
    """For people: ``river.yaml:3``, the name of a variable, ``-D``."""

    def prefix(self) -> str:
        """How a message about the setting begins, unless who reads it has just typed it."""
        named = self.source in (Source.FILE, Source.ENVIRONMENT)
        return f"{self.place}: " if named else ""


@dataclass(frozen=True, slots=True)
class Setting:
    """A key with the text that somebody gave it."""

    key: str
    value: str
    origin: Origin

    def shown(self) -> str:
        """The value as it may be shown."""
        return masked(self.key, self.value)
