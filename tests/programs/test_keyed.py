"""Keyed streams: aggregations, keyed process functions, BATCH mode, keys of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from riverrun.api.functions import KeyedProcessFunction, RuntimeContext
from riverrun.core.options import RuntimeExecutionMode
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.programs.conftest import MakeEnv

ORDERS = [("a", 3, "x"), ("b", 5, "y"), ("a", 1, "z"), ("a", 7, "w"), ("b", 2, "v")]


def results(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as rows:
        return list(rows)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("sum", [("a", 3, "x"), ("a", 4, "x"), ("a", 11, "x")]),
        ("min", [("a", 3, "x"), ("a", 1, "x"), ("a", 1, "x")]),
        ("max", [("a", 3, "x"), ("a", 3, "x"), ("a", 7, "x")]),
        ("min_by", [("a", 3, "x"), ("a", 1, "z"), ("a", 1, "z")]),
        ("max_by", [("a", 3, "x"), ("a", 3, "x"), ("a", 7, "w")]),
    ],
)
def test_rolling_aggregations(make_env: MakeEnv, method: str, expected: list[Any]) -> None:
    env = make_env(parallelism=2)

    keyed = env.from_collection(ORDERS).key_by(lambda v: v[0])
    stream = getattr(keyed, method)(1)

    assert [v for v in results(stream) if v[0] == "a"] == expected


def test_batch_mode_gives_each_keys_last_value_only(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)

    stream = env.from_collection(ORDERS).key_by(lambda v: v[0]).sum(1)

    assert sorted(results(stream)) == [("a", 11, "x"), ("b", 7, "y")]


class Labelled(KeyedProcessFunction):
    """Pairs each value with the current key and where it runs."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._subtask = runtime_context.get_index_of_this_subtask()
        self._of = runtime_context.get_number_of_parallel_subtasks()

    def process_element(
        self, value: tuple[str, int, str], ctx: KeyedProcessFunction.Context
    ) -> Iterator[Any]:
        yield ctx.get_current_key(), value[1], self._subtask, self._of


def test_a_keyed_process_function_knows_its_key_and_each_key_stays_in_one_subtask(
    make_env: MakeEnv,
) -> None:
    env = make_env(parallelism=2)
    letters = [(chr(97 + i % 20), i, "") for i in range(200)]

    stream = env.from_collection(letters).key_by(lambda v: v[0]).process(Labelled())

    rows = results(stream)
    assert sorted((k, v) for k, v, _, _ in rows) == sorted((k, v) for k, v, _ in letters)
    homes = {k: {s for key, _, s, _ in rows if key == k} for k in {r[0] for r in rows}}
    assert all(len(subtasks) == 1 for subtasks in homes.values())
    assert {s for subtasks in homes.values() for s in subtasks} == {0, 1}


def test_collecting_a_keyed_stream_gives_rows_of_key_and_value(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)

    rows = results(env.from_collection([1, 2]).key_by(lambda v: v % 2))

    assert sorted(rows, key=lambda r: r[0]) == [Row(f0=0, f1=2), Row(f0=1, f1=1)]


@dataclass(frozen=True)
class Order:
    """A typed record."""

    customer: str
    cents: int
    note: str | None = None


class Total(NamedTuple):
    """A typed result."""

    customer: str
    cents: int


def to_total(order: Order) -> Total:
    return Total(order.customer, order.cents)


def to_order(pair: tuple[str, int]) -> Order:
    return Order(*pair)


def test_annotated_functions_give_typed_streams_that_cross_an_exchange(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)

    orders = env.from_collection([("a", 1), ("b", 2), ("a", 3)]).map(to_order)
    totals = orders.rebalance().map(to_total)
    stream = totals.key_by(lambda t: t.customer).reduce(lambda a, b: Total(a[0], a[1] + b[1]))

    assert orders.get_type() != Types.PICKLED_BYTE_ARRAY()
    found = results(stream)
    assert len(found) == 3
    assert all(type(total) is Total for total in found)
    assert {Total("a", 4), Total("b", 2)} <= set(found)


def test_declared_rows_cross_an_exchange_with_their_names(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    row_type = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])

    stream = (
        env.from_collection([("a", 1), (None, 2)], type_info=row_type)
        .rebalance()
        .map(lambda row: (row.name, row["n"] + 1))
    )

    assert sorted(results(stream), key=lambda v: v[1]) == [("a", 2), (None, 3)]


@pytest.mark.parametrize(
    "key",
    [
        lambda i: i % 3,
        lambda i: f"customer-{i % 3}",
        lambda i: (i % 3, "x"),
        lambda i: None,
        lambda i: float(i % 3),
        lambda i: Row(i % 3, "r"),
    ],
    ids=["int", "str", "tuple", "None", "float", "Row"],
)
def test_keys_of_every_kind_group_their_records(make_env: MakeEnv, key: Any) -> None:
    env = make_env(parallelism=2)

    stream = env.from_collection(list(range(30))).key_by(key).reduce(lambda a, b: a + b)

    groups: dict[Any, int] = {}
    for i in range(30):
        groups[key(i)] = groups.get(key(i), 0) + i
    assert set(groups.values()) <= set(results(stream))
