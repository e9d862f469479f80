"""Runs in a namespace while the cache has no room for their keys."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.state import ValueStateDescriptor
from riverrun.state.folding import Aggregating, Folding, Reducing

pytest.importorskip("rocksdict")

from riverrun.state.rocksdb.cache import CacheBudget
from tests.contract.state.conftest import Workshop


@pytest.mark.parametrize("folding", [Reducing(lambda a, b: a + b), Aggregating(int, int.__add__)])
def test_sums_are_right_when_entries_leave_the_cache_in_the_middle_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folding: Folding
) -> None:
    made = CacheBudget.__init__
    monkeypatch.setattr(CacheBudget, "__init__", lambda budget, _limit: made(budget, 3_000))
    shop = Workshop(tmp_path, "rocksdb")
    backend = shop.backend()
    state: Any = backend.state(ValueStateDescriptor("sums"), namespaced=True)
    runs = backend.runs(state)
    rng = random.Random(3)
    expected: dict[int, int] = {}
    for _ in range(20):
        keys = [rng.randrange(200) for _ in range(100)]
        runs.fold_in([(7, keys, [1] * len(keys))], folding)
        for key in keys:
            expected[key] = expected.get(key, 0) + 1
    assert len(state.cache) < 100
    assert runs.values_in(7, list(expected)) == list(expected.values())
    shop.close()
