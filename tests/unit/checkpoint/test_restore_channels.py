"""Elements in flight find the subtasks that they belong to, whatever the parallelism is now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.checkpoint.plan import CheckpointPlan
from riverrun.checkpoint.restore import assign
from riverrun.checkpoint.restore_channels import EdgeGone
from riverrun.checkpoint.saved_operators import RestoreRefused
from riverrun.core.ids import VertexId
from riverrun.graph.connections import consumers_of, producers_of
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.key_groups import group_range
from riverrun.protocol.snapshots import (
    ChannelRestore,
    ChannelSnapshot,
    OperatorSnapshot,
    OperatorStatePart,
    Redistribution,
    Share,
    StateKind,
    StateMeta,
    SubtaskSnapshot,
    TaskRestore,
)
from riverrun.storage.blobs import InlineBlob

MakeGraph: TypeAlias = Callable[..., JobGraph]
GROUPS = 12

numbers = st.integers(1, 5)
quick = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def blob(consumer: int, producer: int, part: int = 0) -> InlineBlob:
    return InlineBlob(bytes([consumer, producer, part]))


def in_flight(graph: JobGraph, subtasks: Iterable[SubtaskSnapshot]) -> CheckpointMetadata:
    plan = CheckpointPlan.of(graph, "0" * 32, "spend")
    given = {(each.vertex, each.subtask): each for each in subtasks}
    return CheckpointMetadata(
        checkpoint=7,
        job=plan.job,
        job_name=plan.job_name,
        timestamp_ms=0,
        vertices=plan.vertices,
        edges=plan.edges,
        subtasks=tuple(
            given.get(
                (task.vertex.value, task.index), SubtaskSnapshot(task.vertex.value, task.index)
            )
            for task in plan.subtasks
        ),
    )


def everywhere(graph: JobGraph, *, parts: int = 1) -> CheckpointMetadata:
    """A checkpoint with something in flight on every channel of edge 0, in ``parts`` pieces."""
    edge = graph.edges[0]
    target = graph.vertex(edge.target)
    producers = graph.vertex(edge.source).parallelism
    return in_flight(
        graph,
        (
            SubtaskSnapshot(
                target.id.value,
                consumer,
                channels=tuple(
                    ChannelSnapshot(0, producer, blob(consumer, producer, part))
                    for part in range(parts)
                    for producer in producers_of(
                        edge.partitioning, consumer, producers, target.parallelism
                    )
                ),
            )
            for consumer in range(target.parallelism)
        ),
    )


def restored(metadata: CheckpointMetadata, graph: JobGraph) -> list[TaskRestore]:
    """What the subtasks of ``b`` start from."""
    found = assign(metadata, graph, allow_non_restored=False, owned=True)
    return [restore for task, restore in found.items() if task.vertex == VertexId("b")]


def names(channels: Iterable[ChannelRestore]) -> list[bytes]:
    return [each.blob.data for each in channels if isinstance(each.blob, InlineBlob)]


def test_elements_go_back_to_their_channel(make_graph: MakeGraph) -> None:
    graph = make_graph({"a": 1, "b": 2}, "a>b")
    part = SubtaskSnapshot("b", 1, channels=(ChannelSnapshot(0, 0, blob(1, 0)),))

    found = restored(in_flight(graph, [part]), graph)

    assert found[1].channels == (ChannelRestore(0, 0, blob(1, 0)),)
    assert found[0].channels == ()


def test_an_edge_that_has_another_number_now_is_found_again(make_graph: MakeGraph) -> None:
    old = make_graph({"a": 1, "b": 1}, "a>b")
    new = make_graph({"x": 1, "y": 1, "a": 1, "b": 1}, "x>y a>b")

    (found,) = restored(everywhere(old), new)

    assert [channel.edge for channel in found.channels] == [1]


def test_the_operators_of_an_edge_may_be_in_other_chains(make_graph: MakeGraph) -> None:
    old = make_graph({"a->c": 2, "b->d": 2, "e": 2}, "c>b:hash d>e")
    new = make_graph({"a": 2, "c": 3, "b->d->e": 2}, "a>c c>b:hash")

    found = restored(everywhere(old), new)

    assert [names(each.channels) for each in found] == [
        [blob(c, p).data for p in (0, 1)] for c in (0, 1)
    ]
    assert {channel.edge for each in found for channel in each.channels} == {1}


@pytest.mark.parametrize(
    ("edges", "why"),
    [
        ("a>b:rebalance", "which was Broadcast and is Rebalance"),
        ("", "which the program does not have"),
    ],
)
def test_elements_of_an_edge_that_cannot_take_them_are_refused(
    make_graph: MakeGraph, edges: str, why: str
) -> None:
    metadata = everywhere(make_graph({"a": 1, "b": 2}, "a>b:broadcast"))

    with pytest.raises(RestoreRefused, match=why) as refused:
        restored(metadata, make_graph({"a": 1, "b": 2}, edges))

    assert isinstance(refused.value, EdgeGone) is (not edges)
    assert "from 'a' to 'b'" in str(refused.value)
    assert "take an aligned checkpoint or a savepoint" in str(refused.value)


def test_elements_of_an_edge_that_the_checkpoint_does_not_describe_are_refused(
    make_graph: MakeGraph,
) -> None:
    graph = make_graph({"a": 1, "b": 1}, "a>b")
    part = SubtaskSnapshot("b", 0, channels=(ChannelSnapshot(9, 0, blob(0, 0)),))

    with pytest.raises(RestoreRefused, match="edge 9, which is not in its list of edges"):
        restored(in_flight(graph, [part]), graph)


KINDS = ("forward", "hash", "rebalance", "rescale", "shuffle", "broadcast", "global", "custom")


@given(st.sampled_from(KINDS), numbers, numbers)
@quick
def test_nothing_moves_while_the_parallelism_stays(
    make_graph: MakeGraph, kind: str, producers: int, consumers: int
) -> None:
    consumers = producers if kind == "forward" else consumers
    graph = make_graph({"a": producers, "b": consumers}, f"a>b:{kind}", max_parallelism=GROUPS)
    metadata = everywhere(graph)
    if kind == "global":
        metadata = in_flight(graph, [each for each in metadata.subtasks if each.subtask == 0])

    found = restored(metadata, graph)

    for subtask in metadata.subtasks:
        if subtask.vertex == "b":
            assert found[subtask.subtask].channels == tuple(
                ChannelRestore(0, each.producer, each.blob) for each in subtask.channels
            )


def check_channels_exist(graph: JobGraph, found: list[TaskRestore]) -> None:
    """Whatever a subtask takes comes from a channel that it has."""
    edge = graph.edges[0]
    producers = graph.vertex(edge.source).parallelism
    for index, restore in enumerate(found):
        for channel in restore.channels:
            assert index in consumers_of(edge.partitioning, channel.producer, producers, len(found))


@given(
    st.sampled_from(["rebalance", "rescale", "shuffle", "hash"]),
    st.sampled_from(["rebalance", "rescale", "shuffle"]),
    st.tuples(numbers, numbers),
    st.tuples(numbers, numbers),
)
@quick
def test_a_channel_that_leads_anywhere_goes_to_one_subtask_as_a_whole_and_in_order(
    make_graph: MakeGraph, was: str, now: str, before: tuple[int, int], after: tuple[int, int]
) -> None:
    metadata = everywhere(make_graph({"a": before[0], "b": before[1]}, f"a>b:{was}"), parts=3)
    graph = make_graph({"a": after[0], "b": after[1]}, f"a>b:{now}")

    found = restored(metadata, graph)

    homes: dict[bytes, set[int]] = {}
    for index, restore in enumerate(found):
        assert {channel.share for channel in restore.channels} <= {Share.ALL}
        for name in names(restore.channels):
            homes.setdefault(name[:2], set()).add(index)
        for channel in {name[:2] for name in names(restore.channels)}:
            mine = [name[2] for name in names(restore.channels) if name[:2] == channel]
            assert mine == [0, 1, 2]
    assert all(len(each) == 1 for each in homes.values())
    everything = [name for each in metadata.subtasks for name in _saved_names(each)]
    taken = Counter(name for each in found for name in names(each.channels))
    assert taken == Counter(everything)
    check_channels_exist(graph, found)


def _saved_names(subtask: SubtaskSnapshot) -> list[bytes]:
    return [each.blob.data for each in subtask.channels if isinstance(each.blob, InlineBlob)]


def test_channels_are_dealt_out_evenly(make_graph: MakeGraph) -> None:
    metadata = everywhere(make_graph({"a": 3, "b": 2}, "a>b"))

    found = restored(metadata, make_graph({"a": 3, "b": 3}, "a>b"))

    assert [len(each.channels) for each in found] == [2, 2, 2]


@given(*[numbers] * 4)
@example(2, 1, 2, 3)
@quick
def test_by_key_each_possible_owner_reads_the_channel_and_keeps_its_own(
    make_graph: MakeGraph, a: int, b: int, new_a: int, new_b: int
) -> None:
    old = make_graph({"a": a, "b": b}, "a>b:hash", max_parallelism=GROUPS)
    graph = make_graph({"a": new_a, "b": new_b}, "a>b:hash", max_parallelism=GROUPS)

    found = restored(everywhere(old), graph)

    for group in range(GROUPS):
        consumer, owner = group * b // GROUPS, group * new_b // GROUPS
        for producer in range(a):
            # Whatever is in this group was on this channel: its owner reads it, once.
            assert names(found[owner].channels).count(blob(consumer, producer).data) == 1
    for index, restore in enumerate(found):
        first, last = group_range(index, new_b, GROUPS)
        for channel in restore.channels:
            assert channel.share is (Share.ALL if b == new_b else Share.OWN)
        for name in names(restore.channels):
            start, end = group_range(name[0], b, GROUPS)
            assert start <= last
            assert first <= end
    check_channels_exist(graph, found)


@pytest.mark.parametrize("now", ["hash", "custom"])
@pytest.mark.parametrize("was", ["rebalance", "custom", "hash"])
def test_records_whose_place_is_computed_otherwise_now_are_looked_for_everywhere(
    make_graph: MakeGraph, was: str, now: str
) -> None:
    old = make_graph({"a": 1, "b": 2}, f"a>b:{was}", max_parallelism=10)
    graph = make_graph({"a": 1, "b": 3}, f"a>b:{now}", max_parallelism=GROUPS)

    found = restored(everywhere(old), graph)

    for restore in found:
        assert names(restore.channels) == [blob(0, 0).data, blob(1, 0).data]
        assert {each.share for each in restore.channels} == {Share.OWN}


def test_the_same_keys_in_other_groups_are_shared_out_anew(make_graph: MakeGraph) -> None:
    old = make_graph({"a": 1, "b": 2}, "a>b:hash", max_parallelism=10)

    found = restored(
        everywhere(old), make_graph({"a": 1, "b": 2}, "a>b:hash", max_parallelism=GROUPS)
    )

    assert all(len(each.channels) == 2 for each in found)
    assert {each.share for restore in found for each in restore.channels} == {Share.OWN}


@given(*[numbers] * 2)
@quick
def test_a_forward_channel_has_one_home_unless_its_keys_decide(
    make_graph: MakeGraph, before: int, after: int
) -> None:
    metadata = everywhere(make_graph({"a": before, "b": before}, "a>b:forward"))

    found = restored(metadata, make_graph({"a": after, "b": after}, "a>b:forward"))

    for consumer in range(before):
        shares = Counter(
            each.share
            for restore in found
            for each in restore.channels
            if each.blob == blob(consumer, consumer)
        )
        assert shares == (
            Counter({Share.ALL: 1})
            if before == after
            else Counter({Share.ALL_UNLESS_KEYED: 1, Share.NONE_UNLESS_KEYED: after - 1})
        )


@pytest.mark.parametrize(("was", "now"), [("forward", "rescale"), ("rescale", "forward")])
def test_forward_may_become_rescale_and_forward_again(
    make_graph: MakeGraph, was: str, now: str
) -> None:
    sizes = {"forward": {"a": 2, "b": 2}, "rescale": {"a": 2, "b": 4}}
    metadata = everywhere(make_graph(sizes[was], f"a>b:{was}"))
    graph = make_graph(sizes[now], f"a>b:{now}")

    found = restored(metadata, graph)

    taken = [
        each.blob
        for restore in found
        for each in restore.channels
        if each.share is not Share.NONE_UNLESS_KEYED
    ]
    assert len(taken) == len(set(taken)) == sum(len(each.channels) for each in metadata.subtasks)
    check_channels_exist(graph, found)


@given(*[numbers] * 2)
@quick
def test_everything_for_one_subtask_stays_with_it(
    make_graph: MakeGraph, before: int, after: int
) -> None:
    old = make_graph({"a": 2, "b": before}, "a>b:global")
    part = next(
        each for each in everywhere(old).subtasks if (each.vertex, each.subtask) == ("b", 0)
    )

    found = restored(in_flight(old, [part]), make_graph({"a": 2, "b": after}, "a>b:global"))

    assert names(found[0].channels) == [blob(0, 0).data, blob(0, 1).data]
    assert all(each.channels == () for each in found[1:])


def broadcast(consumer: int) -> OperatorSnapshot:
    part = OperatorStatePart(
        StateMeta("rules", StateKind.BROADCAST),
        Redistribution.BROADCAST,
        InlineBlob(bytes([consumer])),
        ((0, 1),),
    )
    return OperatorSnapshot("b", lists=(part,))


@given(numbers, numbers, st.sets(st.integers(0, 4)), st.sets(st.integers(0, 4)))
@quick
def test_broadcast_state_and_what_is_in_flight_come_from_one_subtask(
    make_graph: MakeGraph, before: int, after: int, empty: set[int], finished: set[int]
) -> None:
    graph = make_graph({"a": 2, "b": before}, "a>b:broadcast")
    subtasks = [
        SubtaskSnapshot("b", each, finished=True)
        if each in finished
        else SubtaskSnapshot(
            "b",
            each,
            # It has taken nothing in yet, or the half of all.
            operators=() if each in empty else (broadcast(each),),
            channels=(
                ChannelSnapshot(0, 0, blob(each, 0)),
                *([ChannelSnapshot(0, 1, blob(each, 1))] if each in empty else []),
            ),
        )
        for each in range(before)
    ]

    found = restored(in_flight(graph, subtasks), make_graph({"a": 2, "b": after}, "a>b:broadcast"))

    for restore in found:
        lists = restore.operators["b"].lists
        had = {part.blob.data[0] for part in lists if isinstance(part.blob, InlineBlob)}
        flew = {name[0] for name in names(restore.channels)}
        if finished >= set(range(before)):
            assert had == flew == set()
            continue
        (donor,) = flew
        assert donor not in finished
        assert had == (set() if donor in empty else {donor})
        assert len(restore.channels) == (2 if donor in empty else 1)


def rules_in_flight(graph: JobGraph, *records: bytes, doubtful: bool = False) -> CheckpointMetadata:
    """Some of the broadcast is in flight to each subtask of ``b``."""
    return in_flight(
        graph,
        (
            SubtaskSnapshot(
                "b",
                index,
                channels=(ChannelSnapshot(0, 0, InlineBlob(data), doubtful),) if data else (),
            )
            for index, data in enumerate(records)
        ),
    )


def test_broadcast_records_are_doubtful_where_keys_meet_that_had_not_seen_the_same(
    make_graph: MakeGraph,
) -> None:
    graph = make_graph({"a": 1, "b": 3}, "a>b:broadcast", max_parallelism=GROUPS)

    found = restored(
        rules_in_flight(graph, b"", b"two more", b"two more"),
        make_graph({"a": 1, "b": 2}, "a>b:broadcast", max_parallelism=GROUPS),
    )

    # groups 0-5 were those of subtasks 0 and 1, groups 6-11 those of 1 and 2
    assert [each.channels for each in found] == [
        (ChannelRestore(0, 0, InlineBlob(b"two more"), Share.DOUBTFUL),),
        (ChannelRestore(0, 0, InlineBlob(b"two more"), Share.ALL),),
    ]


def test_who_has_keys_of_one_subtask_only_is_not_in_doubt(make_graph: MakeGraph) -> None:
    graph = make_graph({"a": 1, "b": 2}, "a>b:broadcast", max_parallelism=GROUPS)

    found = restored(
        rules_in_flight(graph, b"", b"one more"),
        make_graph({"a": 1, "b": 4}, "a>b:broadcast", max_parallelism=GROUPS),
    )

    more = ChannelRestore(0, 0, InlineBlob(b"one more"), Share.ALL)
    assert [each.channels for each in found] == [(), (), (more,), (more,)]


def test_doubtful_records_that_are_still_in_flight_stay_so(make_graph: MakeGraph) -> None:
    graph = make_graph({"a": 1, "b": 1}, "a>b:broadcast")

    (found,) = restored(rules_in_flight(graph, b"some", doubtful=True), graph)

    assert [each.share for each in found.channels] == [Share.DOUBTFUL]


def test_the_broadcast_of_whoever_had_the_key_groups_is_taken_over(make_graph: MakeGraph) -> None:
    metadata = everywhere(make_graph({"a": 1, "b": 2}, "a>b:broadcast"))

    found = restored(metadata, make_graph({"a": 1, "b": 4}, "a>b:broadcast"))

    assert [names(each.channels)[0][0] for each in found] == [0, 0, 1, 1]


def test_a_subtask_to_which_something_is_in_flight_has_not_finished(make_graph: MakeGraph) -> None:
    old = make_graph({"a": 1, "b": 2}, "a>b:rebalance")
    done = SubtaskSnapshot("b", 0, finished=True)
    waits = SubtaskSnapshot("b", 1, channels=(ChannelSnapshot(0, 0, blob(1, 0)),))
    source = SubtaskSnapshot("a", 0, finished=True)

    found = restored(
        in_flight(old, [source, done, waits]), make_graph({"a": 1, "b": 2}, "a>b:hash")
    )

    assert [restore.finished for restore in found] == [False, False]


def test_who_had_finished_does_not_take_the_broadcast_records_of_others_in(
    make_graph: MakeGraph,
) -> None:
    graph = make_graph({"a": 1, "b": 2}, "a>b:broadcast")
    source = SubtaskSnapshot("a", 0, finished=True)
    behind = SubtaskSnapshot("b", 0, channels=(ChannelSnapshot(0, 0, blob(0, 0)),))
    done = SubtaskSnapshot("b", 1, finished=True)

    found = restored(in_flight(graph, [source, behind, done]), graph)

    assert [names(each.channels) for each in found] == [[blob(0, 0).data], []]
    assert [each.finished for each in found] == [False, True]


def test_who_had_finished_and_goes_on_takes_over_where_another_one_is(
    make_graph: MakeGraph,
) -> None:
    old = make_graph({"a": 1, "c": 1, "b": 2}, "a>b:broadcast c>b:rebalance")
    sources = [SubtaskSnapshot(name, 0, finished=True) for name in "ac"]
    behind = SubtaskSnapshot(
        "b",
        0,
        operators=(broadcast(0),),
        channels=(ChannelSnapshot(0, 0, blob(0, 0)), ChannelSnapshot(1, 0, blob(0, 1))),
    )
    done = SubtaskSnapshot("b", 1, finished=True)

    # By their keys records that were on their way to subtask 0 may belong to subtask 1 now.
    found = restored(
        in_flight(old, [*sources, behind, done]),
        make_graph({"a": 1, "c": 1, "b": 2}, "a>b:broadcast c>b:hash"),
    )

    both = [blob(0, 0).data, blob(0, 1).data]
    assert [names(each.channels) for each in found] == [both, both]
    assert [len(each.operators["b"].lists) for each in found] == [1, 1]
    assert [each.finished for each in found] == [False, False]
