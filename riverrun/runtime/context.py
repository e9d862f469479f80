"""The runtime context that functions get in a task."""

from __future__ import annotations

from typing import Any, cast

from riverrun.api.runtime_context import RuntimeContext
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
from riverrun.core import options
from riverrun.graph.deployment import TaskDeployment
from riverrun.metrics.groups import MetricGroup
from riverrun.metrics.registry import MetricRegistry
from riverrun.runtime.operator_states import OperatorStates


class TaskRuntimeContext(RuntimeContext):
    """A subtask of a deployed task, as one of its operators sees it."""

    def __init__(
        self,
        deployment: TaskDeployment,
        metrics: MetricRegistry,
        states: OperatorStates | None = None,
    ) -> None:
        self._deployment = deployment
        self._metrics = MetricGroup(metrics)
        self._states = states
        self._known: dict[str, tuple[StateDescriptor, Any]] = {}
        """States by name, each with the descriptor that it was last asked for with."""

    def get_task_name(self) -> str:
        return self._deployment.name

    def get_number_of_parallel_subtasks(self) -> int:
        return self._deployment.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._deployment.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._deployment.subtask

    def get_attempt_number(self) -> int:
        return self._deployment.attempt

    def get_job_id(self) -> str:
        return str(self._deployment.job)

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return options.GLOBAL_JOB_PARAMETERS.get(self._deployment.config).get(key, default_value)

    def get_metrics_group(self) -> MetricGroup:
        return self._metrics

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        return cast("ValueState[Any]", self._keyed("get_state", state_descriptor))

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        return cast("ListState[Any]", self._keyed("get_list_state", state_descriptor))

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        return cast("MapState[Any, Any]", self._keyed("get_map_state", state_descriptor))

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        return cast("ReducingState[Any]", self._keyed("get_reducing_state", state_descriptor))

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[Any, Any]:
        return cast(
            "AggregatingState[Any, Any]", self._keyed("get_aggregating_state", state_descriptor)
        )

    def _keyed(self, method: str, descriptor: StateDescriptor) -> Any:
        known = self._known.get(descriptor.name)
        if known is not None and known[0] is descriptor:
            return known[1]  # some ask for every record
        if self._states is None or not self._states.has_key:
            self._refuse(method, descriptor)
        state = self._states.keyed.state(descriptor)
        self._known[descriptor.name] = (descriptor, state)
        return state

    def _owner(self) -> str:
        return (
            f"operator {self._states.name!r}" if self._states else f"task {self.get_task_name()!r}"
        )
