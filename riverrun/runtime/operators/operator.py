"""What an operator is to the chain that runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.sink import ClientChannel
from riverrun.core.clock import Clock
from riverrun.core.errors import InternalError
from riverrun.runtime.operator_states import OperatorStates
from riverrun.serde.type_info import TypeInformation

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
    states: OperatorStates
    value_type: TypeInformation | None
    """The type of the operator's output."""
    checkpointing: bool
    """Whether the job takes checkpoints."""
    final_checkpoint: bool
    """Whether one of them covers the end of the input."""


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

    def process_second(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        """Take a run of the second input; only operators with two inputs have one."""
        del values, timestamps, emit
        raise InternalError(f"{type(self).__name__} has one input, got a run of a second one")

    def advance(self, watermark: int) -> None:  # noqa: B027  (an optional hook)
        """Event time has reached ``watermark``."""

    def finish(self, emit: Emit) -> None:  # noqa: B027  (an optional hook)
        """The input ended: emit what is left."""

    def snapshot(self, checkpoint: int, timestamp: int) -> None:  # noqa: B027  (an optional hook)
        """Bring the operator's state up to date: it is frozen for ``checkpoint`` right after this."""

    def checkpoint_completed(self, checkpoint: int) -> None:  # noqa: B027  (an optional hook)
        """``checkpoint`` can be relied on."""

    def checkpoint_aborted(self, checkpoint: int) -> None:  # noqa: B027  (an optional hook)
        """``checkpoint`` will never exist."""

    def close(self) -> None:  # noqa: B027  (an optional hook)
        """Release what ``open`` acquired; called once, also after a failure."""
