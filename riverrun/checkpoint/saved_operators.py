"""A checkpoint seen by operator, wherever its subtasks ran them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from riverrun.checkpoint.metadata import CheckpointMetadata, OperatorInfo, VertexInfo
from riverrun.core.errors import ProgramError
from riverrun.graph.key_groups import group_range
from riverrun.protocol.snapshots import (
    KeyedSnapshot,
    OperatorSnapshot,
    OperatorStatePart,
    Redistribution,
)


class RestoreRefused(ProgramError):  # noqa: N818
    """The program cannot go on from the checkpoint; trying again does not help."""


ListState: TypeAlias = tuple[str, Redistribution]
"""Name of an operator state, and how it is dealt out."""


@dataclass(slots=True)
class SavedOperator:
    """All that a checkpoint holds of one operator."""

    operator_id: str
    name: str
    uid: str | None
    vertex: str
    """Name of the vertex it was in."""
    parallelism: int
    max_parallelism: int
    shape: str = ""
    """What it kept on its own account."""
    finished: set[int] = field(default_factory=set)
    """The subtasks that had seen the end of their input."""
    behind: dict[int, int] = field(default_factory=dict)
    """By subtask how many bytes of broadcast records were in flight to it, if any."""
    keyed: list[KeyedSnapshot] = field(default_factory=list)
    """Of the subtasks in order."""
    lists: dict[ListState, list[tuple[int, OperatorStatePart]]] = field(default_factory=dict)
    """With the subtask that wrote each part, in order."""

    @property
    def has_state(self) -> bool:
        """Whether anything would be lost without it."""
        return any(each.parts for each in self.keyed) or any(
            part.items for parts in self.lists.values() for _, part in parts
        )

    def describe(self) -> str:
        """The operator in a message."""
        named = f"uid {self.uid!r}" if self.uid is not None else f"no uid, id {self.operator_id!r}"
        return f"operator {self.name!r} ({named}, in {self.vertex!r})"

    def donor(self, index: int, parallelism: int) -> int:
        """The subtask from which the subtask ``index`` of ``parallelism`` takes over what all have alike.

        Its broadcast state and the broadcast records in flight to it belong together: another one may
        have taken these in already. It is the one that is furthest behind of those that had key groups
        of ``index``, so that nothing is missed for any of its keys.
        """
        if parallelism == self.parallelism and index not in self.finished:
            return index
        # A subtask that finished has left nothing behind, unless all did.
        alive = [each for each in range(self.parallelism) if each not in self.finished]
        owners = self.owners_before(index, parallelism)
        able = [each for each in owners if each in alive] or alive or list(owners)
        return max(able, key=lambda each: self.behind.get(each, 0))

    def owners_before(self, index: int, parallelism: int) -> range:
        """The subtasks that had the key groups that the subtask ``index`` of ``parallelism`` has."""
        first, last = group_range(index, parallelism, self.max_parallelism)
        owner = [
            min(group * self.parallelism // self.max_parallelism, self.parallelism - 1)
            for group in (first, max(first, last))
        ]
        return range(owner[0], owner[1] + 1)

    def add(self, subtask: int, snapshot: OperatorSnapshot) -> None:
        """Take in what one subtask saved."""
        if snapshot.keyed is not None:
            self.keyed.append(snapshot.keyed)
        for part in snapshot.lists:
            state = (part.meta.name, part.redistribution)
            self.lists.setdefault(state, []).append((subtask, part))


def saved_operators(metadata: CheckpointMetadata) -> Mapping[str, SavedOperator]:
    """Every operator of the checkpoint by its id, also those without state.

    Raises:
        RestoreRefused: a subtask's snapshot names a vertex or an operator that the checkpoint lacks.
    """
    vertices = {vertex.vertex: vertex for vertex in metadata.vertices}
    broadcasts = {edge.edge for edge in metadata.edges if edge.partitioning == "Broadcast"}
    saved = {
        operator.operator_id: _empty(operator, vertex)
        for vertex in metadata.vertices
        for operator in vertex.operators
    }
    for subtask in sorted(metadata.subtasks, key=lambda each: each.subtask):
        vertex = vertices.get(subtask.vertex)
        if vertex is None:
            raise _inconsistent(metadata, f"a snapshot of vertex {subtask.vertex!r}")
        behind = sum(each.blob.size for each in subtask.channels if each.edge in broadcasts)
        for operator in vertex.operators:
            if subtask.finished:
                saved[operator.operator_id].finished.add(subtask.subtask)
            if behind:
                saved[operator.operator_id].behind[subtask.subtask] = behind
        for snapshot in subtask.operators:
            if snapshot.operator_id not in saved:
                raise _inconsistent(metadata, f"state of operator {snapshot.operator_id!r}")
            saved[snapshot.operator_id].add(subtask.subtask, snapshot)
    return saved


def _empty(operator: OperatorInfo, vertex: VertexInfo) -> SavedOperator:
    return SavedOperator(
        operator.operator_id,
        operator.name,
        operator.uid,
        vertex.name,
        vertex.parallelism,
        vertex.max_parallelism,
        operator.shape,
    )


def _inconsistent(metadata: CheckpointMetadata, what: str) -> RestoreRefused:
    return RestoreRefused(
        f"checkpoint {metadata.checkpoint} of job {metadata.job_name!r}: holds {what}, which is not in its "
        f"list of vertices; the checkpoint is broken, restore from another one"
    )
