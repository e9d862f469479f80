"""Timers against a set: any history of setting, removing, taking, snapshots, restores and rescales."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.serde.stable_hash import key_group
from riverrun.state.backend import FrozenState, KeyedStateBackend
from tests.contract.state.conftest import GROUPS, Workshop
from tests.contract.state.test_timers import HEAP, KINDS, LATEST, use_little_room

Timer = tuple[int, Any, Any]

TIMES = st.one_of(
    st.integers(0, 12),
    st.integers(-5, 200_000),
    st.sampled_from([-(1 << 63), (1 << 63) - 1, 1 << 40]),
)
KEYS = st.one_of(st.integers(0, 9), st.sampled_from(["a", "b", None, ("t", 1)]))
NAMESPACES = st.sampled_from([None, None, "w", (0, 5)])


class TimerHistory(RuleBasedStateMachine):
    """One queue of the whole key range, which may be cut in two on the way."""

    kind = "hashmap"
    heap = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.shop = Workshop(Path(self.folder.name), self.kind, options=HEAP if self.heap else {})
        self.parts: list[tuple[range, KeyedStateBackend]] = [
            (range(GROUPS), self.shop.backend(incremental=True))
        ]
        self.timers: set[Timer] = set()
        self.checkpoint = 0
        self.frozen: list[FrozenState] = []
        self.frozen_timers: set[Timer] = set()

    def part_of(self, key: Any) -> KeyedStateBackend:
        group = key_group(key, GROUPS)
        return next(backend for groups, backend in self.parts if group in groups)

    @rule(time=TIMES, key=KEYS, namespace=NAMESPACES)
    def add(self, time: int, key: Any, namespace: Any) -> None:
        self.part_of(key).timers("t").add(time, key, namespace)
        self.timers.add((time, key, namespace))

    @rule(timers=st.lists(st.tuples(TIMES, KEYS, NAMESPACES), min_size=8, max_size=40))
    def add_many(self, timers: list[Timer]) -> None:
        for time, key, namespace in timers:
            self.add(time, key, namespace)

    @rule(time=TIMES, key=KEYS, namespace=NAMESPACES)
    def remove(self, time: int, key: Any, namespace: Any) -> None:
        self.part_of(key).timers("t").remove(time, key, namespace)
        self.timers.discard((time, key, namespace))

    @rule(data=st.data())
    def remove_one_that_is_set(self, data: st.DataObject) -> None:
        if self.timers:
            self.remove(*data.draw(st.sampled_from(sorted(self.timers, key=repr))))

    @rule(until=TIMES, most=st.integers(1, 20))
    def take(self, until: int, most: int) -> None:
        for groups, backend in self.parts:
            for _ in range(most):
                mine = {timer for timer in self.timers if key_group(timer[1], GROUPS) in groups}
                time = min((each[0] for each in mine), default=LATEST)
                due = backend.timers("t").take(until)
                expected = {timer for timer in mine if timer[0] == time <= until}
                if due is None:
                    assert not expected
                    break
                assert {(due[0], *timer) for timer in due[1]} == expected
                assert len(due[1]) == len(expected)
                self.timers -= expected

    @rule()
    def freeze(self) -> None:
        self.settle()
        self.checkpoint += 1
        self.frozen = [backend.freeze(self.checkpoint) for _, backend in self.parts]
        self.frozen_timers = set(self.timers)

    @rule(borders=st.sampled_from([(GROUPS,), (5, GROUPS), (8, GROUPS)]))
    def fail_and_restore(self, borders: tuple[int, ...]) -> None:
        if not self.frozen:
            self.freeze()
        snapshots: list[KeyedSnapshot] = [each.write(self.shop.files) for each in self.frozen]
        self.frozen = []
        self.timers = self.frozen_timers
        self.parts = []
        start = 0
        for end in borders:
            backend = self.shop.restored(
                snapshots, first=start, last=end - 1, incremental=True, owned=len(snapshots) == 1
            )
            self.parts.append((range(start, end), backend))
            start = end

    @invariant()
    def holds_what_was_set(self) -> None:
        if self.checkpoint % 3 == 2:  # it reads all rows, and so writes them
            assert sum(len(backend.timers("t")) for _, backend in self.parts) == len(self.timers)

    @invariant()
    def knows_the_next_time(self) -> None:
        if self.checkpoint % 2:
            times = [backend.timers("t").next_time() for _, backend in self.parts]
            found = min((time for time in times if time is not None), default=None)
            assert found == min((time for time, _, _ in self.timers), default=None)

    def settle(self) -> None:
        """Write what was frozen before, and let its checkpoint complete or not."""
        for frozen in self.frozen:
            frozen.write(self.shop.files)
            frozen.discard()
        for _, backend in self.parts:
            if self.checkpoint % 4:
                backend.checkpoint_completed(self.checkpoint)
            else:
                backend.checkpoint_aborted(self.checkpoint)
        self.frozen = []

    def teardown(self) -> None:
        self.frozen = []
        self.shop.close()
        self.folder.cleanup()


@pytest.mark.parametrize("kind", KINDS)
def test_any_history_of_timers_is_that_of_a_set(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "rocksdb":
        pytest.skip("with little room it does the same and more")
    if kind.endswith("little room"):
        use_little_room(monkeypatch)
    machine = type(
        "Machine",
        (TimerHistory,),
        {"kind": kind.split(",", maxsplit=1)[0], "heap": kind.endswith("heap")},
    )
    run_state_machine_as_test(
        machine, settings=settings(max_examples=12, stateful_step_count=25, deadline=None)
    )
