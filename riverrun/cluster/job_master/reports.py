"""What the tasks of an attempt report beside their lives: metrics and accumulators."""

from __future__ import annotations

import io
import pickle
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from riverrun.cluster.accumulators import merged
from riverrun.cluster.job_master.tasks import TaskKey

Values = dict[str, dict[str, float]]
"""Operator name ("" for the task itself) -> metric name -> value."""


@dataclass(frozen=True, slots=True)
class _Reported:
    place: str
    values: Values


class TaskReports:
    """The latest reports; written by the job's thread, read from any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._metrics: dict[TaskKey, _Reported] = {}
        self._accumulators: dict[TaskKey, bytes] = {}

    def keep_metrics(self, key: TaskKey, task: str, subtask: int, values: Values) -> None:
        """Take a task's values."""
        with self._lock:
            self._metrics[key] = _Reported(f"{task}.{subtask}", values)

    def keep_accumulators(self, key: TaskKey, payload: bytes) -> None:
        """Take all accumulators of a task: a pickled ``dict[str, Any]``."""
        with self._lock:
            self._accumulators[key] = payload

    def metrics(self) -> dict[str, dict[str, float]]:
        """The values by "<task name>.<subtask>[.<operator name>]" and metric name."""
        with self._lock:
            reports = list(self._metrics.values())
        return {
            f"{report.place}.{operator}" if operator else report.place: dict(numbers)
            for report in reports
            for operator, numbers in report.values.items()
        }

    def metrics_of(self, key: TaskKey) -> Values:
        """The values of one task; empty before its first report."""
        with self._lock:
            report = self._metrics.get(key)
        return {} if report is None else report.values

    def accumulators(self) -> dict[str, Any]:
        """One value per name over all subtasks. Makes the program's own objects: not for a JobManager."""
        with self._lock:
            reports = [self._accumulators[key] for key in sorted(self._accumulators)]
        return merged(pickle.loads(report) for report in reports)

    def plain_accumulators(self) -> dict[str, Any]:
        """One value per name over all subtasks, as far as they are plain values."""
        with self._lock:
            reports = [self._accumulators[key] for key in sorted(self._accumulators)]
        return merged(_plain(report) for report in reports)

    def plain_accumulators_of(self, key: TaskKey) -> Mapping[str, Any]:
        """The accumulators of one task, as far as they are plain values."""
        with self._lock:
            report = self._accumulators.get(key)
        return {} if report is None else _plain(report)


class _PlainOnly(pickle.Unpickler):
    """Makes numbers, texts and collections, and nothing that a class of the program would have to make."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is no plain value")


def _plain(report: bytes) -> dict[str, Any]:
    try:
        values: dict[str, Any] = _PlainOnly(io.BytesIO(report)).load()
    except (pickle.UnpicklingError, EOFError, ValueError):
        return {}
    return values
