"""State that expires: what can be seen when, and what is removed by whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.api.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from riverrun.api.state_ttl import StateTtlConfig
from riverrun.api.state_ttl import _Builder as Builder
from riverrun.core.clock import ManualClock
from riverrun.core.time import Time
from tests.contract.state.conftest import BACKENDS, Workshop, read_all, seen

TTL = 1000
Configure = Callable[[Builder], Builder]


class Sum:
    """Sums."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def plain(builder: Builder) -> Builder:
    return builder


def expiring(descriptor: StateDescriptor, configure: Configure = plain) -> StateDescriptor:
    builder = configure(StateTtlConfig.new_builder(Time.milliseconds(TTL)))
    descriptor.enable_time_to_live(builder.build())
    return descriptor


def kinds() -> list[StateDescriptor]:
    return [
        ValueStateDescriptor("value"),
        ListStateDescriptor("list"),
        MapStateDescriptor("map"),
        ReducingStateDescriptor("reducing", lambda a, b: a + b),
        AggregatingStateDescriptor("aggregating", Sum()),
    ]


def put(state: Any, number: int) -> None:
    """Set or add the number, under itself in a map."""
    if hasattr(state, "put"):
        state.put(number, number)
    elif hasattr(state, "value"):
        state.update(number)
    else:
        state.add(number)


@pytest.fixture(params=range(5), ids=[descriptor.name for descriptor in kinds()])
def descriptor(request: pytest.FixtureRequest) -> StateDescriptor:
    number: int = request.param
    return kinds()[number]


def test_an_entry_is_gone_when_its_time_is_over(
    shop: Workshop, descriptor: StateDescriptor
) -> None:
    backend = shop.backend()
    state: Any = backend.state(expiring(descriptor))
    backend.key = "a"
    put(state, 5)

    shop.clock.advance(TTL - 1)
    assert seen(state) in (5, [5], {5: 5})
    shop.clock.advance(1)
    assert not seen(state)
    assert list(backend.keys(descriptor.name)) == []


def test_writing_makes_an_entry_young_again_and_reading_does_not(
    shop: Workshop, descriptor: StateDescriptor
) -> None:
    backend = shop.backend()
    state: Any = backend.state(expiring(descriptor))
    backend.key = "a"
    put(state, 5)

    shop.clock.advance(TTL - 1)
    put(state, 5)
    shop.clock.advance(TTL - 1)
    assert seen(state)
    shop.clock.advance(1)
    assert not seen(state)


def test_reading_makes_an_entry_young_again_where_that_is_wanted(
    shop: Workshop, descriptor: StateDescriptor
) -> None:
    backend = shop.backend()
    state: Any = backend.state(expiring(descriptor, Builder.update_ttl_on_read_and_write))
    backend.key = "a"
    put(state, 5)

    for _ in range(5):
        shop.clock.advance(TTL - 1)
        assert seen(state) in (5, [5], {5: 5})
    shop.clock.advance(TTL)
    assert not seen(state)


def test_an_expired_entry_can_be_seen_until_it_is_removed_where_that_is_wanted(
    shop: Workshop, descriptor: StateDescriptor
) -> None:
    def configure(builder: Builder) -> Builder:
        return builder.return_expired_if_not_cleaned_up().disable_cleanup_in_background()

    backend = shop.backend()
    state: Any = backend.state(expiring(descriptor, configure))
    backend.key = "a"
    put(state, 5)

    shop.clock.advance(10 * TTL)
    assert seen(state) in (5, [5], {5: 5})
    assert not seen(state)


