"""What the tasks of an attempt report beside their lives: metrics and accumulators."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Mapping
from typing import Any

from riverrun.cluster.accumulators import merged
from riverrun.cluster.job_master.tasks import TaskKey


class TaskReports:
    """The latest reports; written by the job's thread, read from any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._metrics: dict[str, dict[str, float]] = {}
        self._accumulators: dict[TaskKey, bytes] = {}

    def keep_metrics(self, task: str, subtask: int, values: Mapping[str, dict[str, float]]) -> None:
        """Take a task's values: operator name ("" for the task itself) -> metric name -> value."""
        place = f"{task}.{subtask}"
        with self._lock:
            for operator, numbers in values.items():
                self._metrics[f"{place}.{operator}" if operator else place] = numbers

    def keep_accumulators(self, key: TaskKey, payload: bytes) -> None:
        """Take all accumulators of a task: a pickled ``dict[str, Any]``."""
        with self._lock:
            self._accumulators[key] = payload

    def metrics(self) -> dict[str, dict[str, float]]:
        """The values by "<task name>.<subtask>[.<operator name>]" and metric name."""
        with self._lock:
            return {scope: dict(values) for scope, values in self._metrics.items()}

    def accumulators(self) -> dict[str, Any]:
        """One value per name over all subtasks."""
        with self._lock:
            reports = [self._accumulators[key] for key in sorted(self._accumulators)]
        return merged(pickle.loads(report) for report in reports)
