"""What Spark's REST interface tells of executors becomes task managers."""

from __future__ import annotations

import json
from typing import Any

from riverrun.cluster.resources.task_managers import TaskManager
from riverrun.spark.driver.executors import task_managers


def told(name: str, **others: Any) -> dict[str, Any]:
    return {
        "id": name,
        "hostPort": "10.0.0.7:34407",
        "isActive": True,
        "memoryUsed": 12,
        "totalCores": 2,
        "maxTasks": 20,
        "activeTasks": 3,
        "maxMemory": 133378867,
        "addTime": "2026-11-16T04:48:24.368GMT",
    } | others


def test_executors_that_are_there_are_task_managers_and_the_driver_is_not() -> None:
    listed = json.dumps([told("driver"), told("0"), told("1", isActive=False)])

    assert task_managers(listed, is_local=False) == [
        TaskManager("0", "10.0.0.7", 34407, 2, 20, 3, 133378867, 12, 1794804504368)
    ]


def test_in_local_mode_the_driver_is_the_task_manager() -> None:
    (driver,) = task_managers(json.dumps([told("driver")]), is_local=True)

    assert (driver.id, driver.slots, driver.slots_free) == ("driver", 20, 17)


def test_an_address_of_the_next_generation_keeps_its_colons() -> None:
    (one,) = task_managers(json.dumps([told("0", hostPort="[::1]:80")]), is_local=False)

    assert (one.host, one.port) == ("[::1]", 80)


def test_an_executor_that_has_not_opened_its_port_is_there_already() -> None:
    (one,) = task_managers(json.dumps([told("0", hostPort="10.0.0.7")]), is_local=False)

    assert (one.host, one.port) == ("10.0.0.7", 0)


def test_memory_and_collections_that_spark_measured_are_metrics() -> None:
    peaks = {"JVMHeapMemory": 5000, "ProcessTreePythonRSSMemory": 0}
    (one,) = task_managers(
        json.dumps([told("0", peakMemoryMetrics=peaks, totalGCTime=7)]), is_local=False
    )

    assert one.measured == {
        "Status.JVM.Memory.Heap.Peak": 5000,
        "Status.JVM.GarbageCollector.All.Time": 7,
    }
