"""Who gets the elements that an unaligned checkpoint found in flight: pure decisions over plain data.

Edges are found again by what they connect, since their numbers and their ends' chains may have changed.
Elements go by the rule that the edge has now, each to exactly one subtask:

    parallelism of the consumers unchanged   back to the subtask that they were on their way to
    Hash, Custom                             every subtask that may own some reads all and keeps its own
    Rebalance, Rescale, Shuffle, Forward     each channel as a whole to one subtask, dealt out in turn
    Global                                   to subtask 0
    Broadcast                                every subtask gets those of the one whose broadcast state it
                                             takes over, so that each record counts once in every subtask

The elements of one channel stay together and in order. Only records were kept, no watermarks: time
begins anew at the sources, behind everything that was in flight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from riverrun.checkpoint.metadata import CheckpointMetadata, EdgeInfo
from riverrun.checkpoint.plan import edge_info
from riverrun.checkpoint.saved_operators import RestoreRefused, SavedOperator
from riverrun.core.ids import SubtaskId, VertexId
from riverrun.graph.connections import producers_of
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.key_groups import group_range
from riverrun.graph.partitioning import (
    Broadcast,
    Custom,
    Forward,
    Global,
    Hash,
    Partitioning,
    Rebalance,
    Rescale,
    Shuffle,
)
from riverrun.protocol.snapshots import ChannelRestore, Share
from riverrun.storage.blobs import Blob, InlineBlob


class EdgeGone(RestoreRefused):
    """Elements were in flight on an edge that the program does not have."""


def assign_channels(
    metadata: CheckpointMetadata, graph: JobGraph, saved: Mapping[str, SavedOperator]
) -> dict[SubtaskId, tuple[ChannelRestore, ...]]:
    """The channel state of each subtask that has any, with the numbers that ``graph`` gives its edges.

    Args:
        metadata: the checkpoint.
        graph: the program that goes on from it.
        saved: the checkpoint's operators.

    Raises:
        EdgeGone: there are elements of an edge that the graph does not have.
        RestoreRefused: there are elements of an edge whose records were copies for all and are not any
            more, or the other way round.
    """
    moves = _moves(metadata, graph, saved)
    assigned: dict[SubtaskId, list[ChannelRestore]] = {}
    for snapshot in metadata.subtasks:
        for channel in snapshot.channels:
            move = moves.get(channel.edge)
            if move is None:
                what = f"edge {channel.edge}, which is not in its list of edges"
                raise RestoreRefused(_in_flight(metadata, what))
            for consumer, share in move.takers(snapshot.subtask, channel.producer):
                restore = ChannelRestore(
                    move.edge,
                    move.producer_for(consumer, channel.producer),
                    channel.blob,
                    Share.DOUBTFUL if channel.doubtful else share,
                )
                assigned.setdefault(SubtaskId(move.target, consumer), []).append(restore)
    return {task: tuple(channels) for task, channels in assigned.items()}


@dataclass(frozen=True, slots=True)
class Ends:
    """How many subtasks an edge connects, and into how many key groups its consumers share keys out."""

    producers: int
    consumers: int
    max_parallelism: int


@dataclass(frozen=True, slots=True)
class EdgeMove:
    """One edge, as it was and as it is.

    >>> move = EdgeMove(3, VertexId("v"), "Rebalance", Rebalance(), Ends(2, 2, 128), Ends(2, 3, 128))
    >>> [list(move.takers(consumer, producer)) for consumer in range(2) for producer in range(2)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [[(0, <Share.ALL: 'all'>)], [(1, <Share.ALL: 'all'>)],
     [(2, <Share.ALL: 'all'>)], [(0, <Share.ALL: 'all'>)]]
    """

    edge: int
    """Its number now."""
    target: VertexId
    kind: str
    """How it shared records out when the checkpoint was taken."""
    partitioning: Partitioning
    """How it does now."""
    was: Ends
    now: Ends
    donors: tuple[int, ...] = ()
    """Of a broadcast: for each consumer now the one whose broadcast state it takes over."""
    doubtful: frozenset[int] = frozenset()
    """Of a broadcast: the consumers that get keys of subtasks which were not equally far."""

    def takers(self, consumer: int, producer: int) -> Iterable[tuple[int, Share]]:
        """The subtasks that take something of what was under way from ``producer`` to ``consumer``."""
        match self.partitioning:
            case Broadcast():
                takers = [each for each, donor in enumerate(self.donors) if donor == consumer]
                return [
                    (each, Share.DOUBTFUL if each in self.doubtful else Share.ALL)
                    for each in takers
                ]
            case Global():
                return [(0, Share.ALL)]
            case Hash() | Custom():
                if self._owners_stay():
                    return [(consumer, Share.ALL)]
                return [(each, Share.OWN) for each in self._possible_owners(consumer)]
            case Rebalance() | Rescale() | Shuffle() | Forward():
                if self.was.consumers == self.now.consumers:
                    return [(consumer, Share.ALL)]
                return self._dealt(consumer, producer)
            case _:
                assert_never(self.partitioning)

    def producer_for(self, consumer: int, producer: int) -> int:
        """The producer whose channel to ``consumer`` stands for the one that ``producer`` had."""
        mine = producers_of(self.partitioning, consumer, self.now.producers, self.now.consumers)
        return producer if producer in mine else mine[producer % len(mine)]

    def _owners_stay(self) -> bool:
        """Whether each record belongs to the subtask that it did belong to."""
        if self.kind != type(self.partitioning).__name__:
            return False
        groups_stay = self.was.max_parallelism == self.now.max_parallelism
        return self.was.consumers == self.now.consumers and (self.kind != "Hash" or groups_stay)

    def _possible_owners(self, consumer: int) -> Iterable[int]:
        groups = self.was.max_parallelism
        if self.kind != "Hash" or groups != self.now.max_parallelism:
            return range(self.now.consumers)
        first, last = group_range(consumer, self.was.consumers, groups)
        count = self.now.consumers
        return range(first * count // groups, last * count // groups + 1)

    def _dealt(self, consumer: int, producer: int) -> Iterable[tuple[int, Share]]:
        dealt = (consumer * self.was.producers + producer) % self.now.consumers
        if not isinstance(self.partitioning, Forward):
            return [(dealt, Share.ALL)]
        # Only whoever can look into the program knows whether its keys decide.
        shares = [Share.NONE_UNLESS_KEYED] * self.now.consumers
        shares[dealt] = Share.ALL_UNLESS_KEYED
        return enumerate(shares)


def _moves(
    metadata: CheckpointMetadata, graph: JobGraph, saved: Mapping[str, SavedOperator]
) -> dict[int, EdgeMove]:
    """Each edge on which something was in flight, by the number that it had."""
    in_use = {channel.edge for subtask in metadata.subtasks for channel in subtask.channels}
    now = {_identity(info): info for info in (edge_info(graph, edge) for edge in graph.edges)}
    return {
        was.edge: _move(metadata, was, now.get(_identity(was)), graph, saved)
        for was in metadata.edges
        if was.edge in in_use
    }


def _identity(edge: EdgeInfo) -> tuple[str, str, str | None, int]:
    return edge.source_operator, edge.target, edge.tag, edge.input_index


def _move(
    metadata: CheckpointMetadata,
    was: EdgeInfo,
    now: EdgeInfo | None,
    graph: JobGraph,
    saved: Mapping[str, SavedOperator],
) -> EdgeMove:
    vertices = {vertex.vertex: vertex for vertex in metadata.vertices}
    old_source, old_target = vertices[was.source], vertices[was.target]
    name = f"the edge from {old_source.name!r} to {old_target.name!r}"
    if now is None:
        raise EdgeGone(_in_flight(metadata, f"{name}, which the program does not have"))
    # Copies for everybody and records for one of all do not become each other.
    if now.partitioning != was.partitioning and "Broadcast" in (now.partitioning, was.partitioning):
        change = f"which was {was.partitioning} and is {now.partitioning}"
        raise RestoreRefused(_in_flight(metadata, f"{name}, {change}"))
    source, target = graph.vertex(VertexId(now.source)), graph.vertex(VertexId(now.target))
    receiver = saved[was.target]
    donors = tuple(receiver.donor(each, target.parallelism) for each in range(target.parallelism))
    return EdgeMove(
        edge=now.edge,
        target=target.id,
        kind=was.partitioning,
        partitioning=graph.edges[now.edge].partitioning,
        was=Ends(old_source.parallelism, old_target.parallelism, old_target.max_parallelism),
        now=Ends(source.parallelism, target.parallelism, target.max_parallelism),
        donors=donors,
        doubtful=frozenset(_doubtful(metadata, was, receiver, donors)),
    )


def _doubtful(
    metadata: CheckpointMetadata, was: EdgeInfo, receiver: SavedOperator, donors: Sequence[int]
) -> Iterator[int]:
    """The subtasks some of whose keys had seen other records of a broadcast than their donor had."""
    if was.partitioning != "Broadcast" or len(donors) == receiver.parallelism:
        return
    # All get the same records up to the barrier: who has the same in flight has seen the same before.
    left = {
        snapshot.subtask: [
            (channel.producer, _content(channel.blob))
            for channel in snapshot.channels
            if channel.edge == was.edge
        ]
        for snapshot in metadata.subtasks
        if snapshot.vertex == was.target and not snapshot.finished
    }
    for index, donor in enumerate(donors):
        owners = receiver.owners_before(index, len(donors))
        if any(left[each] != left.get(donor) for each in owners if each in left):
            yield index


def _content(blob: Blob) -> bytes | str:
    return blob.data if isinstance(blob, InlineBlob) else blob.digest


def _in_flight(metadata: CheckpointMetadata, what: str) -> str:
    return (
        f"checkpoint {metadata.checkpoint} of job {metadata.job_name!r}: holds elements in flight on {what}; "
        f"restore it with the program as it was and take an aligned checkpoint or a savepoint, which "
        f"holds none, then change the program"
    )
