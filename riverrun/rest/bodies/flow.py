"""Bodies about how records flow through a job now."""

from __future__ import annotations

import msgspec


class BusiestSubtask(msgspec.Struct, frozen=True):
    """The subtask that has the least time to spare."""

    subtask: int
    busy: float


class HeaviestSubtask(msgspec.Struct, frozen=True):
    """The subtask that gets the most records."""

    subtask: int
    share: float
    """Of all records of the vertex."""


class VertexFlow(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A vertex over its subtasks that run. What none of them tells is null."""

    id: str
    attempt: int
    """The highest attempt of its subtasks: how often it began again."""
    busy: float | None
    """Mean share of 1, as the other two."""
    backpressured: float | None
    idle: float | None
    busiest: BusiestSubtask | None
    records_in_per_second: float | None
    """From other vertices; of a source, what it reads."""
    records_out_per_second: float | None
    heaviest: HeaviestSubtask | None
    watermark: int | None
    """The lowest of what its subtasks take in, of a source's what they give; null before the first."""


class JobFlow(msgspec.Struct, frozen=True, kw_only=True):
    """How records flow through a job now."""

    now: int
    vertices: list[VertexFlow]
