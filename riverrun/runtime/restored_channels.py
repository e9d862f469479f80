"""What was in flight when an unaligned checkpoint was taken, as the subtask that takes it over sees it.

A subtask may be given the state of channels that led to others before the job was rescaled. It reads
them one at a time and keeps the records that are its own now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import index as to_int
from typing import Any, NamedTuple, TypeAlias

from riverrun.api.resolve import key_callable, partition_callable
from riverrun.core.errors import UserCodeError
from riverrun.graph.deployment import InEdge, TaskDeployment
from riverrun.graph.key_groups import group_range
from riverrun.graph.partitioning import Custom, Hash
from riverrun.graph.reinterpreted_key import ReinterpretedKey
from riverrun.protocol.frames import EncodedRun, FrameError, split_encoded
from riverrun.protocol.snapshots import ChannelRestore, Share
from riverrun.runtime.failures import OperatorFailed, operator_failed
from riverrun.runtime.partitioners import PartitionOutOfRange
from riverrun.serde.runs import codec_for, decode_run
from riverrun.serde.stable_hash import key_group
from riverrun.storage.snapshot_files import SavedFiles

Owns: TypeAlias = Callable[[Any], bool]
"""Whether a record belongs to the subtask."""


class UnsteadyPartitioner(UserCodeError):  # noqa: N818
    """A custom partitioner does not give the same answer to the same question."""

    def __init__(self, key: str, first: int, second: int) -> None:
        super().__init__(key, first, second)
        self.key, self.first, self.second = key, first, second

    def __str__(self) -> str:
        return (
            f"the partitioner returned {self.first} and then {self.second} for the key {self.key}, so it "
            f"cannot be told which subtask gets the records that were in flight; restore the checkpoint "
            f"with the parallelism that it was taken with, or from a savepoint"
        )


class RestoredRun(NamedTuple):
    """A run that was in flight, and the channel from which it comes now."""

    edge: int
    producer: int
    run: EncodedRun
    doubtful: bool = False
    """Whether it may count for some keys of the subtask already, see ``Share.DOUBTFUL``."""


def restored_runs(deployment: TaskDeployment, saved: SavedFiles) -> Iterator[RestoredRun]:
    """The runs that ``deployment`` takes over, in order; one channel's state is in memory at a time."""
    if deployment.restore is None:
        return
    edges = {int(edge.edge): edge for edge in deployment.inputs}
    for channel in deployment.restore.channels:
        edge = edges.get(channel.edge)
        if edge is None or channel.producer not in edge.producers:
            raise FrameError(
                f"channel state of edge {channel.edge}, producer {channel.producer}: "
                f"there is no such channel here"
            )
        owns = _rule(channel.share, edge, deployment)
        if owns is not _nothing:
            for run in _runs(channel, edge, owns, deployment, saved):
                doubtful = channel.share is Share.DOUBTFUL
                yield RestoredRun(channel.edge, channel.producer, run, doubtful)


def _runs(
    channel: ChannelRestore,
    edge: InEdge,
    owns: Owns | None,
    deployment: TaskDeployment,
    saved: SavedFiles,
) -> Iterator[EncodedRun]:
    for element in split_encoded(saved.read(channel.blob)):
        if not isinstance(element, EncodedRun):
            raise FrameError(
                f"channel state of edge {channel.edge}, producer {channel.producer}: "
                f"got {type(element).__name__}, expected runs of records only"
            )
        if owns is None:
            yield element
            continue
        try:
            run = _own_records(element, edge, owns)
        except (FrameError, OperatorFailed):
            raise
        except Exception as error:
            name = f"key selector or partitioner of {deployment.operators[0].name}"
            raise operator_failed(name, error) from error
        if run is not None:
            yield run


def _own_records(run: EncodedRun, edge: InEdge, owns: Owns) -> EncodedRun | None:
    """The run without the records of others; ``None`` when nothing is left of it."""
    records = run.decode(lambda tag, data: decode_run(tag, data, edge.type_info))
    places = [place for place, value in enumerate(records.values) if owns(value)]
    if not places:
        return None
    values = [records.values[place] for place in places]
    times = records.timestamps
    codec = codec_for(edge.type_info)
    return EncodedRun(
        len(values),
        None if times is None else [times[place] for place in places],
        codec.tag,
        memoryview(codec.encode(values)),
    )


def _rule(share: Share, edge: InEdge, deployment: TaskDeployment) -> Owns | None:
    """How to tell own records; ``None``: all are."""
    if share in (Share.ALL, Share.DOUBTFUL):
        return None
    match edge.partitioning:
        case Hash(key_selector):
            return _by_group(key_callable(key_selector), deployment)
        case Custom(partition, key_selector):
            return _by_partitioner(
                partition_callable(partition), key_callable(key_selector), deployment
            )
    head = deployment.operators[0]
    selectors = (head.key_selector, head.second_key_selector)
    selector = selectors[edge.input_index]
    if isinstance(selector, ReinterpretedKey):
        return _by_group(selector.select, deployment)
    return None if share is Share.ALL_UNLESS_KEYED else _nothing


def _nothing(value: Any) -> bool:
    del value
    return False


def _by_group(select: Callable[[Any], Any], deployment: TaskDeployment) -> Owns:
    groups = deployment.max_parallelism
    first, last = group_range(deployment.subtask, deployment.parallelism, groups)
    return lambda value: first <= key_group(select(value), groups) <= last


def _by_partitioner(
    partition: Callable[[Any, int], Any], select: Callable[[Any], Any], deployment: TaskDeployment
) -> Owns:
    subtask, count = deployment.subtask, deployment.parallelism

    def owns(value: Any) -> bool:
        key = select(value)
        target, again = (_chosen(partition(key, count), count) for _ in range(2))
        # Each subtask asks for itself: without one answer a record would be lost, or taken twice.
        if target != again:
            raise UnsteadyPartitioner(repr(key), target, again)
        return target == subtask

    return owns


def _chosen(answer: Any, count: int) -> int:
    try:
        target = to_int(answer)
    except TypeError:
        raise PartitionOutOfRange(repr(answer), count) from None
    if not 0 <= target < count:
        raise PartitionOutOfRange(repr(target), count)
    return target
