from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.checkpoint.plan import CheckpointPlan
from riverrun.checkpoint.restore import assign
from riverrun.checkpoint.saved_operators import RestoreRefused
from riverrun.core.ids import SubtaskId, VertexId
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.key_groups import group_range
from riverrun.protocol.snapshots import (
    COMMITTABLES_STATE,
    KeyedPart,
    KeyedSnapshot,
    OperatorRestore,
    OperatorSnapshot,
    OperatorStatePart,
    Redistribution,
    StateKind,
    StateMeta,
    SubtaskSnapshot,
    TaskRestore,
)
from riverrun.storage.blobs import FileRef

MakeGraph: TypeAlias = Callable[..., JobGraph]
_numbers = count()


def file() -> FileRef:
    return FileRef(f"file-{next(_numbers)}", 10, "digest")


def keyed(first: int, last: int) -> KeyedSnapshot:
    return KeyedSnapshot("hashmap", first, last, (), (KeyedPart("base", file(), shared=True),))


def listed(
    items: int, how: Redistribution = Redistribution.SPLIT, name: str = "offsets"
) -> OperatorStatePart:
    meta = StateMeta(name, StateKind.LIST)
    return OperatorStatePart(meta, how, file(), tuple((10 * i, 10 * i + 10) for i in range(items)))


def saved(graph: JobGraph, *subtasks: SubtaskSnapshot) -> CheckpointMetadata:
    """A checkpoint of the graph; subtasks that are not given had nothing to save."""
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


def part(vertex: str, subtask: int, **states: Any) -> SubtaskSnapshot:
    """Each operator with a KeyedSnapshot or a list of OperatorStatePart."""
    operators = tuple(
        OperatorSnapshot(name, keyed=state)
        if isinstance(state, KeyedSnapshot)
        else OperatorSnapshot(name, lists=tuple(state))
        for name, state in states.items()
    )
    return SubtaskSnapshot(vertex, subtask, operators)


def restored(
    metadata: CheckpointMetadata, graph: JobGraph, *, allow: bool = False
) -> dict[tuple[str, int], TaskRestore]:
    found = assign(metadata, graph, allow_non_restored=allow, owned=True)
    return {(task.vertex.value, task.index): restore for task, restore in found.items()}


def items(restore: TaskRestore, operator: str) -> list[tuple[str, tuple[int, int]]]:
    return [
        (part.blob.path, item)
        for part in restore.operators[operator].lists
        for item in part.items
        if isinstance(part.blob, FileRef)
    ]


def test_every_subtask_of_the_graph_gets_a_restore(make_graph: MakeGraph) -> None:
    graph = make_graph({"a": 1, "b": 2}, "a>b")

    found = assign(saved(graph), graph, allow_non_restored=False, owned=False)

    assert found == {
        SubtaskId(VertexId("a"), 0): TaskRestore(7, {"a": OperatorRestore()}, owned=False),
        SubtaskId(VertexId("b"), 0): TaskRestore(7, {"b": OperatorRestore()}, owned=False),
        SubtaskId(VertexId("b"), 1): TaskRestore(7, {"b": OperatorRestore()}, owned=False),
    }


def test_an_operator_that_is_new_has_no_entry(make_graph: MakeGraph) -> None:
    metadata = saved(make_graph({"a": 1}))

    found = restored(metadata, make_graph({"a->b": 1}))

    assert list(found["a", 0].operators) == ["a"]


def test_keyed_state_goes_to_every_subtask_that_owns_one_of_its_groups(
    make_graph: MakeGraph,
) -> None:
    old = make_graph({"a": 2}, max_parallelism=8)
    low, high = keyed(0, 3), keyed(4, 7)
    metadata = saved(old, part("a", 0, a=low), part("a", 1, a=high))

    found = restored(metadata, make_graph({"a": 3}, max_parallelism=8))

    # groups of the new subtasks: 0-2, 3-5, 6-7
    assert [found["a", i].operators["a"].keyed for i in range(3)] == [(low,), (low, high), (high,)]


