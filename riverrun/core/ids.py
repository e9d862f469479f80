"""Names and numbers that must not be mixed up.

Numbers on the hot path are ``NewType`` (free); ids that are printed or persisted are frozen classes.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final, NewType

EdgeId = NewType("EdgeId", int)
"""Number of a job edge, unique within one job graph."""

Attempt = NewType("Attempt", int)
"""How often a job (and so each of its subtasks) was started before; fences the attempt before it."""

Millis = NewType("Millis", int)
"""A point in time or a duration in milliseconds."""

_HEX_CHARS: Final = 32


@dataclass(frozen=True, slots=True, order=True)
class JobId:
    """A job's id: 32 hexadecimal characters, as in Flink."""

    value: str

    def __post_init__(self) -> None:
        if len(self.value) != _HEX_CHARS or not set(self.value) <= set("0123456789abcdef"):
            raise ValueError(
                f"job id {self.value!r}: expected 32 lower-case hexadecimal characters"
            )

    @staticmethod
    def random() -> JobId:
        """A fresh id."""
        return JobId(secrets.token_hex(_HEX_CHARS // 2))

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, order=True)
class VertexId:
    """A job vertex's id: 32 hexadecimal characters, stable between runs of the same program."""

    value: str

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, order=True)
class SubtaskId:
    """One parallel copy of a vertex, in no particular attempt."""

    vertex: VertexId
    index: int

    def __str__(self) -> str:
        return f"{self.vertex.value[:8]}/{self.index}"
