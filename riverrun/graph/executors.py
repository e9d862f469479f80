"""Which engine runs a job, by the name of the master.

The engine lies above this layer, so it is named here and loaded only when a job is about to run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from riverrun.core import cluster_options
from riverrun.core.errors import ConfigError
from riverrun.graph.executor import JobExecutor
from riverrun.graph.named_classes import load_class

_IN_PROCESS: Final = "riverrun.local.executor:InProcessExecutor"
_APPLICATION: Final = "riverrun.jobmanager.application:ApplicationExecutor"
_REMOTE: Final = "riverrun.client.remote_executor:RemoteExecutor"
_SPARK: Final = "riverrun.spark.driver.executor:SparkExecutor"

EXECUTORS: Final = (
    (re.compile(r"in-process"), _IN_PROCESS),
    (re.compile(r"local(\[(\*|\d+)(\s*,\s*\d+)?\])?"), _SPARK),
    (re.compile(r"local-cluster\[.+\]"), _SPARK),
    (re.compile(r"spark://.+"), _SPARK),
    (re.compile(r"yarn"), _SPARK),
    (re.compile(r"k8s://.+"), _SPARK),
    (re.compile(r"https?://.+"), _REMOTE),
)
"""Form of the master -> module and class that has ``create(master=, config=, session=)``."""


def executor_for(
    master: str, config: Mapping[str, str], session: object | None = None
) -> JobExecutor:
    """An executor for ``master``, or on ``session``, the user's own Spark session.

    Raises:
        ConfigError: no engine knows this kind of master.
        ProgramError: the engine needs a package that is not installed.
    """
    target = _SPARK if session is not None else _target(master)
    if target == _SPARK and cluster_options.REST_ENABLED.get(config):
        target = _APPLICATION
    factory = load_class(
        target,
        lambda package: (
            f"master {master!r}: needs the package {package!r}, which is not installed; "
            f"install riverrun[spark], or use the master 'in-process'"
        ),
    )
    executor: JobExecutor = factory.create(master=master, config=config, session=session)
    return executor


def runs_on_spark(master: str) -> bool:
    """Whether jobs on ``master`` run in a Spark application, which a JobManager then drives.

    >>> [runs_on_spark(master) for master in ("local[2]", "yarn", "in-process", "http://jobs:8081")]
    [True, True, False, False]
    """
    return any(form.fullmatch(master) for form, target in EXECUTORS if target == _SPARK)


def _target(master: str) -> str:
    for form, target in EXECUTORS:
        if form.fullmatch(master):
            return target
    raise ConfigError(
        f"option 'riverrun.master': is {master!r}; expected local, local[N], local[*], "
        f"spark://host:port, yarn, k8s://..., http://host:port of a JobManager, or in-process"
    )
