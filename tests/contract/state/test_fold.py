"""Folding a run into value state is the same as a loop over value and update."""

from __future__ import annotations

import random
from operator import add
from typing import Any

import pytest

from riverrun.api.state import ValueStateDescriptor
from tests.contract.state.conftest import Workshop, read_all

DESCRIPTOR = ValueStateDescriptor("total")


@pytest.mark.parametrize("incremental", [False, True])
def test_a_folded_run_is_in_the_state_and_in_the_next_snapshot(
    shop: Workshop, incremental: bool
) -> None:
    backend = shop.backend(incremental=incremental)
    state: Any = backend.state(DESCRIPTOR)
    rng = random.Random(1)
    totals: dict[int, int] = {}
    snapshot = None
    for checkpoint in range(1, 4):
        keys = [rng.randrange(20) for _ in range(100)]
        values = [rng.randrange(1, 9) for _ in range(100)]
        expected = []
        for key, value in zip(keys, values, strict=True):
            totals[key] = totals.get(key, 0) + value
            expected.append(totals[key])

        assert backend.fold(state, keys, values, add) == expected
        snapshot = shop.snapshot(backend, checkpoint)

    assert snapshot is not None
    assert read_all(shop.restored([snapshot], incremental=incremental), DESCRIPTOR) == totals


def test_a_fold_to_none_clears(shop: Workshop) -> None:
    backend = shop.backend()
    state: Any = backend.state(DESCRIPTOR)

    made = backend.fold(state, ["a", "a", "a"], [1, 2, 3], lambda before, value: None)

    assert made == [1, None, 3]
    assert read_all(backend, DESCRIPTOR) == {"a": 3}
