"""A checkpoint on its way."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from riverrun.checkpoint.coordinator_events import PrepareEnumerators, Trigger
from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.checkpoint.plan import CheckpointPlan
from riverrun.core.ids import SubtaskId
from riverrun.protocol.barriers import SavepointOrder
from riverrun.protocol.snapshots import SubtaskSnapshot


class PendingCheckpoint:
    """Collects the parts of one checkpoint.

    Args:
        checkpoint: its number.
        triggered_at: when it began.
        tasks: those that must acknowledge.
        input_over: those of them that had processed all their input before it began.
        finished: what stands for the subtasks that take no part.
        savepoint: what the savepoint is for; ``None`` for a checkpoint of the job's own.
    """

    def __init__(
        self,
        checkpoint: int,
        triggered_at: float,
        tasks: Iterable[SubtaskId],
        input_over: Collection[SubtaskId],
        finished: Iterable[SubtaskSnapshot],
        savepoint: SavepointOrder | None = None,
    ) -> None:
        self.id = checkpoint
        self.savepoint = savepoint
        self.triggered_at = triggered_at
        self.requests: list[int] = []
        """Wishes that this checkpoint will answer."""
        self.is_being_written = False
        """Whether all parts are there and `_metadata` is on its way to the store."""
        self._awaited = set(tasks)
        self._input_over = set(input_over)
        self._finished = tuple(finished)
        self._acknowledged: dict[SubtaskId, SubtaskSnapshot] = {}
        self._trigger: Trigger | None = None
        self._enumerators: set[SubtaskId] = set()
        """Those that have to be ready before the trigger."""

    def begin(
        self, trigger: Trigger, enumerators: Iterable[SubtaskId]
    ) -> tuple[Trigger | PrepareEnumerators, ...]:
        """What to do first: trigger, or let the enumerators fix their parts before that."""
        hosts = tuple(enumerators)
        if not hosts:
            return (trigger,)
        self._trigger = trigger
        self._enumerators = set(hosts)
        return (PrepareEnumerators(self.id, hosts),)

    def enumerator_ready(self, task: SubtaskId) -> tuple[Trigger, ...]:
        """An enumerator has fixed its part: after the last one the checkpoint is triggered, once."""
        self._enumerators.discard(task)
        if self._enumerators or self._trigger is None:
            return ()
        trigger, self._trigger = self._trigger, None
        return (trigger,)

    @property
    def is_acknowledged(self) -> bool:
        """Whether nobody is awaited any more."""
        return not self._awaited

    def awaits(self, task: SubtaskId) -> bool:
        """Whether the subtask's part is still to come."""
        return task in self._awaited

    def acknowledge(self, task: SubtaskId, snapshot: SubtaskSnapshot) -> None:
        """The part of a subtask that is awaited."""
        self._awaited.remove(task)
        self._acknowledged[task] = snapshot
        if snapshot.finished:
            self._input_over.add(task)

    def may_leave(self) -> frozenset[SubtaskId]:
        """Those that took part after the end of their input."""
        return frozenset(self._input_over & set(self._acknowledged))

    def metadata(self, plan: CheckpointPlan) -> CheckpointMetadata:
        """The checkpoint as `_metadata` holds it; every part must be there."""
        parts = (*self._acknowledged.values(), *self._finished)
        order = {vertex.vertex: place for place, vertex in enumerate(plan.vertices)}
        return CheckpointMetadata(
            checkpoint=self.id,
            job=plan.job,
            job_name=plan.job_name,
            timestamp_ms=int(self.triggered_at),
            vertices=plan.vertices,
            subtasks=tuple(sorted(parts, key=lambda part: (order[part.vertex], part.subtask))),
            savepoint=self.savepoint is not None,
            riverrun_version=plan.riverrun_version,
            edges=plan.edges,
        )

    def expired(self, timeout_ms: int) -> str:
        """What to say when it took too long."""
        if self.is_being_written:
            return f"its metadata was not written within {timeout_ms} ms of its trigger"
        if self._enumerators:
            waited = ", ".join(sorted(str(task) for task in self._enumerators))
            return f"the enumerators in {waited} did not fix their part within {timeout_ms} ms"
        missing = sorted(str(task) for task in self._awaited)
        shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")  # noqa: PLR2004
        return (
            f"{len(missing)} of {len(missing) + len(self._acknowledged)} subtasks did not acknowledge "
            f"within {timeout_ms} ms: {shown}"
        )
