"""The functions of the all-round job: each keeps one kind of state and says when it finds it wrong.

What is found wrong becomes a record ``("violation", text, 0)``, not an exception: a restart would hide it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from riverrun.api.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from riverrun.api.functions import (
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
)
from riverrun.api.state import (
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from riverrun.serde.types import Types

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
LIST_LENGTH = 5
KINDS = 3
_LOOK = 50

Record = tuple[Any, ...]


def violation(text: str) -> Record:
    """The record that reports something that must not be."""
    return ("violation", text, 0)


class Count(MapFunction, CheckpointedFunction):
    """Numbers the records that it sees; counters are operator state and may change hands."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self._state: ListState[Any] = store.get_list_state(ListStateDescriptor("counters"))
        found = [tuple(item) for item in self._state.get()]
        (self._name, self._count), *self._others = found or [(uuid.uuid4().hex[:12], 0)]

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._state.update([(self._name, self._count), *self._others])

    def map(self, value: Any) -> Record:
        self._count += 1
        return (*value, self._name, self._count)


class Remember(KeyedBroadcastProcessFunction[int, Record, Any, Record]):
    """All kinds of keyed state, and the version of the rules in broadcast state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        context = runtime_context
        self._subtask = context.get_index_of_this_subtask()
        self._last = context.get_state(ValueStateDescriptor("last", Types.LONG()))
        self._seen = context.get_state(ValueStateDescriptor("seen"))
        self._total = context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())
        )
        self._recent = context.get_list_state(ListStateDescriptor("recent", Types.LONG()))
        self._kinds = context.get_map_state(MapStateDescriptor("kinds", Types.LONG(), Types.LONG()))

    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        key, n, counter, count = value
        last = self._last.value()
        if n != (0 if last is None else last + 1):
            yield violation(f"remember: key {key} has {n} after {last}")
        self._last.update(n)
        self._total.add(n)
        if n % LIST_LENGTH == 0:
            self._recent.clear()
        self._recent.add(n)
        self._kinds.put(n % KINDS, (self._kinds.get(n % KINDS) or 0) + 1)
        version = ctx.get_broadcast_state(RULES).get("version")
        seen = self._seen.value()
        if seen is not None and (version is None or version < seen):
            yield violation(f"remember: key {key} saw rule {seen} and now {version}")
        self._seen.update(version)
        kinds = tuple(sorted(self._kinds.items()))
        yield ("key", key, n, self._total.get(), tuple(self._recent.get()), kinds, counter, count)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Record]:
        _, n = value
        rules = ctx.get_broadcast_state(RULES)
        version = rules.get("version")
        if n != (0 if version is None else version + 1):
            yield violation(f"rules: subtask {self._subtask} has {n} after {version}")
        rules.put("version", n)
        rules.put(f"rule-{n % 4}", n)
        yield ("rule", self._subtask, n)


class Check(KeyedProcessFunction):
    """Verifies that each sequence has no gap and no duplicate; slow as long as there is no ``gate``."""

    def __init__(self, slow_s: float = 0.0, gate: str | None = None) -> None:
        self._slow_s = slow_s
        self._gate = None if gate is None else Path(gate)
        self._calls = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        self._last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        self._slow_down()
        kind, _, n, *_ = value
        if kind != "violation":
            last = self._last.value()
            if n != (0 if last is None else last + 1):
                yield violation(f"check: {value[:2]} has {n} after {last}")
            self._last.update(n)
        yield value

    def _slow_down(self) -> None:
        self._calls += 1
        if self._slow_s and self._gate is not None:
            if self._calls % _LOOK == 0 and self._gate.exists():
                self._slow_s = 0.0
            time.sleep(self._slow_s)
