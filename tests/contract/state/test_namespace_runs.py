"""Work on many keys of a namespace is the same as a loop over key, namespace, value and update."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

import pytest

from riverrun.api.state import ValueStateDescriptor
from riverrun.state.folding import Aggregating, Folding, Reducing
from riverrun.state.namespace_runs import NamespaceRuns, OneByOne
from tests.contract.state.conftest import Workshop, read_all

DESCRIPTOR = ValueStateDescriptor("sums")


def collect(value: int, accumulator: list[int]) -> list[int] | None:
    """Changes the accumulator in place; forgets everything now and then."""
    accumulator.append(value)
    return None if value == 8 else accumulator


def joined(left: list[int], right: list[int]) -> list[int]:
    """Changes both."""
    left += right
    right.clear()
    return left


COLLECTING = Aggregating(list, collect)
ADDING = Reducing(lambda before, value: None if value == 8 else before + value)


class Model:
    """The same in a dict."""

    def __init__(self) -> None:
        self.held: dict[Any, Any] = {}

    def fold(
        self, namespace: int, keys: list[int], values: list[int], folding: Folding
    ) -> set[int]:
        fresh = set()
        for key, value in zip(keys, values, strict=True):
            before = self.held.pop((key, namespace), None)
            if before is None:
                fresh.add(key)
            if isinstance(folding, Reducing):
                after = value if before is None else folding.reduce(before, value)
            else:
                after = folding.add(value, [] if before is None else before)
            if after is not None:
                self.held[key, namespace] = after
        return fresh


@pytest.mark.parametrize("folding", [COLLECTING, ADDING])
@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("incremental", [False, True])
def test_any_work_on_runs_is_in_the_state_and_in_the_next_snapshot(
    shop: Workshop, folding: Folding, one_by_one: bool, incremental: bool
) -> None:
    rng = random.Random(7)
    model = Model()
    backend = shop.backend(incremental=incremental)
    for checkpoint in range(1, 5):
        state: Any = backend.state(DESCRIPTOR, namespaced=True)
        runs: NamespaceRuns = OneByOne(backend, state) if one_by_one else backend.runs(state)
        for _ in range(12):
            some = rng.sample(range(12), 6)
            namespace = rng.randrange(3)
            many = [rng.randrange(12) for _ in range(20)]
            pieces = [(each, many, [rng.randrange(1, 9) for _ in many]) for each in (namespace, 3)]
            expected = [model.fold(*piece, folding) for piece in pieces]
            found = runs.fold_in(pieces, folding)
            assert [set(fresh) for fresh in found] == expected

            held = [model.held.get((key, namespace)) for key in some]
            assert runs.values_in(namespace, some) == held
            if isinstance(folding, Aggregating):
                merged: dict[int, Any] = {}
                for each in (3, namespace):
                    for key in some:
                        if (key, each) in model.held:
                            copied = deepcopy(model.held[key, each])
                            merged[key] = merged.get(key, []) + copied
                assert runs.merge_in([3, namespace], some, joined) == merged
            assert runs.take_in(namespace, some[:3]) == held[:3]
            runs.drop_in(3, some[3:5])
            gone = [(key, namespace) for key in some[:3]] + [(key, 3) for key in some[3:5]]
            model.held = {at: value for at, value in model.held.items() if at not in gone}
        assert read_all(backend, DESCRIPTOR, namespaced=True) == model.held
        snapshot = shop.snapshot(backend, checkpoint)
        if checkpoint % 2 == 0:
            backend = shop.restored([snapshot], incremental=incremental)


def test_what_a_snapshot_holds_is_not_changed_by_runs_after_it(shop: Workshop) -> None:
    backend = shop.backend()
    state: Any = backend.state(DESCRIPTOR, namespaced=True)
    runs = backend.runs(state)
    runs.fold_in([(0, ["a", "b", "c"], [1, 2, 3])], COLLECTING)
    frozen = backend.freeze(1)
    runs.fold_in([(0, ["a", "d"], [4, 5])], COLLECTING)
    (taken,) = runs.take_in(0, ["b"])
    taken.append(6)
    runs.drop_in(0, ["c"])
    assert read_all(backend, DESCRIPTOR, namespaced=True) == {("a", 0): [1, 4], ("d", 0): [5]}
    restored = shop.restored([frozen.write(shop.files)])
    expected = {("a", 0): [1], ("b", 0): [2], ("c", 0): [3]}
    assert read_all(restored, DESCRIPTOR, namespaced=True) == expected
