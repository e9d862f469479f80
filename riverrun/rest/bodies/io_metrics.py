"""Records, bytes and time of a subtask, or of several."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from riverrun.cluster.job_report import SubtaskReport


class IoMetrics(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """Sums since the current attempt began; times are milliseconds."""

    read_bytes: int = 0
    read_bytes_complete: bool = True
    write_bytes: int = 0
    write_bytes_complete: bool = True
    read_records: int = 0
    read_records_complete: bool = True
    write_records: int = 0
    write_records_complete: bool = True
    accumulated_backpressured_time: int = 0
    accumulated_idle_time: int = 0
    accumulated_busy_time: float = 0.0


def io_metrics(subtasks: Iterable[SubtaskReport]) -> IoMetrics:
    """The sums over ``subtasks``; not complete while one has not reported."""
    metrics = [subtask.metrics for subtask in subtasks]
    complete = all("numRecordsOut" in each or "numBytesOut" in each for each in metrics)

    def total(name: str) -> float:
        return sum(each.get(name, 0.0) for each in metrics)

    return IoMetrics(
        read_bytes=int(total("numBytesIn")),
        read_bytes_complete=complete,
        write_bytes=int(total("numBytesOut")),
        write_bytes_complete=complete,
        read_records=int(total("numRecordsIn")),
        read_records_complete=complete,
        write_records=int(total("numRecordsOut")),
        write_records_complete=complete,
        accumulated_backpressured_time=int(total("accumulatedBackPressuredTimeMs")),
        accumulated_idle_time=int(total("accumulatedIdleTimeMs")),
        accumulated_busy_time=total("accumulatedBusyTimeMs"),
    )
