"""What each kind of state does, whatever keeps it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from riverrun.api.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from riverrun.serde.types import Types
from riverrun.state.backend import NO_KEY, KeyedStateBackend, NoCurrentKey, StateRefused
from tests.contract.state.conftest import Workshop, seen


class Average:
    """(sum, count) -> sum / count."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Color(Enum):
    RED = 1
    BLUE = 2


class Level(IntEnum):
    ONE = 1


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass(frozen=True)
class Account:
    bank: str
    number: int


VALUE = ValueStateDescriptor("value")
LIST = ListStateDescriptor("list")
MAP = MapStateDescriptor("map")
SUM = ReducingStateDescriptor("sum", lambda a, b: a + b)
AVERAGE = AggregatingStateDescriptor("average", Average())


def test_a_value_is_none_until_it_is_set_and_after_it_is_cleared(
    backend: KeyedStateBackend,
) -> None:
    state: Any = backend.state(VALUE)
    backend.key = "a"

    assert state.value() is None
    state.update(5)
    assert state.value() == 5
    state.clear()
    assert state.value() is None


def test_updating_a_value_with_none_clears_it(backend: KeyedStateBackend) -> None:
    state: Any = backend.state(VALUE)
    backend.key = "a"
    state.update(5)

    state.update(None)

    assert state.value() is None
    assert list(backend.keys("value")) == []


@pytest.mark.parametrize("falsy", [0, "", False, 0.0, [], {}])
def test_a_value_that_counts_as_false_is_a_value(backend: KeyedStateBackend, falsy: Any) -> None:
    state: Any = backend.state(VALUE)
    backend.key = "a"

    state.update(falsy)

    assert state.value() == falsy
    assert list(backend.keys("value")) == ["a"]


def test_each_key_has_its_own_state(backend: KeyedStateBackend) -> None:
    states: list[Any] = [backend.state(d) for d in (VALUE, LIST, MAP, SUM, AVERAGE)]
    value, elements, entries, total, average = states
    for key in range(50):
        backend.key = key
        value.update(key * 2)
        elements.add(key)
        entries.put("k", key)
        total.add(key)
        average.add(key)

    for key in range(50):
        backend.key = key
        found = (value.value(), list(elements.get()), entries.get("k"), total.get(), average.get())
        assert found == (key * 2, [key], key, key, float(key))


def test_a_list_keeps_the_order_of_what_is_added(backend: KeyedStateBackend) -> None:
    state: Any = backend.state(LIST)
    backend.key = 1

    assert list(state.get()) == []
    state.add(3)
    state.add_all([1, 2])
    state.add(3)
    assert list(state.get()) == [3, 1, 2, 3]
    assert list(state) == [3, 1, 2, 3]
    state.update(x for x in "ab")
    assert list(state.get()) == ["a", "b"]
    state.update([])
    assert list(state.get()) == []
    assert list(backend.keys("list")) == []


def test_a_list_refuses_none_and_stays_as_it_was(backend: KeyedStateBackend) -> None:
    state: Any = backend.state(LIST)
    backend.key = 1
    state.add(1)

    with pytest.raises(TypeError, match="None"):
        state.add(None)
    with pytest.raises(TypeError, match="None"):
        state.add_all([1, None])
    with pytest.raises(TypeError, match="None"):
        state.update([None])

    assert list(state.get()) == [1]


def test_what_a_list_gave_is_not_the_list_itself(backend: KeyedStateBackend) -> None:
    state: Any = backend.state(LIST)
    backend.key = 1
    given = [1, 2]
    state.update(given)

    given.append(3)
    for element in state.get():
        state.add(element + 10)

    assert list(state.get()) == [1, 2, 11, 12]


