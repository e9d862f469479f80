"""What processes are doing: threads, flame graphs, and what they run on."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from functools import cache
from importlib.metadata import distributions
from typing import Annotated, Any, Final, Literal

import msgspec

from riverrun.cluster.dispatcher.gateway import JobIsOver
from riverrun.cluster.inquiries import TaskGone
from riverrun.core.ids import SubtaskId, VertexId
from riverrun.core.lifecycle import TaskStatus
from riverrun.core.thread_dump import ThreadStack, thread_stacks
from riverrun.protocol.inquiries import Answer, DumpThreads, Sample, Threads
from riverrun.rest.asked_tasks import asked_all
from riverrun.rest.bodies.cluster import ConfigurationEntry
from riverrun.rest.bodies.diagnosis import (
    EnvironmentInfo,
    FlameGraph,
    JvmInfo,
    ThreadDumpInfo,
    ThreadInfo,
)
from riverrun.rest.context import RestContext
from riverrun.rest.flame_graphs import FlameType
from riverrun.rest.handlers.task_managers import OfTaskManager, manager_of
from riverrun.rest.routing import Call, Nothing, OfJob, OfVertex, Route
from riverrun.rest.vertex_rendering import subtask_of, vertex_of


class Flames(msgspec.Struct, frozen=True):
    """Which samples, and of which subtask (without one, of all), made since when."""

    type: Literal["FULL", "ON_CPU", "OFF_CPU"] = "FULL"
    subtaskindex: Annotated[int, msgspec.Meta(ge=0)] | None = None
    since: Annotated[int, msgspec.Meta(ge=0)] = 0


def of_job_manager(rest: RestContext, call: Call[Nothing, Nothing, None]) -> ThreadDumpInfo:
    """What the threads of the JobManager do."""
    del rest, call
    return _dump(thread_stacks())


def of_task_manager(rest: RestContext, call: Call[OfTaskManager, Nothing, None]) -> ThreadDumpInfo:
    """What the threads of the tasks do that run on a task manager."""
    manager = manager_of(rest, call.path)
    answers = asked_all(rest, manager.id, DumpThreads())
    return _dump(
        stack for answer in answers if isinstance(answer, Threads) for stack in answer.threads
    )


def flame_graph(rest: RestContext, call: Call[OfVertex, Flames, None]) -> FlameGraph:
    """Where the time of a vertex goes; the first request begins to look, later ones get it."""
    report = rest.dispatcher.job(call.path.job)
    vertex = vertex_of(report, call.path.vertexid)
    index = call.query.subtaskindex
    wanted = vertex.subtasks if index is None else (subtask_of(vertex, index),)
    running = [each.index for each in wanted if each.current.status == TaskStatus.RUNNING.value]

    def ask(sample: Sample) -> Sequence[Future[Answer]]:
        asked = []
        for number in running:
            task = SubtaskId(VertexId(vertex.id), number)
            try:
                asked.append(rest.dispatcher.ask(call.path.job, task, sample))
            except (TaskGone, JobIsOver):
                continue  # it ended since it was seen
        return asked

    key = (report.id, vertex.id, "" if index is None else str(index))
    return rest.flame_graphs.get(key, FlameType(call.query.type), ask, call.query.since)


def environment(rest: RestContext, call: Call[Nothing, Nothing, None]) -> EnvironmentInfo:
    """The interpreter, the machine and the packages of the JobManager."""
    del rest, call
    return _environment()


def environment_of_job(rest: RestContext, call: Call[OfJob, Nothing, None]) -> EnvironmentInfo:
    """The interpreter, the machine and the packages of a job's JobManager."""
    rest.dispatcher.job(call.path.job)
    return _environment()


def configuration_of_job(
    rest: RestContext, call: Call[OfJob, Nothing, None]
) -> list[ConfigurationEntry]:
    """The settings of a job's JobManager, with secrets masked."""
    rest.dispatcher.job(call.path.job)
    config = rest.dispatcher.facts().config
    return [ConfigurationEntry(key, value) for key, value in sorted(config.items())]


def _dump(stacks: Iterable[ThreadStack]) -> ThreadDumpInfo:
    return ThreadDumpInfo([ThreadInfo(stack.name, stack.text) for stack in stacks])


@cache
def _environment() -> EnvironmentInfo:
    version = f"{platform.python_implementation()} {platform.python_version()}"
    flags = [f"{name}={getattr(sys.flags, name)}" for name in ("optimize", "utf8_mode", "dev_mode")]
    packages = {f"{each.name}=={each.version}" for each in distributions()}
    return EnvironmentInfo(
        JvmInfo(f"{version} on {platform.platform()}", platform.machine(), flags),
        [path for path in sys.path if path],
        sorted(packages, key=str.lower),
    )


_ENTRIES: Any = list[ConfigurationEntry]
ROUTES: Final = (
    Route("GET", "/jobmanager/thread-dump", of_job_manager, gives=ThreadDumpInfo),
    Route("GET", "/jobmanager/environment", environment, gives=EnvironmentInfo, slow=True),
    Route(
        "GET",
        "/taskmanagers/{taskmanagerid}/thread-dump",
        of_task_manager,
        gives=ThreadDumpInfo,
        of=OfTaskManager,
        slow=True,
    ),
    Route(
        "GET",
        "/jobs/{jobid}/vertices/{vertexid}/flamegraph",
        flame_graph,
        gives=FlameGraph,
        of=OfVertex,
        query=Flames,
    ),
    Route(
        "GET",
        "/jobs/{jobid}/jobmanager/environment",
        environment_of_job,
        gives=EnvironmentInfo,
        of=OfJob,
        slow=True,
    ),
    Route("GET", "/jobs/{jobid}/jobmanager/config", configuration_of_job, gives=_ENTRIES, of=OfJob),
)
