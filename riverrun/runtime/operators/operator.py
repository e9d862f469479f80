"""What an operator is to the chain that runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.sink import ClientChannel
from riverrun.core.clock import Clock

Emit: TypeAlias = Callable[[list[Any], list[int] | None], None]
"""Takes a run of values and their timestamps (``None``: the run has none)."""


@dataclass(frozen=True, slots=True)
class OperatorContext:
    """What an operator gets when it is opened."""

    name: str
    operator_id: str
    runtime: RuntimeContext
    clock: Clock
    key_selector: Callable[[Any], Any] | None
    side_output: Callable[[str], Emit]
    to_client: ClientChannel
    subtask: int
    parallelism: int


class Operator(ABC):
    """Works on runs of records; called from the task thread only.

    ``process`` must not change the lists it is given: another operator may read them too. Name the
    record in hand ``value`` where user code is called (see ``runtime.failures``).
    """

    def open(self, context: OperatorContext) -> None:  # noqa: B027  (an optional hook)
        """Prepare to run, in the worker: called once, before anything else."""

    @abstractmethod
    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        """Take a run and emit what comes of it."""

    def advance(self, watermark: int) -> None:  # noqa: B027  (an optional hook)
        """Event time has reached ``watermark``."""

    def finish(self, emit: Emit) -> None:  # noqa: B027  (an optional hook)
        """The input ended: emit what is left."""

    def close(self) -> None:  # noqa: B027  (an optional hook)
        """Release what ``open`` acquired; called once, also after a failure."""
