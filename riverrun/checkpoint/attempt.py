"""What the coordinator knows about the subtasks of the current attempt."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from riverrun.checkpoint.plan import CheckpointPlan
from riverrun.core.ids import SubtaskId
from riverrun.protocol.snapshots import Redistribution, SubtaskSnapshot


class Attempt:
    """Facts only; forgotten when the attempt ends.

    A subtask goes its way: it runs, it has processed all its input (``input_over``), a checkpoint that it
    took part in after that completed (``leaving``), it has ``finished``.
    """

    def __init__(self, plan: CheckpointPlan) -> None:
        self._plan = plan
        self.active = False
        """Whether every subtask ran once, so that checkpoints can be taken."""
        self.failing = False
        """Whether its end is decided and only has to come."""
        self.finished: dict[SubtaskId, SubtaskSnapshot] = {}
        """With what a checkpoint says in the subtask's place."""
        self._input_over: set[SubtaskId] = set()
        self._leaving: set[SubtaskId] = set()
        self.running: tuple[SubtaskId, ...] = plan.subtasks
        """Those that take part in checkpoints."""

    def knows(self, task: SubtaskId) -> bool:
        """Whether the job has such a subtask."""
        return task in self._plan.producers

    def why_none(self, *, after_finish: bool) -> str | None:
        """Why no checkpoint can be taken now; ``None`` if one can."""
        if not self.active or self.failing:
            return "the job does not run at present"
        if not self.running:
            return "every subtask has finished"
        if self.finished and not after_finish:
            return "some subtasks have finished, and checkpoints after that are turned off"
        return None

    @property
    def input_over(self) -> frozenset[SubtaskId]:
        """Those that wait for a checkpoint, or have had it."""
        return frozenset(self._input_over)

    @property
    def is_over(self) -> bool:
        """Whether nobody has anything left to process."""
        return self._input_over.issuperset(self.running)

    @property
    def somebody_leaves(self) -> bool:
        """Whether a subtask is about to finish: it may or may not take part in one more checkpoint."""
        return bool(self._leaving)

    @property
    def everybody_leaves(self) -> bool:
        """Whether no checkpoint is of any use to those that are left."""
        return self._leaving.issuperset(self.running)

    def said_input_over(self, task: SubtaskId) -> None:
        """The subtask processed all its input."""
        if task not in self.finished:
            self._input_over.add(task)

    def may_leave(self, tasks: Iterable[SubtaskId]) -> None:
        """A checkpoint completed that these took part in after the end of their input."""
        self._leaving.update(task for task in tasks if task not in self.finished)

    def finish(self, task: SubtaskId, last: SubtaskSnapshot | None) -> None:
        """The subtask is done; ``last`` is its part of the newest complete checkpoint."""
        self._input_over.discard(task)
        self._leaving.discard(task)
        kept = () if last is None else _shared_by_all(last).operators
        self.finished[task] = SubtaskSnapshot(
            task.vertex.value, task.index, operators=kept, finished=True
        )
        self.running = tuple(each for each in self.running if each != task)

    def finished_snapshots(self) -> tuple[SubtaskSnapshot, ...]:
        """What a checkpoint that begins now says of those that have finished."""
        alive = {task.vertex for task in self.running}
        return tuple(
            snapshot if task.vertex in alive else msgspec.structs.replace(snapshot, operators=())
            for task, snapshot in self.finished.items()
        )


def _shared_by_all(snapshot: SubtaskSnapshot) -> SubtaskSnapshot:
    """Only the union list state: every subtask gets all of it, also what finished ones had."""
    operators = (
        msgspec.structs.replace(
            operator,
            keyed=None,
            lists=tuple(
                part for part in operator.lists if part.redistribution is Redistribution.UNION
            ),
        )
        for operator in snapshot.operators
    )
    return msgspec.structs.replace(
        snapshot, operators=tuple(operator for operator in operators if operator.lists)
    )
