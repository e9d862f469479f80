"""Bodies about time lines."""

from __future__ import annotations

import msgspec

from riverrun.cluster.job_report import NOT_YET


class TimeLinesBody(msgspec.Struct, frozen=True, kw_only=True):
    """Series of a job or of a vertex, all with the same times; times are milliseconds."""

    now: int
    """When this was answered, since the epoch, as the others."""
    begin: int
    """When the job began."""
    end: int = NOT_YET
    """When the job ended."""
    resolution: int
    """How much time a value stands for."""
    times: list[int]
    """When the time that each value stands for begins."""
    series: dict[str, list[float | None]]
    """By name; null where nothing was reported. Rates, times and sizes that stand for more than a second are
    means, or, where the worst counts, the largest."""
