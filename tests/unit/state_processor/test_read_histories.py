"""Whatever happened between incremental checkpoints, each of them is read as it was, and compared rightly."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.state import MapStateDescriptor, ValueStateDescriptor
from riverrun.serde.types import Types
from riverrun.state_processor.comparison import Change, Verb
from riverrun.state_processor.difference import differences
from riverrun.state_processor.savepoint import Savepoint
from tests.unit.state.rocksdb.conftest import holding
from tests.unit.state_processor.made_checkpoints import Operator

Model = dict[tuple[Any, ...], Any]

KEYS = st.one_of(st.integers(0, 9), st.sampled_from(["a", "b", ("x", 1), 2.5, None]))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.integers(0, 3)),
        st.tuples(st.just("drop"), KEYS, st.just(0)),
        st.tuples(st.just("put entry"), KEYS, st.integers(0, 3)),
        st.tuples(st.just("drop map"), KEYS, st.just(0)),
        st.tuples(st.sampled_from(["checkpoint", "savepoint"]), st.none(), st.just(0)),
    ),
    max_size=30,
)
VALUES = ValueStateDescriptor("values")
MAPS = MapStateDescriptor("maps", Types.LONG(), Types.LONG())


@contextmanager
def operator(backend: str, **more: Any) -> Iterator[Operator]:
    with tempfile.TemporaryDirectory() as folder:
        made = Operator(Path(folder), backend, **more)
        try:
            yield made
        finally:
            made.close()


def play(
    operator: Operator, steps: list[tuple[str, Any, int]]
) -> Iterator[tuple[Savepoint, Model]]:
    """Each checkpoint with what it must hold: values by (key,), entries of maps by (key, map key)."""
    model: Model = {}
    for step, key, number in [*steps, ("checkpoint", None, 0), ("savepoint", None, 0)]:
        if step in ("checkpoint", "savepoint"):
            yield getattr(operator, step)(), dict(model)
            continue
        backend: Any = operator.at(key)
        match step:
            case "put":
                backend.state(VALUES).update((key, number))
                model[key,] = (key, number)
            case "drop":
                backend.state(VALUES).clear()
                model.pop((key,), None)
            case "put entry":
                backend.state(MAPS).put(number, number * 10)
                model[key, number] = number * 10
            case "drop map":
                backend.state(MAPS).clear()
                model = {at: value for at, value in model.items() if at[0] != key or len(at) == 1}


def content(savepoint: Savepoint) -> Model:
    names = savepoint.state_names("customers")
    found: Model = {}
    if "values" in names:
        for row in savepoint.state("customers", "values").rows():
            assert (row["key"],) not in found
            found[row["key"],] = row["value"]
    if "maps" in names:
        for row in savepoint.state("customers", "maps").rows():
            assert (row["key"], row["map_key"]) not in found
            found[row["key"], row["map_key"]] = row["map_value"]
    return found


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@settings(max_examples=12, deadline=None)
@given(steps=STEPS, holds=st.booleans())
def test_each_checkpoint_is_read_as_it_was(
    backend: str, steps: list[tuple[str, Any, int]], holds: bool
) -> None:
    with holding(holds=holds), operator(backend) as made:
        for savepoint, model in play(made, steps):
            assert content(savepoint) == model
            if "values" in savepoint.state_names("customers"):
                for key in [0, 1, ("x", 1)]:
                    rows = savepoint.state("customers", "values").where_key(key).rows()
                    assert [row["value"] for row in rows] == [
                        value for at, value in model.items() if at == (key,)
                    ]


@settings(max_examples=10, deadline=None)
@given(first=STEPS, second=STEPS, groups=st.sampled_from([16, 8, 12, 5]))
def test_differences_are_those_of_the_contents(
    first: list[tuple[str, Any, int]], second: list[tuple[str, Any, int]], groups: int
) -> None:
    with operator("rocksdb") as one, operator("hashmap", max_parallelism=groups) as other:
        *_, (before, old) = play(one, first)
        *_, (after, new) = play(other, second)
        told: list[Change] = []
        found = list(differences(before, after, tell=told.append))

        verbs = {
            Verb.ADDED: {at for at in new if at not in old},
            Verb.REMOVED: {at for at in old if at not in new},
            Verb.CHANGED: {at for at in new if at in old and old[at] != new[at]},
        }
        for verb, expected in verbs.items():
            assert {tuple(each.address.values()) for each in told if each.verb is verb} == expected
            assert sum(getattr(each, verb.value) for each in found) == len(expected)
        assert sum(each.same for each in found) == sum(old.get(at) == new[at] for at in new)
        assert any(each.is_different for each in found) == (
            old != new or before.state_names("customers") != after.state_names("customers")
        )
