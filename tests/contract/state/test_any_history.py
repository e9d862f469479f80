"""A backend against a dict: any history of uses, snapshots, aborts, restores and rescales."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from riverrun.api.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from riverrun.graph.key_groups import group_range
from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.serde.stable_hash import key_group
from riverrun.serde.types import Types
from riverrun.state.backend import FrozenState, KeyedStateBackend
from riverrun.state.hashmap import backend as hashmap_backend
from tests.contract.state.conftest import BACKENDS, GROUPS, Workshop, seen


class Append:
    """Collects what is added."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[int]) -> list[int]:
        return list(accumulator)

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


DESCRIPTORS: dict[str, StateDescriptor] = {
    "value": ValueStateDescriptor("value"),
    "typed": ValueStateDescriptor("typed", Types.TUPLE([Types.LONG(), Types.STRING()])),
    "list": ListStateDescriptor("list", Types.LONG()),
    "map": MapStateDescriptor("map", Types.STRING(), Types.LONG()),
    "reducing": ReducingStateDescriptor("reducing", lambda a, b: a + b, Types.LONG()),
    "aggregating": AggregatingStateDescriptor("aggregating", Append()),
    "spaced": MapStateDescriptor("spaced"),
}
NAMESPACED = {"spaced"}
KEYS = st.sampled_from([0, 1, 2, 3, 1.0, True, "a", "b", None, (1, "x"), 7, 8, 9])
NAMESPACES = st.sampled_from([(0, 10), (10, 20)])
NUMBERS = st.integers(-(2**40), 2**40)
FIELDS = st.sampled_from(["x", "y", "z"])
OUTCOMES = st.sampled_from(["completed", "aborted", "discarded"])

Model = dict[str, dict[Any, Any]]
Use = Callable[[Any], None]


