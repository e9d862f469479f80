"""What an operator is to the chain that runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.sink import ClientChannel
from riverrun.core.clock import Clock
from riverrun.core.errors import InternalError
from riverrun.runtime.emit import Emit, TimeOutput
from riverrun.runtime.operator_states import OperatorStates
from riverrun.serde.type_info import TypeInformation


@dataclass(frozen=True, slots=True)
class OperatorContext:
    """What an operator gets when it is opened."""

    name: str
    operator_id: str
    runtime: RuntimeContext
    clock: Clock
    key_selector: Callable[[Any], Any] | None
    second_key_selector: Callable[[Any], Any] | None
    """Of the second input, where both are keyed."""
    emit: Emit
    """The main output, for what is emitted outside of a call that is given one."""
    side_output: Callable[[str], Emit]
    time_output: TimeOutput
    wake: Callable[[], None]
    """Asks for a turn of the task soon; may be called from any thread."""
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
    config: Mapping[str, str]
    """The job's configuration."""


class Operator(ABC):
    """Works on runs of records; called from the task thread only.

    ``process`` must not change the lists it is given: another operator may read them too. Name the
    record in hand ``value`` where user code is called (see ``runtime.failures``).
    """

    passes_time: ClassVar[bool] = True
    """Whether watermarks and statuses go on by themselves once ``advance`` and ``status`` have seen
    them; if not, the operator sends its own to ``OperatorContext.time_output``."""
    takes_columns: bool = False
    """Whether runs may come as a ColumnRun with a TimeColumn (or as lists all the same); if not, they
    are always lists."""
    takes_time_columns: ClassVar[bool] = False
    """Whether the timestamps of a run of records may come as a TimeColumn: an operator that looks at the first
    and the last of them only saves an int for each record."""

    def open(self, context: OperatorContext) -> None:  # noqa: B027  (an optional hook)
        """Prepare to run, in the worker: called once, before anything else."""

    @abstractmethod
    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        """Take a run and emit what comes of it."""

    def process_second(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        """Take a run of the second input; only operators with two inputs have one."""
        del values, timestamps, emit
        raise InternalError(f"{type(self).__name__} has one input, got a run of a second one")

    def advance(self, watermark: int, emit: Emit) -> None:  # noqa: B027  (an optional hook)
        """Event time has reached ``watermark``: emit what it sets free."""

    def status(self, *, idle: bool) -> None:  # noqa: B027  (an optional hook)
        """The input fell idle, or is active again."""

    def due_at(self) -> int | None:
        """When ``run_due`` has something to do, by the wall clock in milliseconds; ``None``: not known."""
        return None

    def run_due(self, now: int, emit: Emit) -> None:  # noqa: B027  (an optional hook)
        """The wall clock has reached ``now``, which is not before ``due_at``: do what is due."""

    def stood_still(self, ms: float) -> None:  # noqa: B027  (an optional hook)
        """The task could not go on for this long: no input came, but not because there was none."""

    def hold_time(self, *, held: bool) -> None:  # noqa: B027  (an optional hook)
        """Keep the event time that is made here back, or let it go on (see ``runtime.catching_up``)."""

    @property
    def accepting(self) -> bool:
        """Whether the operator takes more input; while one of a task does not, the task reads none."""
        return True

    @property
    def drained(self) -> bool:
        """Whether everything that was taken in has come out, so that the operator may ``finish``."""
        return True

    @property
    def awaiting(self) -> bool:
        """Whether something outside is under way that will ``wake`` the task."""
        return False

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
