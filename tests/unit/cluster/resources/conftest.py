"""A cluster that the test plays."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from riverrun.cluster.resources.task_managers import TaskManager
from riverrun.core.errors import ExternalError

PATIENCE_S = 30.0
PREFIX = "jobmanager.adaptive-scheduler"
ADAPTIVE = {
    "jobmanager.scheduler": "adaptive",
    f"{PREFIX}.submission.resource-stabilization-timeout": "0 ms",
    f"{PREFIX}.executing.cooldown-after-rescaling": "0 ms",
    f"{PREFIX}.executing.resource-stabilization-timeout": "0 ms",
}


class Cluster:
    """Executors with the same number of slots."""

    def __init__(self, executors: int, slots: int = 4) -> None:
        self.ids = [str(number) for number in range(executors)]
        self.each = slots
        self.listed = 0
        self.broken: ExternalError | None = None
        self.can_grow = True
        self.task_cpus = "1"

    def slots(self) -> int:
        if self.broken is not None:
            raise self.broken
        return len(self.ids) * self.each

    def executor_ids(self) -> frozenset[str]:
        return frozenset(self.ids)

    def task_managers(self) -> Sequence[TaskManager]:
        self.listed += 1
        return [TaskManager(name, "here", 1, 1, self.each) for name in self.ids]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """One executor with four slots; no thread is left behind."""
    before = set(threading.enumerate())
    yield Cluster(1)
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
