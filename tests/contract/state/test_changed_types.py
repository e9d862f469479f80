"""State that was written with one type and is asked for with another."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.api.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from riverrun.api.state_ttl import StateTtlConfig
from riverrun.core.time import Time
from riverrun.serde.row import Row
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types
from riverrun.state.backend import StateRefused
from tests.contract.state.conftest import BACKENDS, Workshop, read_all


def value(type_info: TypeInformation | None) -> ValueStateDescriptor:
    return ValueStateDescriptor("state", type_info)


def written(shop: Workshop, descriptor: StateDescriptor, values: dict[Any, Any], **how: Any) -> Any:
    """A snapshot of a state with these values."""
    backend = shop.backend(**how)
    state: Any = backend.state(descriptor)
    for key, stored in values.items():
        backend.key = key
        put = state.put_all if isinstance(descriptor, MapStateDescriptor) else state.update
        put(stored)
    return shop.snapshot(backend)


@pytest.mark.parametrize("reader", BACKENDS)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Types.INT(), Types.LONG()),
        (Types.INT(), Types.DOUBLE()),
        (Types.LONG(), None),
        (None, Types.LONG()),
    ],
    ids=repr,
)
def test_a_wider_type_takes_the_values_over(
    shop: Workshop, reader: str, old: TypeInformation | None, new: TypeInformation | None
) -> None:
    snapshot = written(shop, value(old), {key: key for key in range(50)})

    again = shop.restored([snapshot], kind=reader)

    assert read_all(again, value(new)) == {key: key for key in range(50)}
    rewritten = shop.restored([shop.snapshot(again, 2)])
    assert read_all(rewritten, value(new)) == {key: key for key in range(50)}


@pytest.mark.parametrize("incremental", [False, True])
def test_a_row_gets_a_new_field_that_is_none(shop: Workshop, incremental: bool) -> None:
    old = Types.ROW_NAMED(["name"], [Types.STRING()])
    new = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.LONG()])
    values = {key: Row(name=str(key)) for key in range(50)}
    snapshot = written(shop, value(old), values, incremental=incremental)

    again = shop.restored([snapshot], incremental=incremental)
    state: Any = again.state(value(new))
    again.key = 0
    state.update(Row(name="0", age=7))
    last = shop.snapshot(again, 2)

    assert read_all(shop.restored([last]), value(new)) == {
        key: Row(name=str(key), age=None if key else 7) for key in range(50)
    }


def test_elements_of_lists_and_maps_change_their_types_too(shop: Workshop) -> None:
    lists = written(shop, ListStateDescriptor("state", Types.INT()), {1: [1, 2], 2: [3]})
    maps = written(shop, MapStateDescriptor("state", Types.INT(), Types.INT()), {1: {1: 2, 3: 4}})

    wide_list = ListStateDescriptor("state", Types.LONG())
    wide_map = MapStateDescriptor("state", Types.LONG(), Types.DOUBLE())
    assert read_all(shop.restored([lists]), wide_list) == {1: [1, 2], 2: [3]}
    assert read_all(shop.restored([maps]), wide_map) == {1: {1: 2.0, 3: 4.0}}


@pytest.mark.parametrize("reader", BACKENDS)
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (value(Types.LONG()), value(Types.INT()), r"Types.LONG\(\).*Types.INT\(\)"),
        (value(Types.STRING()), value(Types.LONG()), r"Types.STRING\(\).*Types.LONG\(\)"),
        (value(Types.LONG()), ListStateDescriptor("state", Types.LONG()), "value.*list"),
        (
            MapStateDescriptor("state", Types.LONG(), Types.LONG()),
            MapStateDescriptor("state", Types.STRING(), Types.LONG()),
            r"Types.LONG\(\).*Types.STRING\(\)",
        ),
    ],
    ids=["narrower", "other", "kind", "map key"],
)
def test_a_type_that_does_not_fit_is_refused_when_the_state_is_asked_for(
    shop: Workshop, reader: str, old: StateDescriptor, new: StateDescriptor, words: str
) -> None:
    stored: Any = {1: 1} if isinstance(old, MapStateDescriptor) else 1
    if old.types()["value"] == Types.STRING():
        stored = "text"
    snapshot = written(shop, old, {"key": stored})
    again = shop.restored([snapshot], kind=reader)

    with pytest.raises(StateRefused, match=f"'counter'.*'state'.*{words}"):
        again.state(new)


def test_pickled_values_that_are_not_of_the_new_type_are_refused(shop: Workshop) -> None:
    snapshot = written(shop, value(None), {1: 1, 2: "text"})
    again = shop.restored([snapshot])

    with pytest.raises(StateRefused, match=r"'counter'.*'state'.*'text'"):
        read_all(again, value(Types.LONG()))


def test_another_type_of_keys_is_refused(shop: Workshop) -> None:
    snapshot = written(shop, value(Types.LONG()), {1: 1}, key_type=Types.LONG())
    again = shop.restored([snapshot], key_type=Types.STRING())

    with pytest.raises(StateRefused, match=r"'state'.*keys.*Types.LONG\(\).*Types.STRING\(\)"):
        again.state(value(Types.LONG()))


def test_a_wider_type_of_keys_finds_them_again(shop: Workshop) -> None:
    snapshot = written(shop, value(None), {1: 1, 2: 2}, key_type=Types.INT())

    again = shop.restored([snapshot], key_type=Types.LONG())

    assert read_all(again, value(None)) == {1: 1, 2: 2}


def test_with_namespaces_and_without_are_two_things(shop: Workshop) -> None:
    snapshot = written(shop, value(None), {1: 1})
    again = shop.restored([snapshot])

    with pytest.raises(StateRefused, match="namespaces"):
        again.state(value(None), namespaced=True)


def expiring(descriptor: StateDescriptor) -> StateDescriptor:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(10)).build())
    return descriptor


@pytest.mark.parametrize("reader", BACKENDS)
def test_time_to_live_can_be_switched_on_and_off(shop: Workshop, reader: str) -> None:
    shapes: list[tuple[type[StateDescriptor], Any]] = [
        (ValueStateDescriptor, [5]),
        (ListStateDescriptor, [1, 2]),
        (MapStateDescriptor, {"a": 1}),
    ]
    for make, stored in shapes:
        plain = written(shop, make("state"), {"key": stored})

        on = shop.restored([plain], kind=reader)
        assert read_all(on, expiring(make("state"))) == {"key": stored}
        with_times = shop.snapshot(on, 2)
        shop.clock.advance(10_000)
        assert read_all(on, expiring(make("state"))) == {}

        off = shop.restored([with_times], kind=reader)
        assert read_all(off, make("state")) == {"key": stored}