@given(st.integers(1, 12), st.integers(1, 12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_every_key_group_finds_its_owner_after_any_rescale(
    make_graph: MakeGraph, before: int, after: int
) -> None:
    ranges = [group_range(i, before, 12) for i in range(before)]
    metadata = saved(
        make_graph({"a": before}, max_parallelism=12),
        *(part("a", i, a=keyed(*ranges[i])) for i in range(before)),
    )

    found = restored(metadata, make_graph({"a": after}, max_parallelism=12))

    for group in range(12):
        mine = found["a", group * after // 12].operators["a"].keyed
        assert any(each.first_group <= group <= each.last_group for each in mine)


def test_operators_are_found_again_in_another_chain(make_graph: MakeGraph) -> None:
    old = make_graph({"a->b": 1, "c": 1}, "b>c")
    mine = keyed(0, 127)
    metadata = saved(old, part("a", 0, b=mine))

    found = restored(metadata, make_graph({"a": 1, "b->c": 1}, "a>b"))

    assert found["b", 0].operators["b"].keyed == (mine,)
    assert found["a", 0].operators["a"].keyed == ()


def test_items_of_a_split_list_stay_where_they_are_when_the_parallelism_does(
    make_graph: MakeGraph,
) -> None:
    graph = make_graph({"a": 2})
    first, second = listed(3), listed(1)
    metadata = saved(graph, part("a", 0, a=[first]), part("a", 1, a=[second]))

    found = restored(metadata, graph)

    assert found["a", 0].operators["a"].lists == (first,)
    assert found["a", 1].operators["a"].lists == (second,)


@given(st.lists(st.integers(0, 7), min_size=1, max_size=5), st.integers(1, 6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_items_of_a_split_list_are_dealt_out_evenly_and_once(
    make_graph: MakeGraph, sizes: list[int], after: int
) -> None:
    parts = [listed(size) for size in sizes]
    metadata = saved(
        make_graph({"a": len(sizes)}), *(part("a", i, a=[p]) for i, p in enumerate(parts))
    )

    found = restored(metadata, make_graph({"a": after}))

    dealt = [items(found["a", i], "a") for i in range(after)]
    assert sorted(item for each in dealt for item in each) == sorted(
        (p.blob.path, item) for p in parts if isinstance(p.blob, FileRef) for item in p.items
    )
    if after != len(sizes):
        counts = [len(each) for each in dealt]
        assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("after", [1, 2, 3, 5])
def test_what_one_writer_prepared_is_committed_by_one_committer(
    make_graph: MakeGraph, after: int
) -> None:
    parts = [listed(size, name=COMMITTABLES_STATE) for size in (3, 1, 2)]
    metadata = saved(make_graph({"a": 3}), *(part("a", i, a=[p]) for i, p in enumerate(parts)))

    found = restored(metadata, make_graph({"a": after}))

    dealt = [found["a", index].operators["a"].lists for index in range(after)]
    assert sorted(map(repr, (each for lists in dealt for each in lists))) == sorted(
        map(repr, parts)
    )
    assert parts[0] in dealt[0]


def test_a_union_list_goes_to_everybody(make_graph: MakeGraph) -> None:
    parts = [listed(2, Redistribution.UNION), listed(1, Redistribution.UNION)]
    metadata = saved(make_graph({"a": 2}), part("a", 0, a=[parts[0]]), part("a", 1, a=[parts[1]]))

    for parallelism in (1, 2, 3):
        found = restored(metadata, make_graph({"a": parallelism}))
        assert all(each.operators["a"].lists == tuple(parts) for each in found.values())


def test_broadcast_state_is_copied_from_one_subtask_each(make_graph: MakeGraph) -> None:
    first, second = listed(2, Redistribution.BROADCAST), listed(2, Redistribution.BROADCAST)
    metadata = saved(make_graph({"a": 2}), part("a", 0, a=[first]), part("a", 1, a=[second]))

    found = restored(metadata, make_graph({"a": 3}))

    lists = [found["a", i].operators["a"].lists for i in range(3)]
    assert lists == [(first,), (first,), (second,)]


def test_broadcast_state_that_only_some_have_is_for_all_when_nothing_is_in_flight(
    make_graph: MakeGraph,
) -> None:
    mine = listed(2, Redistribution.BROADCAST)
    metadata = saved(make_graph({"a": 2}), part("a", 0), part("a", 1, a=[mine]))

    found = restored(metadata, make_graph({"a": 3}))

    assert [found["a", i].operators["a"].lists for i in range(3)] == [(mine,)] * 3


def test_broadcast_state_of_a_finished_subtask_is_not_missed(make_graph: MakeGraph) -> None:
    mine = listed(2, Redistribution.BROADCAST)
    metadata = saved(
        make_graph({"a": 2}), SubtaskSnapshot("a", 0, finished=True), part("a", 1, a=[mine])
    )

    found = restored(metadata, make_graph({"a": 2}))

    assert [found["a", i].operators["a"].lists for i in range(2)] == [(mine,), (mine,)]


def test_a_subtask_without_broadcast_state_gets_none_of_another(make_graph: MakeGraph) -> None:
    # An unaligned checkpoint: what the second one has taken in is in flight to the first one.
    theirs = listed(2, Redistribution.BROADCAST)
    metadata = saved(make_graph({"a": 2}), part("a", 0), part("a", 1, a=[theirs]))

    found = restored(metadata, make_graph({"a": 2}))

    assert [found["a", i].operators["a"].lists for i in range(2)] == [(), (theirs,)]


def test_states_of_one_operator_are_dealt_out_apart(make_graph: MakeGraph) -> None:
    parts = [listed(2, name="x"), listed(2, Redistribution.UNION, "y")]
    metadata = saved(make_graph({"a": 1}), part("a", 0, a=parts))

    found = restored(metadata, make_graph({"a": 2}))

    for index in range(2):
        x, y = found["a", index].operators["a"].lists
        assert (x.items, y.items) == ((parts[0].items[index],), parts[1].items)


def test_a_changed_max_parallelism_is_refused_with_both_numbers(make_graph: MakeGraph) -> None:
    metadata = saved(make_graph({"a": 1}, max_parallelism=128), part("a", 0, a=keyed(0, 127)))

    with pytest.raises(RestoreRefused) as refused:
        restored(metadata, make_graph({"a": 1}, max_parallelism=256))

    assert str(refused.value) == (
        "operator 'A' (uid 'uid-a'): has max parallelism 256, its keyed state was saved with 128, and "
        "key groups cannot be counted anew; set its max parallelism to 128 with "
        "set_max_parallelism(128), or write the savepoint anew with "
        "SavepointWriter.change_max_parallelism"
    )


def test_max_parallelism_may_change_where_there_are_no_keys(make_graph: MakeGraph) -> None:
    metadata = saved(make_graph({"a": 1}, max_parallelism=128), part("a", 0, a=[listed(1)]))

    found = restored(metadata, make_graph({"a": 1}, max_parallelism=256))

    assert len(found["a", 0].operators["a"].lists) == 1


def test_state_that_no_operator_takes_is_refused_unless_it_may_be_left_out(
    make_graph: MakeGraph,
) -> None:
    metadata = saved(make_graph({"a->b": 1}), part("a", 0, b=keyed(0, 127)))
    graph = make_graph({"a": 1})

    with pytest.raises(RestoreRefused, match="--allowNonRestoredState") as refused:
        restored(metadata, graph)

    assert "operator 'B' (uid 'uid-b', in 'a->b')" in str(refused.value)
    assert list(restored(metadata, graph, allow=True)["a", 0].operators) == ["a"]


def test_an_operator_without_state_may_go(make_graph: MakeGraph) -> None:
    metadata = saved(make_graph({"a->b": 1}), part("a", 0, b=[listed(0)]))

    assert list(restored(metadata, make_graph({"a": 1}))) == [("a", 0)]


@pytest.mark.parametrize("version", [0, 2])
def test_another_format_is_refused(make_graph: MakeGraph, version: int) -> None:
    graph = make_graph({"a": 1})
    metadata = msgspec.structs.replace(saved(graph), format_version=version)

    with pytest.raises(RestoreRefused, match=f"has format {version}, .* reads formats 1 to 1"):
        restored(metadata, graph)


def finished(vertex: str, subtask: int, **states: Any) -> SubtaskSnapshot:
    return msgspec.structs.replace(part(vertex, subtask, **states), finished=True)


def finished_of(found: dict[tuple[str, int], TaskRestore]) -> set[tuple[str, int]]:
    return {task for task, restore in found.items() if restore.finished}


def test_a_vertex_that_had_finished_is_finished_at_any_parallelism(make_graph: MakeGraph) -> None:
    old = make_graph({"a": 2, "b": 1}, "a>b")
    metadata = saved(old, finished("a", 0), finished("a", 1))

    assert finished_of(restored(metadata, old)) == {("a", 0), ("a", 1)}
    assert finished_of(restored(metadata, make_graph({"a": 1, "b": 1}, "a>b"))) == {("a", 0)}


def test_a_subtask_that_had_finished_stays_so_while_the_parallelism_does(
    make_graph: MakeGraph,
) -> None:
    old = make_graph({"a": 2})
    metadata = saved(old, finished("a", 0), part("a", 1, a=[listed(1)]))

    assert finished_of(restored(metadata, old)) == {("a", 0)}
    assert finished_of(restored(metadata, make_graph({"a": 3}))) == set()


def test_a_finished_subtask_gets_what_is_left_to_be_committed(make_graph: MakeGraph) -> None:
    graph = make_graph({"a": 2})
    left = listed(2)
    metadata = saved(graph, finished("a", 0, a=[left]), finished("a", 1))

    found = restored(metadata, graph)

    assert finished_of(found) == {("a", 0), ("a", 1)}
    assert found["a", 0].operators["a"].lists == (left,)


def test_nobody_is_finished_whose_producers_run_again(make_graph: MakeGraph) -> None:
    metadata = saved(make_graph({"a": 1, "c": 1}, "a>c"), finished("a", 0), finished("c", 0))

    found = restored(metadata, make_graph({"a->b": 1, "c": 1}, "b>c"))

    assert finished_of(found) == set()


def test_a_finished_vertex_with_a_new_operator_runs_again(make_graph: MakeGraph) -> None:
    metadata = saved(make_graph({"a": 1}), finished("a", 0))

    assert finished_of(restored(metadata, make_graph({"a->b": 1}))) == set()


def test_a_checkpoint_that_contradicts_itself_is_refused(make_graph: MakeGraph) -> None:
    graph = make_graph({"a": 1})
    metadata = msgspec.structs.replace(saved(graph), subtasks=(SubtaskSnapshot("z", 0),))

    with pytest.raises(
        RestoreRefused, match="holds a snapshot of vertex 'z', which is not in its list"
    ):
        restored(metadata, graph)
