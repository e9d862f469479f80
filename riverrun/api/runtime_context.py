"""What a function learns about the subtask it runs in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NoReturn

from riverrun.api.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from riverrun.core.errors import ProgramError
from riverrun.metrics.groups import MetricGroup
from riverrun.metrics.registry import MetricRegistry

__all__ = ["DetachedRuntimeContext", "KeyedStateStore", "RuntimeContext", "StateNotAvailable"]


class StateNotAvailable(ProgramError):  # noqa: N818  (named after what it is)
    """A function asked for keyed state where there are no keys."""

    def __init__(self, method: str, state: str, owner: str) -> None:
        super().__init__(method, state, owner)
        self.method, self.state, self.owner = method, state, owner

    def __str__(self) -> str:
        return (
            f"{self.method}: {self.owner} asked for the keyed state {self.state!r} but is not on a "
            f"keyed stream; use key_by(...) before it"
        )


class KeyedStateStore(ABC):  # noqa: B024  (a store without keys gives nothing and needs no methods)
    """Gives access to the state of the current key; refuses where there are no keys."""

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """A single value per key."""
        self._refuse("get_state", state_descriptor)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list per key."""
        self._refuse("get_list_state", state_descriptor)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """A map per key."""
        self._refuse("get_map_state", state_descriptor)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """A value per key into which added values are folded."""
        self._refuse("get_reducing_state", state_descriptor)

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[Any, Any]:
        """An accumulator per key into which added values are folded."""
        self._refuse("get_aggregating_state", state_descriptor)

    def _refuse(self, method: str, state_descriptor: StateDescriptor) -> NoReturn:
        raise StateNotAvailable(method, state_descriptor.get_name(), self._owner())

    def _owner(self) -> str:
        """Who asks for state, for messages."""
        return "the operator"


class RuntimeContext(KeyedStateStore):
    """The subtask as its functions see it; handed to ``Function.open``."""

    @abstractmethod
    def get_task_name(self) -> str:
        """The name of the task (the chain of operators) that this function is part of."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """How many subtasks run in parallel."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """The max parallelism: the number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Which of the parallel subtasks this is, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """How often the subtask was started before, from 0."""

    def get_task_name_with_subtasks(self) -> str:
        """Task name, index from 1 and parallelism, such as ``Map (2/4)``."""
        index, parallelism = (
            self.get_index_of_this_subtask(),
            self.get_number_of_parallel_subtasks(),
        )
        return f"{self.get_task_name()} ({index + 1}/{parallelism})"

    def get_job_id(self) -> str:
        """The job's id in hex; empty outside of a job."""
        return ""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global job parameter, or ``default_value``."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Where this function registers its metrics."""

    def _owner(self) -> str:
        return f"a function of task {self.get_task_name()!r}"


class DetachedRuntimeContext(RuntimeContext):
    """A context that stands by itself: for functions opened outside of a task, such as in tests."""

    def __init__(self, task_name: str, subtask_index: int = 0, parallelism: int = 1) -> None:
        self._task_name = task_name
        self._subtask_index = subtask_index
        self._parallelism = parallelism
        self._metrics = MetricGroup(MetricRegistry())

    def get_task_name(self) -> str:
        return self._task_name

    def get_number_of_parallel_subtasks(self) -> int:
        return self._parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return max(self._parallelism, 128)

    def get_index_of_this_subtask(self) -> int:
        return self._subtask_index

    def get_attempt_number(self) -> int:
        return 0

    def get_job_parameter(self, key: str, default_value: str) -> str:
        del key
        return default_value

    def get_metrics_group(self) -> MetricGroup:
        return self._metrics
