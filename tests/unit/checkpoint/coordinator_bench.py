"""A coordinator that a test feeds by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from riverrun.checkpoint.coordinator import CheckpointCoordinator
from riverrun.checkpoint.coordinator_events import (
    Acknowledged,
    CoordinatorDecision,
    CoordinatorEvent,
    MetadataWritten,
    TimePassed,
    Trigger,
)
from riverrun.checkpoint.plan import CheckpointPlan
from riverrun.checkpoint.settings import CheckpointSettings
from riverrun.checkpoint.shared_files import SharedFiles
from riverrun.core.ids import SubtaskId, VertexId
from riverrun.core.options import ExternalizedCheckpointRetention
from riverrun.graph.job_graph import JobGraph
from riverrun.protocol.snapshots import (
    KeyedPart,
    KeyedSnapshot,
    OperatorSnapshot,
    OperatorStatePart,
    Redistribution,
    SnapshotTimes,
    StateKind,
    StateMeta,
    SubtaskSnapshot,
)
from riverrun.storage.blobs import FileRef

A0, A1 = (SubtaskId(VertexId("a"), index) for index in range(2))
B = SubtaskId(VertexId("b"), 0)
ALL = (A0, A1, B)
RETAIN = ExternalizedCheckpointRetention


def snapshot(
    task: SubtaskId, *files: str, finished: bool = False, union: str | None = None
) -> SubtaskSnapshot:
    parts = tuple(KeyedPart(path, FileRef(path, 1, "d"), shared=True) for path in files)
    lists: tuple[OperatorStatePart, ...] = ()
    if union is not None:
        meta = StateMeta("all", StateKind.LIST)
        blob = FileRef(union, 1, "d")
        lists = (OperatorStatePart(meta, Redistribution.UNION, blob, ((0, 1),)),)
    operator = OperatorSnapshot(
        task.vertex.value, KeyedSnapshot("hashmap", 0, 127, (), parts), lists
    )
    return SubtaskSnapshot(task.vertex.value, task.index, (operator,), finished=finished)


class Bench:
    """A coordinator of ``a`` (two subtasks) -> ``b`` (one), with the time that its events come at."""

    def __init__(
        self, graph: JobGraph, before: Any = (), borrowed: Any = (), **settings: Any
    ) -> None:
        values = {"interval_ms": 100, "timeout_ms": 1000, **settings}
        plan = CheckpointPlan.of(graph, "0" * 32, "spend")
        self.coordinator = CheckpointCoordinator(
            CheckpointSettings(**values), plan, SharedFiles(), len(before) + 1, before, borrowed
        )
        self.now = 0.0

    def feed(self, *events: CoordinatorEvent, at: float | None = None) -> list[Any]:
        self.now = self.now if at is None else at
        return [
            decision for event in events for decision in self.coordinator.handle(event, self.now)
        ]

    def pass_time(self, to: float) -> list[Any]:
        return self.feed(TimePassed(), at=to)

    def ack(self, task: SubtaskId, checkpoint: int, *files: str, **kind: Any) -> list[Any]:
        part = snapshot(task, *files, **kind)
        return self.feed(Acknowledged(task, checkpoint, part, SnapshotTimes()))

    def ack_all(self, checkpoint: int, *tasks: SubtaskId, **kind: Any) -> list[Any]:
        """Each task with a file of its own."""
        return [
            decision
            for task in tasks or ALL
            for decision in self.ack(
                task, checkpoint, f"{task.vertex}{task.index}-{checkpoint}", **kind
            )
        ]

    def written(self, checkpoint: int) -> list[CoordinatorDecision]:
        return self.feed(MetadataWritten(checkpoint, meta(checkpoint), 5))

    def complete(self, checkpoint: int, *tasks: SubtaskId) -> list[CoordinatorDecision]:
        self.ack_all(checkpoint, *tasks)
        return self.written(checkpoint)


def meta(checkpoint: int) -> str:
    return f"chk-{checkpoint}/_metadata"


def files(checkpoint: int, *tasks: SubtaskId) -> tuple[str, ...]:
    return tuple(f"{task.vertex}{task.index}-{checkpoint}" for task in tasks or ALL)


def of(kind: type, decisions: list[CoordinatorDecision]) -> list[Any]:
    return [decision for decision in decisions if isinstance(decision, kind)]


def triggered(decisions: list[CoordinatorDecision]) -> list[int]:
    return [decision.checkpoint for decision in of(Trigger, decisions)]


Make: TypeAlias = Callable[..., Bench]
