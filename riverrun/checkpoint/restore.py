"""Who gets what of a checkpoint: pure decisions over plain data, no file is read.

Operators are matched by their ids, so that they may be chained otherwise than they were. Keyed state
goes where its key groups belong now; operator state is dealt out as each state asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.checkpoint.plan import channels_to
from riverrun.checkpoint.restore_channels import assign_channels
from riverrun.checkpoint.restore_checks import check_format, check_program
from riverrun.checkpoint.saved_operators import RestoreRefused, SavedOperator, saved_operators
from riverrun.core.ids import SubtaskId
from riverrun.graph.deployment import ChainedOperator
from riverrun.graph.job_graph import JobGraph, JobVertex
from riverrun.graph.key_groups import group_range
from riverrun.graph.partitioning import Broadcast
from riverrun.protocol.snapshots import (
    COMMITTABLES_STATE,
    KeyedSnapshot,
    OperatorRestore,
    OperatorStatePart,
    Redistribution,
    TaskRestore,
)


def assign(
    metadata: CheckpointMetadata, graph: JobGraph, *, allow_non_restored: bool, owned: bool
) -> dict[SubtaskId, TaskRestore]:
    """What each subtask of ``graph`` starts from.

    An operator that was in the checkpoint has an entry, which is empty where nothing is left for the
    subtask; an operator that is new has none. A subtask is ``finished`` when all its operators had
    finished, so had everybody who sends to it, and no records for one are in flight to it; what it gets
    nevertheless is left to be committed.

    Args:
        metadata: the checkpoint.
        graph: the program that goes on from it.
        allow_non_restored: leave out state whose operator the program does not have.
        owned: whether the checkpoint belongs to this job.

    Raises:
        RestoreRefused: the program cannot go on from the checkpoint.
    """
    check_format(metadata)
    saved = saved_operators(metadata)
    check_program(metadata, saved, graph, allow_non_restored=allow_non_restored)
    channels = assign_channels(metadata, graph, saved)
    restores = {
        SubtaskId(vertex.id, index): TaskRestore(
            checkpoint=metadata.checkpoint,
            operators=_operators(vertex, index, saved),
            channels=channels.get(SubtaskId(vertex.id, index), ()),
            owned=owned,
        )
        for vertex in graph.vertices
        for index in range(vertex.parallelism)
    }
    return _with_finished(restores, graph, saved)


def _operators(
    vertex: JobVertex, index: int, saved: Mapping[str, SavedOperator]
) -> dict[str, OperatorRestore]:
    return {
        operator.operator_id: OperatorRestore(
            keyed=_keyed(operator, vertex, index, saved[operator.operator_id]),
            lists=tuple(_lists(saved[operator.operator_id], index, vertex.parallelism)),
        )
        for operator in vertex.operators
        if operator.operator_id in saved
    }


def _keyed(
    operator: ChainedOperator, vertex: JobVertex, index: int, saved: SavedOperator
) -> tuple[KeyedSnapshot, ...]:
    keyed = saved.keyed
    if keyed and saved.max_parallelism != vertex.max_parallelism:
        raise RestoreRefused(
            f"operator {operator.name!r} (uid {operator.uid!r}): has max parallelism "
            f"{vertex.max_parallelism}, its keyed state was saved with {saved.max_parallelism}, and key "
            f"groups cannot be counted anew; set its max parallelism to {saved.max_parallelism} with "
            f"set_max_parallelism({saved.max_parallelism}), or write the savepoint anew with "
            f"SavepointWriter.change_max_parallelism"
        )
    first, last = group_range(index, vertex.parallelism, vertex.max_parallelism)
    return tuple(each for each in keyed if each.first_group <= last and first <= each.last_group)


def _lists(saved: SavedOperator, index: int, parallelism: int) -> Iterable[OperatorStatePart]:
    for (name, redistribution), parts in saved.lists.items():
        match redistribution:
            case Redistribution.SPLIT if name == COMMITTABLES_STATE:
                # One committer for all that a writer prepared: it is committed in order.
                yield from (part for subtask, part in parts if subtask % parallelism == index)
            case Redistribution.UNION:
                yield from (part for _, part in parts)
            case Redistribution.BROADCAST:
                yield from _broadcast(saved, parts, index, parallelism)
            case Redistribution.SPLIT if parallelism == saved.parallelism:
                yield from (part for subtask, part in parts if subtask == index)
            case Redistribution.SPLIT:
                yield from _dealt([part for _, part in parts], index, parallelism)


def _broadcast(
    saved: SavedOperator,
    parts: Sequence[tuple[int, OperatorStatePart]],
    index: int,
    parallelism: int,
) -> Iterable[OperatorStatePart]:
    """The part of the subtask whose place it takes, even if that has none where records are in flight to it.

    An unaligned checkpoint finds records of the broadcast in flight to one subtask that another one has
    taken in: they must not count twice.
    """
    donor = saved.donor(index, parallelism)
    found = [part for subtask, part in parts if subtask == donor]
    goes_on = parallelism == saved.parallelism and index not in saved.finished
    if found or goes_on or donor in saved.behind:
        return found
    return [parts[index % len(parts)][1]]


def _dealt(
    parts: Sequence[OperatorStatePart], index: int, parallelism: int
) -> Iterable[OperatorStatePart]:
    """Every ``parallelism``-th item, over all parts, beginning with the item ``index``."""
    before = 0
    for part in parts:
        items = part.items[(index - before) % parallelism :: parallelism]
        before += len(part.items)
        if items:
            yield msgspec.structs.replace(part, items=items)


def _with_finished(
    restores: dict[SubtaskId, TaskRestore], graph: JobGraph, saved: Mapping[str, SavedOperator]
) -> dict[SubtaskId, TaskRestore]:
    producers = channels_to(graph)
    finished: set[SubtaskId] = set()
    # Vertices come after their inputs, so that what is known of producers is complete.
    for task, restore in restores.items():
        vertex = graph.vertex(task.vertex)
        if (
            _only_broadcasts(restore, graph)
            and finished.issuperset(producers[task])
            and all(_had_finished(each, task, vertex, saved) for each in vertex.operators)
        ):
            finished.add(task)
    return {
        task: msgspec.structs.replace(restore, finished=True, channels=())
        if task in finished
        else restore
        for task, restore in restores.items()
    }


def _only_broadcasts(restore: TaskRestore, graph: JobGraph) -> bool:
    """Whether nothing is in flight but broadcast records.

    Who had finished has taken in every broadcast, so these are copies for whoever it would take over from.
    """
    partitionings = (graph.edges[channel.edge].partitioning for channel in restore.channels)
    return all(isinstance(each, Broadcast) for each in partitionings)


def _had_finished(
    operator: ChainedOperator,
    task: SubtaskId,
    vertex: JobVertex,
    saved: Mapping[str, SavedOperator],
) -> bool:
    was = saved.get(operator.operator_id)
    if was is None:
        return False
    if was.parallelism == vertex.parallelism:
        return task.index in was.finished
    return len(was.finished) == was.parallelism
