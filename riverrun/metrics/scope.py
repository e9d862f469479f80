"""Scopes: whose a metric is, as variables, and the names that are made of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from riverrun.core import metric_options

_VARIABLE: Final = re.compile(r"<[a-z_]+>")


class ScopeKind(Enum):
    """What has metrics; the values are Flink's logical scopes."""

    JOB_MANAGER = "jobmanager"
    JOB_MANAGER_JOB = "jobmanager.job"
    TASK_MANAGER = "taskmanager"
    TASK = "taskmanager.job.task"
    OPERATOR = "taskmanager.job.task.operator"


FORMAT_OPTIONS: Final = {
    ScopeKind.JOB_MANAGER: metric_options.SCOPE_JM,
    ScopeKind.JOB_MANAGER_JOB: metric_options.SCOPE_JM_JOB,
    ScopeKind.TASK_MANAGER: metric_options.SCOPE_TM,
    ScopeKind.TASK: metric_options.SCOPE_TASK,
    ScopeKind.OPERATOR: metric_options.SCOPE_OPERATOR,
}
"""What says how names begin."""


@dataclass(frozen=True, slots=True)
class MetricScope:
    """One thing that has metrics, with their values at a moment."""

    kind: ScopeKind
    variables: Mapping[str, str]
    """Such as ``job_name`` and ``subtask_index``."""
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ScopeNames:
    """Makes the names of scopes.

    >>> names = ScopeNames({ScopeKind.TASK: "<job_name>.<task_name>.<subtask_index>"})
    >>> names.of(MetricScope(ScopeKind.TASK, {"job_name": "a b", "task_name": "map"}, {}))
    'a b.map.<subtask_index>'
    """

    formats: Mapping[ScopeKind, str] = field(default_factory=dict)
    delimiter: str = "."

    def of(self, scope: MetricScope) -> str:
        """The name of ``scope``; a variable that it has not stays as it is written."""

        def value(found: re.Match[str]) -> str:
            return scope.variables.get(found[0][1:-1], found[0])

        form = self.formats.get(scope.kind, FORMAT_OPTIONS[scope.kind].default)
        parts = form.split(".") if self.delimiter != "." else [form]
        return self.delimiter.join(_VARIABLE.sub(value, part) for part in parts)