def test_a_map_is_used_like_a_dict(backend: KeyedStateBackend) -> None:
    state: Any = backend.state(MAP)
    backend.key = "a"

    assert state.is_empty()
    state.put("x", 1)
    state["y"] = None
    state.put_all({"z": 3, "x": 4})
    assert (state.get("x"), state["y"], state["gone"]) == (4, None, None)
    assert ("y" in state, "gone" in state, state.contains("z")) == (True, False, True)
    assert dict(state.items()) == {"x": 4, "y": None, "z": 3}
    assert sorted(state) == sorted(state.keys()) == ["x", "y", "z"]
    assert sorted(state.values(), key=str) == [3, 4, None]
    assert not state.is_empty()
    del state["x"]
    state.remove("y")
    state.remove("never there")
    assert dict(state.items()) == {"z": 3}
    state.remove("z")
    assert state.is_empty()
    assert list(backend.keys("map")) == []


def test_a_map_can_be_changed_while_one_goes_through_it(backend: KeyedStateBackend) -> None:
    state: Any = backend.state(MAP)
    backend.key = "a"
    state.put_all({n: n for n in range(100)})

    visited = []
    for key, value in state.items():
        visited.append((key, value))
        state.remove(key)
    assert sorted(visited) == [(n, n) for n in range(100)]
    assert state.is_empty()

    state.put_all({n: n for n in range(10)})
    for key in state.keys():  # noqa: SIM118  (the method is what is tested)
        state.put(key, -key)
    assert dict(state.items()) == {n: -n for n in range(10)}


def test_keys_of_a_map_that_are_equal_are_one_key(backend: KeyedStateBackend) -> None:
    state: Any = backend.state(MAP)
    backend.key = "a"

    state.put(1, "int")
    state.put(True, "bool")
    state.put(1.0, "float")

    assert [value for _, value in state.items()] == ["float"]
    assert state.contains(Decimal(1))
    state.remove(Fraction(1))
    assert state.is_empty()


def test_reducing_joins_what_is_added(backend: KeyedStateBackend) -> None:
    state: Any = backend.state(SUM)
    backend.key = 1

    assert state.get() is None
    state.add(3)
    assert state.get() == 3
    state.add(4)
    assert state.get() == 7
    state.clear()
    assert state.get() is None


def test_aggregating_keeps_an_accumulator_and_gives_its_result(backend: KeyedStateBackend) -> None:
    state: Any = backend.state(AVERAGE)
    backend.key = 1

    assert state.get() is None
    state.add(3)
    state.add(4)
    assert state.get() == 3.5
    state.clear()
    assert state.get() is None


@pytest.mark.parametrize("descriptor", [VALUE, LIST, MAP, SUM, AVERAGE], ids=lambda d: d.name)
def test_without_a_key_every_use_is_refused(
    backend: KeyedStateBackend, descriptor: StateDescriptor
) -> None:
    state: Any = backend.state(descriptor)
    backend.key = NO_KEY
    uses: dict[str, Callable[[], list[Callable[[], Any]]]] = {
        "value": lambda: [state.value, lambda: state.update(1), lambda: state.update(None)],
        "list": lambda: [
            state.get,
            lambda: state.add(1),
            lambda: state.add_all([1]),
            lambda: state.update([1]),
        ],
        "map": lambda: [
            lambda: state.get(1),
            lambda: state.put(1, 2),
            lambda: state.put_all({1: 2}),
            lambda: state.remove(1),
            lambda: state.contains(1),
            lambda: list(state.items()),
            state.is_empty,
        ],
        "sum": lambda: [state.get, lambda: state.add(1)],
        "average": lambda: [state.get, lambda: state.add(1)],
    }

    for use in [*uses[descriptor.name](), state.clear]:
        with pytest.raises(NoCurrentKey) as refused:
            use()
        assert (refused.value.operator, refused.value.state) == ("counter", descriptor.name)


