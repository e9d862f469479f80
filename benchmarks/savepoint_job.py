"""A job with a million keys of typed state that tells when each of its subtasks has its state and records.

A source fills all keys once at full speed and ends; another one ticks for ever. Each subtask of the keyed
function leaves a file when it has opened, and another one at its first record.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.big_state import records_into, reported
from riverrun import (
    JobClient,
    KeyedProcessFunction,
    Row,
    RuntimeContext,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from riverrun.connectors.datagen import DataGeneratorSource, GeneratorFunction
from riverrun.connectors.discard import DiscardingSink

_NAME: Final = "kept"
_TICKS_PER_SECOND: Final = 100.0
_POLL_S: Final = 0.01
_PATIENCE_S: Final = 240.0
_FIELDS: Final = ("balance", "average", "city")


@dataclass(frozen=True)
class Shape:
    """What keys and values are."""

    key_type: Any
    value_type: Any
    key: Callable[[int], Any]
    value: Callable[[int], Any]


def _row(number: int) -> Row:
    row = Row(number * 37 % 100_000, number / 7, f"city {number % 500}")
    row.set_field_names(list(_FIELDS))
    return row


SHAPES: Final[Mapping[str, Shape]] = {
    "long -> long": Shape(Types.LONG(), Types.LONG(), int, lambda number: number * 37 % 100_000),
    "string -> row": Shape(
        Types.STRING(),
        Types.ROW_NAMED(list(_FIELDS), [Types.LONG(), Types.DOUBLE(), Types.STRING()]),
        "customer-{:07}".format,
        _row,
    ),
}


class Numbers(GeneratorFunction):
    """Goes round the numbers of all keys."""

    def __init__(self, keys: int) -> None:
        self._keys = keys

    def map(self, value: int) -> int:
        """The number of a key."""
        return value % self._keys


class Keep(KeyedProcessFunction):
    """Keeps the value of each key, and notes when it has its state and when records begin to flow."""

    def __init__(self, shape: str, folder: str) -> None:
        self._shape = shape
        self._folder = folder
        self._flows = False

    def open(self, runtime_context: RuntimeContext) -> None:
        """Ask for the state."""
        shape = SHAPES[self._shape]
        self._kept = runtime_context.get_state(ValueStateDescriptor(_NAME, shape.value_type))
        self._make = shape.value
        self._subtask = runtime_context.get_index_of_this_subtask()
        self._flows = False
        self._note("opened")

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        """One read, one write."""
        del ctx
        if not self._flows:
            self._flows = True
            self._note("flows" if self._kept.value() is not None else "empty")
        self._kept.update(self._make(value))
        yield value

    def _note(self, what: str) -> None:
        note = {"pid": os.getpid(), "at": time.monotonic()}
        unfinished = Path(self._folder, f".{what}-{self._subtask}")
        unfinished.write_text(json.dumps(note))
        unfinished.rename(Path(self._folder, f"{what}-{self._subtask}"))


class SavepointJob:
    """The running job."""

    def __init__(
        self, shape: str, folder: Path, config: Mapping[str, str], keys: int, parallelism: int
    ) -> None:
        """Start it; ``folder`` is where its functions leave their notes."""
        folder.mkdir(parents=True)
        self._folder = folder
        self._keys = keys
        self._parallelism = parallelism
        environment = StreamExecutionEnvironment.get_execution_environment(dict(config))
        environment.set_parallelism(parallelism)
        fill, tick = (
            environment.from_source(
                DataGeneratorSource(Numbers(keys), count, rate, Types.LONG()),
                WatermarkStrategy.no_watermarks(),
                name,
            ).uid(name)
            for name, count, rate in (("fill", keys, None), ("tick", None, _TICKS_PER_SECOND))
        )
        found = SHAPES[shape]
        kept = fill.union(tick).key_by(found.key, key_type=found.key_type)
        kept.process(Keep(shape, str(folder))).name(_NAME).uid(_NAME).sink_to(DiscardingSink()).uid(
            "nowhere"
        )
        self.started = time.monotonic()
        self.client: JobClient = environment.execute_async("savepoints")

    def await_filled(self) -> None:
        """Return when the function has seen every key."""
        self._await(
            "all keys are made",
            lambda: reported(self.client, "Source: fill", "numRecordsOut") >= self._keys,
        )
        # Both sources share the channels, so whoever has all of this has all keys.
        made = self._keys + reported(self.client, "Source: tick", "numRecordsOut")
        self._await("all keys are kept", lambda: records_into(self.client, _NAME) >= made)

    def await_all(self, what: str) -> float:
        """Seconds from the start until the last subtask left this note."""
        self._await(
            f"every subtask has {what}", lambda: len(self._notes(what)) == self._parallelism
        )
        return max(note["at"] for note in self._notes(what)) - self.started

    def processes(self) -> list[int]:
        """The processes of the keyed function, as far as they have begun."""
        known = self.client._job.processes().items()  # type: ignore[attr-defined]  # noqa: SLF001
        return [pid for (task, _), pid in known if pid is not None and _NAME in task]

    def cancel(self) -> None:
        """End the job."""
        self.client.cancel().result()

    def _notes(self, what: str) -> list[dict[str, float]]:
        return [json.loads(path.read_text()) for path in self._folder.glob(f"{what}-*")]

    def _await(self, what: str, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not condition():
            if self.client.get_job_execution_result().done():
                self.client.get_job_execution_result().result()
                raise SystemExit(f"savepoints: the job ended before {what}")
            if time.monotonic() > deadline:
                raise SystemExit(f"savepoints: after {_PATIENCE_S:.0f} s not yet: {what}")
            time.sleep(_POLL_S)
