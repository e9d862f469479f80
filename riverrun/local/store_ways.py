"""The JobMaster's work on the store, on ways instead of a thread."""

from __future__ import annotations

from collections.abc import Callable

from riverrun.cluster.io_thread import IoThread
from riverrun.local.ways import Way, WayKind


class StoreWays(IoThread):
    """An ``IoThread`` without a thread: work is done when somebody moves the ways."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.metadata = Way(WayKind.METADATA, name, _do)
        self.deletes = Way(WayKind.DELETES, name, _do)

    def run(self, work: Callable[[], None]) -> None:
        self.metadata.put(work)

    def run_later(self, work: Callable[[], None]) -> None:
        self.deletes.put(work)

    def wait(self, timeout: float) -> bool:
        del timeout
        while self.metadata:
            self.metadata.move()
        return True

    def close(self, timeout: float) -> bool:
        self.wait(timeout)
        while self.deletes:
            self.deletes.move()
        return True


def _do(work: Callable[[], None]) -> None:
    work()
