"""Operator state: lists and broadcast maps, and what becomes of their items."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.api.state import (
    BroadcastState,
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
)
from riverrun.core.time import Time
from riverrun.protocol.snapshots import OperatorStatePart, Redistribution
from riverrun.serde.types import Types
from riverrun.state.backend import StateRefused
from riverrun.state.operator_state import OperatorStateBackend, ReadOnlyState
from riverrun.state.serializers import UnstorableValue
from tests.contract.state.conftest import MemoryFiles

OFFSETS = ListStateDescriptor("offsets", Types.LONG())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def moved(
    backend: OperatorStateBackend, *, keep: slice = slice(None)
) -> tuple[OperatorStateBackend, tuple[OperatorStatePart, ...]]:
    """A backend restored from the other's snapshot, with some of the items of each part."""
    files = MemoryFiles()
    parts = backend.freeze().write(files)
    again = OperatorStateBackend("reader")
    chosen = [
        OperatorStatePart(part.meta, part.redistribution, part.blob, part.items[keep])
        for part in parts
    ]
    again.restore(chosen, files)
    return again, parts


def test_a_list_keeps_what_is_added() -> None:
    state = OperatorStateBackend("reader").get_list_state(OFFSETS)

    state.add(1)
    state.add_all([2, 3])
    assert list(state) == [1, 2, 3]
    state.update([4])
    assert state.get() == [4]
    with pytest.raises(TypeError, match="None"):
        state.add_all([None])
    state.clear()
    assert state.get() == []


@pytest.mark.parametrize("descriptor", [OFFSETS, ListStateDescriptor("offsets")], ids=repr)
def test_items_are_restored_one_by_one(descriptor: ListStateDescriptor) -> None:
    backend = OperatorStateBackend("reader")
    backend.get_list_state(descriptor).update(range(10))

    again, [part] = moved(backend, keep=slice(2, 5))

    assert again.get_list_state(descriptor).get() == [2, 3, 4]
    assert part.redistribution is Redistribution.SPLIT
    assert len(part.items) == 10


def test_a_union_list_says_so() -> None:
    backend = OperatorStateBackend("reader")
    backend.get_union_list_state(OFFSETS).update([1, 2])

    again, [part] = moved(backend)

    assert part.redistribution is Redistribution.UNION
    assert again.get_union_list_state(OFFSETS).get() == [1, 2]


def test_parts_of_several_subtasks_make_one_list() -> None:
    files = MemoryFiles()
    parts: list[OperatorStatePart] = []
    for subtask in range(3):
        backend = OperatorStateBackend("reader")
        backend.get_union_list_state(OFFSETS).update([subtask, subtask + 10])
        parts += backend.freeze().write(files)

    again = OperatorStateBackend("reader")
    again.restore(parts, files)

    assert again.get_union_list_state(OFFSETS).get() == [0, 10, 1, 11, 2, 12]


def test_a_broadcast_map_is_used_like_a_dict_and_survives() -> None:
    backend = OperatorStateBackend("rules")
    state = backend.get_broadcast_state(RULES)
    state["a"] = 1
    state.put("b", 2)
    state.put_all({"c": 3, "d": 4})
    del state["b"]
    state.remove("never there")

    again, [part] = moved(backend)

    found = again.get_broadcast_state(RULES)
    assert isinstance(found, BroadcastState)
    assert dict(found.items()) == {"a": 1, "c": 3, "d": 4}
    assert ("a" in found, found.contains("b"), found["c"], found.get("b")) == (True, False, 3, None)
    assert (sorted(found), sorted(found.keys()), sorted(found.values())) == (
        ["a", "c", "d"],
        ["a", "c", "d"],
        [1, 3, 4],
    )
    assert part.redistribution is Redistribution.BROADCAST
    found.clear()
    assert found.is_empty()


def test_the_other_side_sees_the_map_and_cannot_change_it() -> None:
    state = OperatorStateBackend("rules").get_broadcast_state(RULES)
    view: Any = state.read_only()
    state.put("a", 1)

    assert dict(view.items()) == {"a": 1}
    assert not hasattr(view, "put")
    with pytest.raises(ReadOnlyState, match="'rules'"):
        view.clear()
    with pytest.raises(TypeError):
        view["a"] = 2


def test_a_map_can_be_changed_while_one_goes_through_it() -> None:
    state = OperatorStateBackend("rules").get_broadcast_state(RULES)
    state.put_all({"a": 1, "b": 2})

    for key, value in state.items():
        state.remove(key)
        assert value

    assert state.is_empty()


def test_changes_after_the_freeze_are_not_in_the_snapshot() -> None:
    backend = OperatorStateBackend("reader")
    state = backend.get_list_state(ListStateDescriptor("buffer"))
    state.add([1])
    files = MemoryFiles()

    frozen = backend.freeze()
    state.get()[0].append(2)
    state.add([3])

    again = OperatorStateBackend("reader")
    again.restore(frozen.write(files), files)
    assert again.get_list_state(ListStateDescriptor("buffer")).get() == [[1]]


def test_state_that_nobody_asks_for_is_in_the_next_snapshot() -> None:
    backend = OperatorStateBackend("reader")
    backend.get_list_state(OFFSETS).update([1, 2])
    backend.get_broadcast_state(RULES).put("a", 1)

    again, _ = moved(moved(backend)[0])

    assert again.get_list_state(OFFSETS).get() == [1, 2]
    assert dict(again.get_broadcast_state(RULES).items()) == {"a": 1}


def test_the_same_name_is_the_same_state() -> None:
    backend = OperatorStateBackend("reader")

    assert backend.get_list_state(OFFSETS) is backend.get_list_state(OFFSETS)
    assert backend.get_broadcast_state(RULES) is backend.get_broadcast_state(RULES)


def test_the_same_name_as_something_else_is_refused() -> None:
    backend = OperatorStateBackend("reader")
    backend.get_list_state(OFFSETS)

    with pytest.raises(StateRefused, match=r"'reader'.*'offsets'.*split.*union"):
        backend.get_union_list_state(OFFSETS)


def test_another_redistribution_than_the_one_restored_is_refused() -> None:
    backend = OperatorStateBackend("reader")
    backend.get_list_state(OFFSETS).add(1)
    again, _ = moved(backend)

    with pytest.raises(StateRefused, match=r"'reader'.*'offsets'.*split.*union"):
        again.get_union_list_state(OFFSETS)


def test_types_change_as_those_of_keyed_state_do() -> None:
    backend = OperatorStateBackend("reader")
    backend.get_list_state(ListStateDescriptor("offsets", Types.INT())).add(1)
    wider, _ = moved(backend)
    other, _ = moved(backend)

    assert wider.get_list_state(OFFSETS).get() == [1]
    with pytest.raises(StateRefused, match=r"Types.INT\(\).*Types.STRING\(\)"):
        other.get_list_state(ListStateDescriptor("offsets", Types.STRING()))


def test_a_value_that_is_not_of_its_type_is_named() -> None:
    backend = OperatorStateBackend("reader")
    backend.get_list_state(OFFSETS).add("text")

    with pytest.raises(UnstorableValue, match=r"'reader'.*'offsets'.*'text'"):
        backend.freeze()


def test_a_time_to_live_is_refused() -> None:
    descriptor = ListStateDescriptor("offsets")
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())

    with pytest.raises(StateRefused, match="time to live"):
        OperatorStateBackend("reader").get_list_state(descriptor)
