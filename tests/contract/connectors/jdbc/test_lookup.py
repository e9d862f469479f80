"""Lookups: one query for all keys that wait, answers remembered, also that there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from riverrun.api.runtime_context import DetachedRuntimeContext
from riverrun.connectors.jdbc.lookup import JdbcLookupFunction, LookupOptions
from riverrun.core.errors import ProgramError
from riverrun.core.time import Time
from riverrun.datastream.async_data_stream import AsyncDataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.row import Row
from tests.contract.connectors.jdbc.databases import TestDatabase

ITEM = ["id", "item"]


@pytest.fixture
def stocked(orders: TestDatabase) -> TestDatabase:
    orders.insert("orders", [(number, f"item {number}", number / 2) for number in range(20)])
    return orders


MakeLookup = Callable[..., JdbcLookupFunction]


@pytest.fixture
def lookup(stocked: TestDatabase) -> Iterator[MakeLookup]:
    made: list[JdbcLookupFunction] = []

    def make(
        keys: tuple[str, ...] = ("id",), table: str = "orders", **options: Any
    ) -> JdbcLookupFunction:
        function = JdbcLookupFunction(
            stocked.options, table, ITEM, keys, _itself, options=LookupOptions(**options)
        )
        # Closed as a task does it: also what could not be opened.
        made.append(function)
        function.open(DetachedRuntimeContext("lookup"))
        return function

    yield make
    for each in made:
        each.close()


def _itself(value: Any) -> Any:
    return value


def ask(function: JdbcLookupFunction, *values: Any) -> list[Any]:
    """All at once, as they come in a run."""

    async def together() -> list[Any]:
        return list(await asyncio.gather(*map(function.async_invoke, values)))

    return [each for made in asyncio.run(together()) for each in made]


def counted(function: JdbcLookupFunction) -> tuple[int, int]:
    assert function._lookup is not None
    return function._lookup._hits.get_count(), function._lookup._misses.get_count()


def test_each_record_comes_out_with_its_rows(lookup: MakeLookup) -> None:
    function = lookup()

    assert ask(function, 3, 99, 3) == [
        (3, Row(id=3, item="item 3")),
        (99, None),
        (3, Row(id=3, item="item 3")),
    ]


def test_keys_that_wait_together_are_asked_for_in_one_query(
    lookup: MakeLookup, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = lookup(batch_size=10)
    asked: list[int] = []
    fetch = function._fetch

    def counting(keys: Any) -> Any:
        asked.append(len(keys))
        return fetch(keys)

    monkeypatch.setattr(function._lookup, "_fetch", counting)
    found = ask(function, *range(20), *range(5))

    assert sorted(asked) == [10, 10]
    assert [row.id for _, row in found] == [*range(20), *range(5)]


def test_answers_are_remembered_and_so_is_that_there_is_none(
    lookup: MakeLookup, stocked: TestDatabase
) -> None:
    function = lookup()
    before = ask(function, 1, 99)
    stocked.execute("DELETE FROM orders")

    assert ask(function, 1, 99) == before
    assert counted(function) == (2, 2)


def test_missing_rows_are_asked_for_again_if_it_is_said_so(
    lookup: MakeLookup, stocked: TestDatabase
) -> None:
    function = lookup(cache_missing=False)
    assert ask(function, 99) == [(99, None)]
    stocked.execute("INSERT INTO orders VALUES (99, 'new', 0)")

    assert ask(function, 99) == [(99, Row(id=99, item="new"))]


def test_what_is_too_old_is_asked_for_again(lookup: MakeLookup, stocked: TestDatabase) -> None:
    function = lookup(cache_ttl_ms=0)
    ask(function, 1)
    stocked.execute("UPDATE orders SET item = 'other'")

    assert ask(function, 1) == [(1, Row(id=1, item="other"))]


def test_keys_may_have_several_columns_and_several_rows(
    lookup: MakeLookup, stocked: TestDatabase
) -> None:
    stocked.execute("INSERT INTO orders VALUES (50, 'item 7', 3.5)")
    function = lookup(("item", "price"))

    found = ask(function, ("item 7", 3.5), ("item 7", 4.0), ("item 8", None))

    assert sorted((row.id, value) for value, row in found if row) == [
        (7, ("item 7", 3.5)),
        (50, ("item 7", 3.5)),
    ]
    assert found[-2:] == [(("item 7", 4.0), None), (("item 8", None), None)]


def test_a_lost_connection_is_made_again(
    postgresql: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgresql.execute("CREATE TABLE orders (id INT, item TEXT)")
    postgresql.execute("INSERT INTO orders VALUES (1, 'a')")
    options = LookupOptions(cache_max_rows=0, connections=1)
    function = JdbcLookupFunction(
        postgresql.options, "orders", ITEM, ["id"], _itself, options=options
    )
    function.open(DetachedRuntimeContext("lookup"))
    assert ask(function, 1) == [(1, Row(id=1, item="a"))]

    postgresql.kill()
    postgresql.start()

    assert ask(function, 1) == [(1, Row(id=1, item="a"))]
    function.close()


def test_missing_columns_and_keys_that_do_not_fit_are_refused(lookup: MakeLookup) -> None:
    with pytest.raises(ProgramError, match="no such table"):
        lookup(table="nothing")
    with pytest.raises(ProgramError, match=r"no columns \['nope'\]"):
        lookup(("nope",))
    with pytest.raises(ProgramError, match=r"expected values for \['id'\]"):
        ask(lookup(), (1, 2))


def test_a_stream_is_enriched(stocked: TestDatabase) -> None:
    function = JdbcLookupFunction(
        stocked.options, "orders", ["item"], ["id"], lambda value: value % 25
    )
    with StreamExecutionEnvironment.get_execution_environment(
        {"riverrun.master": "in-process"}
    ) as env:
        numbers = env.set_parallelism(1).from_sequence(0, 99)
        enriched = AsyncDataStream.unordered_wait(numbers, function, Time.seconds(30), 50)
        with enriched.execute_and_collect() as results:
            found = dict(results)

    assert {number: row and row.item for number, row in found.items()} == {
        number: f"item {number % 25}" if number % 25 < 20 else None for number in range(100)
    }