@pytest.mark.parametrize("descriptor", [VALUE, LIST, MAP, SUM, AVERAGE], ids=lambda d: d.name)
def test_with_namespaces_a_key_has_a_state_in_each(
    backend: KeyedStateBackend, descriptor: StateDescriptor
) -> None:
    state: Any = backend.state(descriptor, namespaced=True)

    def put(number: int) -> None:
        if descriptor.name == "map":
            state.put("k", number)
        else:
            (state.update if descriptor.name == "value" else state.add)(number)

    for key in "ab":
        for namespace in [(0, 10), (10, 20)]:
            backend.key, backend.namespace = key, namespace
            put(ord(key) + namespace[0])

    backend.key, backend.namespace = "a", (10, 20)
    assert seen(state) in (107, [107], {"k": 107}, 107.0)
    state.clear()
    assert sorted(backend.keys(descriptor.name)) == [
        ("a", (0, 10)),
        ("b", (0, 10)),
        ("b", (10, 20)),
    ]
    assert not seen(state)


@pytest.mark.parametrize(
    "key",
    [
        None,
        0,
        -1,
        1 << 80,
        2.5,
        float("inf"),
        "",
        "käse \ud800",
        b"\x00\xff",
        (1, ("a", None)),
        Point(1, 2),
        Color.RED,
        Account("b", 1),
        Decimal("0.1"),
        Fraction(1, 3),
        dt.date(2024, 2, 29),
        dt.datetime(2024, 2, 29, 12, 30, 1, 5),  # noqa: DTZ001
        dt.datetime(2024, 2, 29, 12, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        dt.timedelta(days=-1, microseconds=3),
        uuid.UUID(int=7),
        pytest.param(frozenset({1, "a"}), id="a set"),  # its repr depends on the hash seed
    ],
    ids=repr,
)
def test_any_kind_of_key_finds_its_state_also_after_a_restore(shop: Workshop, key: Any) -> None:
    backend = shop.backend()
    state: Any = backend.state(VALUE)
    entries: Any = backend.state(MAP)
    for other in ("other", 7, None):
        backend.key = other
        state.update("other")
    backend.key = key
    state.update("mine")
    entries.put(key, key)

    again = shop.restored([shop.snapshot(backend)])

    state, entries = again.state(VALUE), again.state(MAP)
    again.key = key
    assert state.value() == "mine"
    assert dict(entries.items()) == {key: key}
    assert list(again.keys("map")) == [key]


def test_keys_that_are_equal_are_one_key(shop: Workshop) -> None:
    backend = shop.backend()
    state: Any = backend.state(VALUE)
    backend.key = 1
    state.update("first")

    equal = [True, 1.0, Decimal("1.0"), Fraction(1), Level.ONE, 1 + 0 * 1j.real]
    for key in equal:
        backend.key = key
        assert state.value() is not None
        state.update(repr(key))

    again = shop.restored([shop.snapshot(backend)])
    state = again.state(VALUE)
    for key in equal:
        again.key = key
        assert state.value() == repr(equal[-1])
    again.key = (Point(1, 2), "x")
    state.update("point")
    again.key = ((True, 2.0), "x")
    assert state.value() == "point"
    assert len(list(again.keys("value"))) == 2


def test_the_same_name_is_the_same_state_object(backend: KeyedStateBackend) -> None:
    descriptor = ValueStateDescriptor("a", Types.LONG())

    assert backend.state(descriptor) is backend.state(ValueStateDescriptor("a", Types.LONG()))


@pytest.mark.parametrize(
    "other",
    [ListStateDescriptor("value"), ValueStateDescriptor("value", Types.STRING())],
    ids=["kind", "type"],
)
def test_the_same_name_as_something_else_is_refused(
    backend: KeyedStateBackend, other: StateDescriptor
) -> None:
    backend.state(ValueStateDescriptor("value", Types.LONG()))

    with pytest.raises(StateRefused, match=r"'counter'.*'value'"):
        backend.state(other)


def test_there_is_a_count_of_entries(backend: KeyedStateBackend) -> None:
    state: Any = backend.state(VALUE)
    for key in range(100):
        backend.key = key
        state.update(key)

    assert 50 <= backend.entry_count() <= 200


def test_a_state_without_entries_has_no_keys(backend: KeyedStateBackend) -> None:
    backend.state(VALUE)

    assert list(backend.keys("value")) == []
    assert list(backend.keys("nobody asked for this")) == []
