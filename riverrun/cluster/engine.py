"""The engine as the JobMaster sees it: something that hosts the tasks of one attempt of a job.

``riverrun.spark.driver`` implements it with one long-lived Spark job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from riverrun.core.errors import Failure
from riverrun.graph.deployment import Deployment
from riverrun.protocol.wire import Address

OnEnd: TypeAlias = Callable[[Failure | None], None]


@dataclass(frozen=True, slots=True)
class ControlAccess:
    """What a task needs to reach its JobMaster. ``secret`` must not be logged or shown."""

    address: Address
    secret: bytes

    def __repr__(self) -> str:
        return f"ControlAccess(address={self.address!r}, secret=<{len(self.secret)} bytes>)"


class Engine(Protocol):
    """Runs the tasks of one attempt of one job. An engine object is used once."""

    def start(
        self, layers: Sequence[Sequence[Deployment]], control: ControlAccess, on_end: OnEnd
    ) -> None:
        """Begin to run all tasks (``layers[layer][partition]``) and return.

        Raises, and never calls ``on_end``, when the job cannot be started at all. Otherwise
        ``on_end`` is called exactly once, from any thread, when the engine holds nothing of the job
        any more: with ``None`` after every task returned normally, else with why the job ended. An
        end after ``cancel`` may be reported either way.
        """

    def cancel(self) -> None:
        """End the job even if its tasks do not leave by themselves; return without waiting for it.

        Called from another thread than ``start``, also before and while ``start`` runs, also more
        than once: it is repeated now and then until ``on_end`` is called.
        """
