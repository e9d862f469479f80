"""The executors of the Spark application, as the ResourceManager sees them."""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from riverrun.cluster.resources.manager import ResourceManager
from riverrun.cluster.resources.task_managers import TaskManager
from riverrun.spark.driver.jvm import SparkJvm
from riverrun.spark.driver.session import SessionHandle

_DRIVER: Final = "driver"
_TIME: Final = "%Y-%m-%dT%H:%M:%S.%fGMT"

_PEAKS: Final = {
    "JVMHeapMemory": "Status.JVM.Memory.Heap.Peak",
    "JVMOffHeapMemory": "Status.JVM.Memory.NonHeap.Peak",
    "DirectPoolMemory": "Status.JVM.Memory.Direct.Peak",
    "ProcessTreePythonRSSMemory": "Status.Python.Memory.Peak",
}
"""What Spark keeps the largest value of -> our metric; Flink has no peaks, but its names fit."""

_managers: Final[weakref.WeakValueDictionary[str, ResourceManager]] = weakref.WeakValueDictionary()
_finding: Final = threading.Lock()


def resources_of(handle: SessionHandle) -> ResourceManager:
    """The ResourceManager of the application behind a session: one, whoever uses the application."""
    context = handle.user_session.sparkContext
    with _finding:
        manager = _managers.get(context.applicationId)
        if manager is None:
            cpus = context.getConf().get("spark.task.cpus") or "1"
            manager = _managers[context.applicationId] = ResourceManager(
                SparkView(handle.jvm, cpus)
            )
        return manager


class SparkView:
    """Satisfies ``cluster.resources.manager.ClusterView``.

    Args:
        jvm: of the application.
        task_cpus: what ``spark.task.cpus`` is set to.
    """

    def __init__(self, jvm: SparkJvm, task_cpus: str) -> None:
        self._jvm = jvm
        self._is_local = jvm.is_local()
        self._task_cpus = task_cpus

    @property
    def can_grow(self) -> bool:
        return not self._is_local

    @property
    def task_cpus(self) -> str:
        return self._task_cpus

    def slots(self) -> int:
        return self._jvm.slots()

    def executor_ids(self) -> frozenset[str]:
        if self._is_local:
            return frozenset({_DRIVER})
        return frozenset(filter(None, self._jvm.executor_ids().split(",")))

    def task_managers(self) -> Sequence[TaskManager]:
        return task_managers(self._jvm.executor_list(), is_local=self._is_local)


def task_managers(listed: str, *, is_local: bool) -> list[TaskManager]:
    """The executors in what Spark's REST interface tells of them; in local mode the driver is one."""
    return [
        _task_manager(each)
        for each in json.loads(listed)
        if each["isActive"] and (is_local or each["id"] != _DRIVER)
    ]


def _task_manager(told: dict[str, Any]) -> TaskManager:
    host, colon, port = told["hostPort"].rpartition(":")
    if not colon:
        # An executor that has just come and has not opened its port.
        host, port = port, "0"
    came = datetime.strptime(told["addTime"], _TIME).replace(tzinfo=UTC)
    return TaskManager(
        id=told["id"],
        host=host,
        port=int(port),
        cores=told["totalCores"],
        slots=told["maxTasks"],
        slots_used=told["activeTasks"],
        memory_max=told["maxMemory"],
        memory_used=told["memoryUsed"],
        since=int(came.timestamp() * 1000),
        measured=_measured(told),
    )


def _measured(told: dict[str, Any]) -> dict[str, float]:
    """Metrics that come with the executor's heartbeats; what was not measured is zero, and left out."""
    peaks = told.get("peakMemoryMetrics") or {}
    found = {name: float(peaks[key]) for key, name in _PEAKS.items() if peaks.get(key)}
    if "totalGCTime" in told:
        found["Status.JVM.GarbageCollector.All.Time"] = float(told["totalGCTime"])
    return found
