"""A job with a million keys of state, of which a part changes each second; tells where it stands.

A source fills all keys once at full speed and ends; another one goes round them for ever, at a rate.
The keyed function leaves a file for its first record of each attempt: its process and the time.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks.measurement import PARALLELISM
from riverrun import (
    JobClient,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from riverrun.connectors.datagen import DataGeneratorSource, GeneratorFunction
from riverrun.connectors.discard import DiscardingSink

_NAME: Final = "latest"
_POLL_S: Final = 0.02
_PATIENCE_S: Final = 240.0

Change: TypeAlias = tuple[int, int]
"""Key and value."""


class Changes(GeneratorFunction):
    """Goes round all keys; no two changes of a round are of the same key."""

    def __init__(self, keys: int) -> None:
        self._keys = keys

    def map(self, value: int) -> Change:
        """The change number ``value``."""
        return value % self._keys, value


def key_of(change: Change) -> int:
    """The key."""
    return change[0]


class Latest(KeyedProcessFunction):
    """Keeps the latest value of each key, and notes when records begin to flow."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._flows = False

    def open(self, runtime_context: RuntimeContext) -> None:
        """Ask for the state."""
        self._latest = runtime_context.get_state(ValueStateDescriptor(_NAME, Types.LONG()))
        self._place = (
            runtime_context.get_attempt_number(),
            runtime_context.get_index_of_this_subtask(),
        )
        self._flows = False

    def process_element(self, value: Change, ctx: KeyedProcessFunction.Context) -> Iterator[Change]:
        """One read, one write."""
        del ctx
        if not self._flows:
            self._flows = True
            self._note()
        latest = self._latest.value()
        self._latest.update(value[1] if latest is None else max(latest + 1, value[1]))
        yield value

    def _note(self) -> None:
        attempt, subtask = self._place
        note = {"pid": os.getpid(), "at": time.monotonic()}
        unfinished = Path(self._folder, f".{attempt}-{subtask}")
        unfinished.write_text(json.dumps(note))
        unfinished.rename(Path(self._folder, f"{attempt}-{subtask}"))


def records_into(client: JobClient, operator: str) -> float:
    """How many records all subtasks of the operator have taken, as they last reported."""
    return reported(client, operator, "numRecordsIn")


def reported(client: JobClient, operator: str, metric: str) -> float:
    """The sum of a metric over all subtasks of an operator."""
    return sum(
        values.get(metric, 0.0)
        for name, values in client.get_metrics().items()
        if name.endswith(f".{operator}")
    )


@dataclass(frozen=True, slots=True)
class Flow:
    """The first record of a subtask in one attempt."""

    attempt: int
    subtask: int
    pid: int
    at: float
    """On the monotonic clock, which is one for all processes of a machine."""


class BigStateJob:
    """The running job."""

    def __init__(
        self, folder: Path, config: Mapping[str, str], *, keys: int, changes_per_second: float
    ) -> None:
        """Start it; ``folder`` is where its functions leave their notes."""
        folder.mkdir()
        self._folder = folder
        self._keys = keys
        environment = StreamExecutionEnvironment.get_execution_environment(dict(config))
        environment.set_parallelism(PARALLELISM)
        sources = [
            environment.from_source(
                DataGeneratorSource(Changes(keys), count, rate),
                WatermarkStrategy.no_watermarks(),
                name,
            )
            for name, count, rate in (("fill", keys, None), ("change", None, changes_per_second))
        ]
        changes = sources[0].union(sources[1]).key_by(key_of)
        changes.process(Latest(str(folder))).name(_NAME).sink_to(DiscardingSink())
        self.client: JobClient = environment.execute_async("big state")

    def await_filled(self) -> None:
        """Return when the function has seen every key."""
        self._await(
            "all keys are made",
            lambda: reported(self.client, "Source: fill", "numRecordsOut") >= self._keys,
        )
        # Both sources share the channels, so whoever has all of this has all keys.
        made = self._keys + reported(self.client, "Source: change", "numRecordsOut")
        self._await("all keys are kept", lambda: records_into(self.client, _NAME) >= made)

    def await_flow(self, attempt_after: int) -> list[Flow]:
        """The first records of all subtasks in the first attempt after ``attempt_after`` that has any."""
        found: list[Flow] = []

        def flows() -> bool:
            found[:] = [flow for flow in self.flows() if flow.attempt > attempt_after]
            return len({flow.subtask for flow in found}) == PARALLELISM

        self._await(f"records flow after attempt {attempt_after}", flows)
        return found

    def await_checkpoint(self, after_ms: float) -> None:
        """Return when a checkpoint is complete that was triggered after this wall-clock time."""

        def is_there() -> bool:
            latest = self.client.get_checkpoints().latest.completed
            return latest is not None and latest.trigger_timestamp > after_ms

        self._await("a checkpoint completes", is_there)

    def flows(self) -> list[Flow]:
        """All notes so far."""
        return [
            Flow(*map(int, path.name.split("-")), **json.loads(path.read_text()))
            for path in sorted(self._folder.glob("[0-9]*-*"))
        ]

    def cancel(self) -> None:
        """End the job."""
        self.client.cancel().result()

    def _await(self, what: str, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not condition():
            if self.client.get_job_execution_result().done():
                self.client.get_job_execution_result().result()
                raise SystemExit(f"big state: the job ended before {what}")
            if time.monotonic() > deadline:
                raise SystemExit(f"big state: after {_PATIENCE_S:.0f} s not yet: {what}")
            time.sleep(_POLL_S)
