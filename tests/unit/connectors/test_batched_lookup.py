"""Lookups in batches: what is asked for, how often, and who gets the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from riverrun.api.runtime_context import DetachedRuntimeContext
from riverrun.connectors.base.batched_lookup import BatchedLookup
from riverrun.connectors.base.lookup_cache import LookupCache
from riverrun.core.clock import ManualClock


class Table:
    """Knows all even numbers; has them doubled."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def fetch(self, keys: Sequence[int]) -> list[list[Any]]:
        self.asked.append(list(keys))
        if 13 in keys:
            raise ValueError("unlucky")
        return [[2 * key] if key % 2 == 0 else [] for key in keys]


def run(table: Table, body: Callable[[BatchedLookup[int]], Any]) -> Any:
    context = DetachedRuntimeContext("lookup")
    lookup = BatchedLookup(
        table.fetch,
        LookupCache(100, None, keep_missing=True, clock=ManualClock()),
        name="lookup",
        threads=1,
        most=3,
        metrics=context.get_metrics_group(),
    )
    try:
        return asyncio.run(body(lookup))
    finally:
        lookup.close()


def test_keys_of_one_moment_are_asked_for_together_and_each_once() -> None:
    async def body(lookup: BatchedLookup[int]) -> Any:
        return await asyncio.gather(*(lookup.rows(key) for key in (1, 2, 2, 3, 4)))

    table = Table()
    assert run(table, body) == [[], [4], [4], [], [8]]
    assert table.asked == [[1, 2, 3], [4]]


def test_what_was_found_is_not_asked_for_again() -> None:
    async def body(lookup: BatchedLookup[int]) -> Any:
        return [await lookup.rows(key) for key in (2, 1, 2, 1)]

    table = Table()
    assert run(table, body) == [[4], [], [4], []]
    assert table.asked == [[2], [1]]


def test_a_failure_is_that_of_its_keys_and_is_not_remembered() -> None:
    async def body(lookup: BatchedLookup[int]) -> Any:
        with pytest.raises(ValueError, match="unlucky"):
            await lookup.rows(13)
        with pytest.raises(ValueError, match="unlucky"):
            await lookup.rows(13)
        return await lookup.rows(2)

    table = Table()
    assert run(table, body) == [4]
    assert table.asked == [[13], [13], [2]]


def test_whoever_gives_up_takes_the_answer_from_nobody() -> None:
    async def body(lookup: BatchedLookup[int]) -> Any:
        first, second = (asyncio.ensure_future(lookup.rows(2)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        return await second

    assert run(Table(), body) == [4]
