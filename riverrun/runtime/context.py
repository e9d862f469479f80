"""The runtime context that functions get in a task."""

from __future__ import annotations

from riverrun.api.runtime_context import RuntimeContext
from riverrun.core import options
from riverrun.graph.deployment import TaskDeployment
from riverrun.metrics.groups import MetricGroup
from riverrun.metrics.registry import MetricRegistry


class TaskRuntimeContext(RuntimeContext):
    """A subtask of a deployed task, as one of its operators sees it."""

    def __init__(self, deployment: TaskDeployment, metrics: MetricRegistry) -> None:
        self._deployment = deployment
        self._metrics = MetricGroup(metrics)

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

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return options.GLOBAL_JOB_PARAMETERS.get(self._deployment.config).get(key, default_value)

    def get_metrics_group(self) -> MetricGroup:
        return self._metrics
