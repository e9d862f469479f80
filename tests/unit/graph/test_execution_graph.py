from __future__ import annotations

from collections import Counter

import pytest

from riverrun.core.errors import Failure, IllegalTransition, InternalError
from riverrun.core.ids import Attempt, Millis, SubtaskId
from riverrun.core.lifecycle import TaskStatus
from riverrun.graph.execution_graph import ExecutionGraph, Subtask, aggregate_status
from tests.unit.graph.conftest import Program

_S = TaskStatus


def graph_of(parallelism: int = 2) -> ExecutionGraph:
    program = Program(chaining=False)
    program.sink("b", program.source("a"), parallelism=parallelism)
    return ExecutionGraph(program.job_graph(), Millis(100))


def move_all(graph: ExecutionGraph, *statuses: TaskStatus) -> None:
    for subtask in graph.subtasks():
        move(subtask, *statuses)


def move(subtask: Subtask, *statuses: TaskStatus) -> None:
    for at, status in enumerate(statuses, start=200):
        subtask.go(status, Millis(at))


def test_every_vertex_has_as_many_subtasks_as_its_parallelism() -> None:
    graph = graph_of(parallelism=3)

    assert [len(vertex.subtasks) for vertex in graph.vertices.values()] == [1, 3]
    for subtask in graph.subtasks():
        assert graph.subtask(subtask.id) is subtask
        assert (subtask.status, subtask.attempt) == (_S.CREATED, 0)
        assert subtask.timestamps == {_S.CREATED: 100}


def test_a_subtask_remembers_when_it_came_to_each_status() -> None:
    subtask = next(graph_of().subtasks())

    move(subtask, _S.SCHEDULED, _S.DEPLOYING, _S.RUNNING)

    assert subtask.timestamps == {
        _S.CREATED: 100,
        _S.SCHEDULED: 200,
        _S.DEPLOYING: 201,
        _S.RUNNING: 202,
    }


def test_an_illegal_move_tells_the_story_and_changes_nothing() -> None:
    subtask = next(graph_of().subtasks())

    with pytest.raises(IllegalTransition, match=r"'Source: a \(0\)', attempt 0: CREATED -x-> RUNN"):
        subtask.go(_S.RUNNING, Millis(1))

    assert subtask.timestamps == {_S.CREATED: 100}


def test_a_restart_keeps_the_attempt_before_in_the_history() -> None:
    subtask = next(graph_of().subtasks())
    failure = Failure("ValueError", "boom")
    subtask.go(_S.FAILED, Millis(150), failure)

    subtask.restart(Attempt(1), Millis(300))

    assert (subtask.attempt, subtask.status, subtask.failure) == (1, _S.CREATED, None)
    assert subtask.timestamps == {_S.CREATED: 300}
    (past,) = subtask.history
    assert (past.attempt, past.status, past.failure) == (0, _S.FAILED, failure)
    assert past.timestamps == {_S.CREATED: 100, _S.FAILED: 150}


def test_a_failure_told_once_stays_known() -> None:
    subtask = next(graph_of().subtasks())
    failure = Failure("ValueError", "boom")
    move(subtask, _S.SCHEDULED, _S.DEPLOYING)
    subtask.go(_S.CANCELING, Millis(1), failure)

    subtask.go(_S.CANCELED, Millis(2))

    assert subtask.failure == failure


def test_an_attempt_that_is_not_over_cannot_be_restarted() -> None:
    subtask = next(graph_of().subtasks())

    with pytest.raises(InternalError, match="begin attempt 1 while attempt 0 is CREATED"):
        subtask.restart(Attempt(1), Millis(1))


def test_attempts_only_grow() -> None:
    subtask = next(graph_of().subtasks())
    subtask.go(_S.FAILED, Millis(1))

    with pytest.raises(InternalError, match="begin attempt 0"):
        subtask.restart(Attempt(0), Millis(2))


def test_the_scheduler_sees_when_all_run_and_when_all_are_done() -> None:
    graph = graph_of()
    assert not graph.all_running()

    move_all(graph, _S.SCHEDULED, _S.DEPLOYING, _S.RUNNING)
    assert graph.all_running()
    assert graph.all_running_or_finished()

    move(next(graph.subtasks()), _S.FINISHED)
    assert not graph.all_running()
    assert graph.all_running_or_finished()
    assert not graph.all_finished()

    for subtask in list(graph.subtasks())[1:]:
        move(subtask, _S.FINISHED)
    assert graph.all_finished()
    assert graph.all_terminal()
    assert not graph.any_failed()


def test_the_scheduler_sees_a_failure_and_restarts_all() -> None:
    graph = graph_of()
    first, *others = graph.subtasks()
    move(first, _S.FAILED)
    assert graph.any_failed()
    assert not graph.all_terminal()

    for subtask in others:
        move(subtask, _S.CANCELED)
    assert graph.all_terminal()
    graph.restart(Attempt(1), Millis(500))

    assert not graph.any_failed()
    assert {subtask.attempt for subtask in graph.subtasks()} == {1}


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([_S.CREATED, _S.SCHEDULED], _S.CREATED),
        ([_S.CREATED, _S.DEPLOYING], _S.CREATED),
        ([_S.RUNNING, _S.DEPLOYING], _S.RUNNING),
        ([_S.RUNNING, _S.INITIALIZING], _S.INITIALIZING),
        ([_S.FINISHED, _S.RUNNING], _S.RUNNING),
        ([_S.FINISHED, _S.CREATED], _S.RUNNING),
        ([_S.FINISHED, _S.FINISHED], _S.FINISHED),
        ([_S.CANCELED, _S.RUNNING], _S.CANCELED),
        ([_S.CANCELED, _S.CANCELING], _S.CANCELING),
        ([_S.FAILED, _S.CANCELING], _S.FAILED),
    ],
)
def test_a_vertex_is_summed_up_as_in_flink(
    statuses: list[TaskStatus], expected: TaskStatus
) -> None:
    assert aggregate_status(Counter(statuses)) is expected


def test_a_vertex_gives_the_sum_of_its_own_subtasks() -> None:
    graph = graph_of()
    source, sink = graph.vertices.values()
    move(graph.subtask(SubtaskId(sink.vertex.id, 1)), _S.FAILED)

    assert (source.status(), sink.status()) == (_S.CREATED, _S.FAILED)
