"""Questions to the tasks of a task manager: Spark's executors themselves cannot be asked."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from riverrun.cluster.dispatcher.gateway import JobIsOver, UnknownJob
from riverrun.cluster.inquiries import TaskGone, TaskRefused
from riverrun.core.ids import JobId, SubtaskId, VertexId
from riverrun.core.lifecycle import TaskStatus
from riverrun.protocol.inquiries import Answer, Question
from riverrun.rest.context import RestContext
from riverrun.rest.metric_scopes import running_jobs
from riverrun.rest.problems import HttpProblem, not_found

_PATIENCE_S: Final = 10.0
_GONE: Final = (TaskGone, JobIsOver, UnknownJob)


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A subtask in a process that can be asked."""

    job: JobId
    subtask: SubtaskId
    pid: int | None


def tasks_on(rest: RestContext, manager: str) -> list[RunningTask]:
    """The subtasks that run on an executor, one for each process."""
    found = [
        RunningTask(
            JobId(job.id), SubtaskId(VertexId(vertex.id), subtask.index), subtask.current.pid
        )
        for job in running_jobs(rest.dispatcher)
        for vertex in job.vertices
        for subtask in vertex.subtasks
        if subtask.current.task_manager == manager
        and subtask.current.status in (TaskStatus.RUNNING.value, TaskStatus.INITIALIZING.value)
    ]
    return list({(task.pid or id(task)): task for task in found}.values())


def asked_all(rest: RestContext, manager: str, question: Question) -> list[Answer]:
    """The answers of all processes on an executor that give one.

    Raises:
        HttpProblem: 404 when no task runs there.
    """
    outcomes: list[Future[Answer]] = []
    for task in tasks_on(rest, manager):
        try:
            outcomes.append(rest.dispatcher.ask(task.job, task.subtask, question))
        except _GONE:
            continue  # it ended since it was seen
    if not outcomes:
        raise not_found(
            f"task manager {manager!r}: no task runs on it, and only its tasks can be asked; "
            f"ask again while a job runs there"
        )
    answers = []
    for outcome in outcomes:
        try:
            answers.append(outcome.result(_PATIENCE_S))
        except TaskGone:
            continue
        except TaskRefused as e:
            raise not_found(str(e)) from e
        except TimeoutError as e:
            outcome.cancel()
            raise HttpProblem(
                HTTPStatus.GATEWAY_TIMEOUT,
                f"task manager {manager!r}: a task on it did not answer within {_PATIENCE_S:g} s",
            ) from e
    return answers


def asked_any(rest: RestContext, manager: str, question: Question) -> Answer:
    """The answer of one of the processes on an executor; HttpProblem as above."""
    for task in tasks_on(rest, manager):
        try:
            outcome = rest.dispatcher.ask(task.job, task.subtask, question)
            return outcome.result(_PATIENCE_S)
        except _GONE:
            continue
        except TaskRefused as e:
            raise not_found(str(e)) from e
        except TimeoutError:
            continue
    raise not_found(
        f"task manager {manager!r}: no task on it answers, and its files are read through its tasks; "
        f"ask again while a job runs there"
    )