class History(RuleBasedStateMachine):
    """Every subtask's backend together holds what the dict holds."""

    kind = ""

    def __init__(self) -> None:
        super().__init__()
        self._folder = TemporaryDirectory()
        self._shop = Workshop(Path(self._folder.name), self.kind)
        self._model: Model = {name: {} for name in DESCRIPTORS}
        self._number = 0
        self._complete: tuple[list[KeyedSnapshot], Model] | None = None
        self._pending: list[tuple[int, list[FrozenState], Model]] = []
        self._backends: list[KeyedStateBackend] = []
        self._states: list[dict[str, Any]] = []
        self._parallelism = 1
        self._incremental = False

    @initialize(parallelism=st.integers(1, 3), incremental=st.sampled_from([True, True, False]))
    def begin(self, parallelism: int, incremental: bool) -> None:
        self._incremental = incremental
        self._open(parallelism)
        # So much that a few changes are worth a delta.
        for key in range(1000, 1060):
            self._at(key)["typed"].update((key, "unchanged" * 50))
            self._model["typed"][key] = (key, "unchanged" * 50)

    @rule(key=KEYS, number=NUMBERS, text=st.text(max_size=3))
    def set_values(self, key: Any, number: int, text: str) -> None:
        self._at(key)["value"].update([number, {"text": text}])
        self._at(key)["typed"].update((number, text))
        self._model["value"][key] = [number, {"text": text}]
        self._model["typed"][key] = (number, text)

    @rule(key=KEYS, number=NUMBERS)
    def change_a_value_in_place(self, key: Any, number: int) -> None:
        state = self._at(key)["value"]
        found = state.value()
        if found is not None:
            found[1]["more"] = number
            state.update(found)
            self._model["value"][key][1]["more"] = number

    @rule(key=KEYS, numbers=st.lists(NUMBERS, min_size=1, max_size=3), replace=st.booleans())
    def change_a_list(self, key: Any, numbers: list[int], replace: bool) -> None:
        state = self._at(key)["list"]
        (state.update if replace else state.add_all)(numbers)
        before = [] if replace else self._model["list"].get(key, [])
        self._model["list"][key] = before + numbers

    @rule(key=KEYS, field=FIELDS, number=NUMBERS, namespace=NAMESPACES)
    def put_into_maps(self, key: Any, field: str, number: int, namespace: Any) -> None:
        self._at(key)["map"][field] = number
        self._at(key, namespace)["spaced"].put(field, [number])
        self._model["map"].setdefault(key, {})[field] = number
        self._model["spaced"].setdefault((key, namespace), {})[field] = [number]

    @rule(key=KEYS, field=FIELDS, namespace=NAMESPACES)
    def remove_from_maps(self, key: Any, field: str, namespace: Any) -> None:
        del self._at(key)["map"][field]
        self._at(key, namespace)["spaced"].remove(field)
        for name, address in (("map", key), ("spaced", (key, namespace))):
            entries = self._model[name].get(address, {})
            entries.pop(field, None)
            if not entries:
                self._model[name].pop(address, None)

    @rule(key=KEYS, number=NUMBERS)
    def add(self, key: Any, number: int) -> None:
        states = self._at(key)
        states["reducing"].add(number)
        states["aggregating"].add(number)
        self._model["reducing"][key] = self._model["reducing"].get(key, 0) + number
        self._model["aggregating"].setdefault(key, []).append(number)

    @rule(key=KEYS, name=st.sampled_from(sorted(DESCRIPTORS)), namespace=NAMESPACES)
    def clear(self, key: Any, name: str, namespace: Any) -> None:
        self._at(key, namespace)[name].clear()
        self._model[name].pop((key, namespace) if name in NAMESPACED else key, None)

    @rule(first=st.integers(1000, 1060), count=st.integers(0, 50))
    def records_pass(self, first: int, count: int) -> None:
        for key in range(first, min(first + count, 1060)):
            self._at(key)["typed"].update((count, "changed"))
            self._model["typed"][key] = (count, "changed")
        for backend in self._backends:
            backend.records_passed(count)

    @precondition(lambda self: len(self._pending) < 2)
    @rule()
    def freeze(self) -> None:
        self._number += 1
        frozen = [backend.freeze(self._number) for backend in self._backends]
        self._pending.append((self._number, frozen, copy.deepcopy(self._model)))

    @precondition(lambda self: self._pending)
    @rule(outcome=OUTCOMES)
    def end_checkpoint(self, outcome: str) -> None:
        number, frozen, model = self._pending.pop(0)
        snapshots = [] if outcome == "discarded" else [f.write(self._shop.files) for f in frozen]
        for one in frozen:
            one.discard()
        if outcome == "completed":
            self._complete = (snapshots, model)
        for backend in self._backends:
            if outcome == "completed":
                backend.checkpoint_completed(number)
            else:
                backend.checkpoint_aborted(number)
        if self._complete is not None:
            self._shop.files.keep_only(self._complete[0])

    @precondition(lambda self: not self._pending)
    @rule(outcome=OUTCOMES)
    def take_checkpoint(self, outcome: str) -> None:
        self.freeze()
        self.end_checkpoint(outcome)

    @precondition(lambda self: self._complete is not None)
    @rule(parallelism=st.integers(1, 3), owned=st.booleans())
    def fail_and_restore(self, parallelism: int, owned: bool) -> None:
        assert self._complete is not None
        snapshots, model = self._complete
        for _, frozen, _ in self._pending:
            for one in frozen:
                one.discard()
        self._pending = []
        self._model = copy.deepcopy(model)
        self._open(parallelism, snapshots, owned=owned)

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if not self._backends:
            return
        for name, expected in self._model.items():
            found = {}
            for backend, states in zip(self._backends, self._states, strict=True):
                for address in list(backend.keys(name)):
                    spaced = name in NAMESPACED
                    backend.key, backend.namespace = address if spaced else (address, None)
                    assert address not in found
                    found[address] = seen(states[name])
            assert found == expected

    def teardown(self) -> None:
        self._close()
        self._folder.cleanup()

    def _at(self, key: Any, namespace: Any = None) -> dict[str, Any]:
        subtask = key_group(key, GROUPS) * self._parallelism // GROUPS
        backend = self._backends[subtask]
        backend.key, backend.namespace = key, namespace
        return self._states[subtask]

    def _open(
        self, parallelism: int, snapshots: list[KeyedSnapshot] | None = None, *, owned: bool = True
    ) -> None:
        self._close()
        self._parallelism = parallelism
        self._backends = []
        self._states = []
        for subtask in range(parallelism):
            first, last = group_range(subtask, parallelism, GROUPS)
            backend = self._shop.backend(first, last, incremental=self._incremental)
            if snapshots is not None:
                mine = [s for s in snapshots if s.last_group >= first and s.first_group <= last]
                backend.restore(mine, self._shop.files, owned=owned)
            self._backends.append(backend)
            self._states.append(
                {
                    name: backend.state(descriptor, namespaced=name in NAMESPACED)
                    for name, descriptor in DESCRIPTORS.items()
                }
            )

    def _close(self) -> None:
        for backend in self._backends:
            backend.close()


EXAMPLES = {"hashmap": 60, "rocksdb": 12}


@pytest.mark.parametrize("kind", BACKENDS)
def test_a_backend_is_a_dict_that_survives(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashmap_backend, "_MANY_CHANGES", 8)
    machine = type("History", (History,), {"kind": kind})

    run_state_machine_as_test(
        machine,
        settings=settings(
            settings.get_profile(settings.get_current_profile_name()),
            max_examples=EXAMPLES[kind],
            stateful_step_count=40,
        ),
    )