def test_elements_of_a_list_expire_one_by_one(shop: Workshop) -> None:
    backend = shop.backend()
    state: Any = backend.state(expiring(ListStateDescriptor("list")))
    backend.key = "a"
    state.add(1)
    shop.clock.advance(TTL // 2)
    state.add(2)
    shop.clock.advance(TTL // 2)
    state.add(3)

    assert list(state.get()) == [2, 3]
    with pytest.raises(TypeError, match="None"):
        state.add(None)


def test_entries_of_a_map_expire_one_by_one(shop: Workshop) -> None:
    backend = shop.backend()
    state: Any = backend.state(expiring(MapStateDescriptor("map")))
    backend.key = "a"
    state.put("old", 1)
    shop.clock.advance(TTL // 2)
    state.put_all({"young": None})
    shop.clock.advance(TTL // 2)

    assert "old" not in state
    assert "young" in state
    assert dict(state.items()) == {"young": None}
    assert not state.is_empty()
    shop.clock.advance(TTL // 2)
    assert state.is_empty()


def test_what_is_added_to_an_expired_value_begins_anew(shop: Workshop) -> None:
    backend = shop.backend()
    states: list[Any] = [backend.state(expiring(descriptor)) for descriptor in kinds()[3:]]
    backend.key = "a"
    for state in states:
        put(state, 5)
    shop.clock.advance(TTL)

    for state in states:
        put(state, 7)
        assert state.get() == 7


def test_times_survive_a_restore(shop: Workshop, descriptor: StateDescriptor) -> None:
    for other in BACKENDS:
        backend = shop.backend()
        state: Any = backend.state(expiring(descriptor))
        backend.key = "a"
        put(state, 5)
        shop.clock.advance(TTL // 2)
        snapshot = shop.snapshot(backend)

        again = shop.restored([snapshot], kind=other)
        assert read_all(again, expiring(descriptor)) in ({"a": 5}, {"a": [5]}, {"a": {5: 5}})
        shop.clock.advance(TTL // 2)
        assert read_all(again, expiring(descriptor)) == {}


def test_a_state_that_never_expires_has_no_times(shop: Workshop) -> None:
    backend = shop.backend()
    descriptor = ValueStateDescriptor("value")
    off = StateTtlConfig.UpdateType.Disabled
    state: Any = backend.state(expiring(descriptor, lambda builder: builder.set_update_type(off)))
    backend.key = "a"
    state.update(1)
    shop.clock.advance(100 * TTL)

    assert state.value() == 1
    assert [meta.ttl for meta in shop.snapshot(backend).states] == [False]


class Model:
    """What a map state with time to live must show, told from the whole story."""

    def __init__(self, clock: ManualClock, *, on_read: bool) -> None:
        self._clock = clock
        self._on_read = on_read
        self._entries: dict[int, tuple[int, int]] = {}

    def put(self, key: int, value: int) -> None:
        self._entries[key] = (value, self._clock.now())

    def remove(self, key: int) -> None:
        self._entries.pop(key, None)

    def items(self) -> dict[int, int]:
        now = self._clock.now()
        alive = {
            key: (value, now if self._on_read else time)
            for key, (value, time) in self._entries.items()
            if time + TTL > now
        }
        self._entries = alive
        return {key: value for key, (value, _) in alive.items()}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 5), st.integers()),
        st.tuples(st.just("remove"), st.integers(0, 5)),
        st.tuples(st.just("wait"), st.integers(1, TTL + 1)),
        st.tuples(st.just("read")),
        st.tuples(st.just("sweep")),
        st.tuples(st.just("restore")),
    ),
    max_size=25,
)


@pytest.mark.parametrize("kind", BACKENDS)
@given(steps=STEPS, on_read=st.booleans())
def test_any_story_shows_what_is_alive_and_nothing_else(
    kind: str, steps: list[tuple[Any, ...]], on_read: bool, tmp_path_factory: Any
) -> None:
    shop = Workshop(tmp_path_factory.mktemp("state"), kind)
    model = Model(shop.clock, on_read=on_read)
    configure = Builder.update_ttl_on_read_and_write if on_read else plain
    descriptor = expiring(
        MapStateDescriptor("map"), lambda builder: configure(builder).cleanup_full_snapshot()
    )
    backend = shop.backend()
    state: Any = backend.state(descriptor)
    backend.key = "a"
    for number, (name, *arguments) in enumerate(steps):
        if name == "put":
            model.put(*arguments)
            state.put(*arguments)
        elif name == "remove":
            model.remove(*arguments)
            state.remove(*arguments)
        elif name == "wait":
            shop.clock.advance(*arguments)
        elif name == "read":
            assert dict(state.items()) == model.items()
        elif name == "sweep":
            backend.records_passed(3)
        else:
            backend = shop.restored([shop.snapshot(backend, number)])
            state = backend.state(descriptor)
            backend.key = "a"
    assert dict(state.items()) == model.items()
    shop.close()
