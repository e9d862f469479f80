"""Drive one operator by hand: records, watermarks and the clock in; outputs, timers and state out.

The operator runs in a real task with a real state backend, but nothing else does: time stands still
until the test moves it, and every call returns when all that it caused has happened.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from riverrun.api.output_tag import OutputTag
from riverrun.api.state import State, StateDescriptor
from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.checkpoint.plan import CheckpointPlan
from riverrun.checkpoint.restore import assign
from riverrun.core.clock import ManualClock
from riverrun.core.errors import ProgramError
from riverrun.core.ids import SubtaskId
from riverrun.datastream.data_stream import DataStream
from riverrun.protocol.barriers import BarrierMode, BarrierOptions, encode_options
from riverrun.protocol.control import CheckpointCompleted
from riverrun.protocol.elements import (
    Barrier,
    Element,
    EndOfInput,
    Records,
    Watermark,
    WatermarkStatus,
)
from riverrun.protocol.frames import (
    FrameHeader,
    decode_elements,
    decode_header,
    encode_control,
    encode_frame,
    encode_records,
)
from riverrun.protocol.snapshots import SubtaskSnapshot, TaskRestore
from riverrun.runtime.operator_states import OperatorStates, TaskResources
from riverrun.runtime.settings import TaskSettings
from riverrun.runtime.task import Task, Turn
from riverrun.serde.runs import codec_for, decode_run
from riverrun.serde.type_info import TypeInformation
from riverrun.state.backend import NO_KEY
from riverrun.storage.checkpoint_files import CheckpointFiles, SavedCheckpointFiles
from riverrun.storage.memory import MemoryStorage
from riverrun.testing.harness_program import HarnessProgram

__all__ = ["HarnessSnapshot", "OperatorHarness"]

_FOLDER: Final = "memory://harness/job"
_NO_CONFIG: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class HarnessSnapshot:
    """The state of a harness's operator at one moment; another harness can start from it."""

    subtask: SubtaskSnapshot
    plan: CheckpointPlan
    storage: MemoryStorage


class OperatorHarness:
    """Runs the operator that ``build`` defines on the stream (or the two streams) that it is given.

    >>> with OperatorHarness(lambda stream: stream.map(lambda n: n + 1)) as harness:
    ...     harness.push(1, timestamp=10)
    ...     harness.watermark(10)
    ...     harness.records(), harness.watermarks()
    ([(2, 10)], [10])

    Args:
        build: gives the stream of the operator; one task's worth of program.
        inputs: how many streams ``build`` takes.
        types: the types of these streams, where the operator needs them.
        side_outputs: the tags whose records are to be seen.
        backend: name of the state backend.
        parallelism: of the operator; only ``subtask`` of it runs.
        subtask: which one.
        max_parallelism: number of key groups.
        restore: what to start from; several snapshots after a change of the parallelism.
        config: further settings.
        start: the wall clock at the beginning, in milliseconds.
    """

    def __init__(  # noqa: PLR0913  (settings of a test, each by its name)
        self,
        build: Callable[..., DataStream],
        *,
        inputs: int = 1,
        types: Sequence[TypeInformation | None] | None = None,
        side_outputs: Sequence[OutputTag] = (),
        backend: str = "hashmap",
        parallelism: int = 1,
        subtask: int = 0,
        max_parallelism: int = 128,
        restore: HarnessSnapshot | Sequence[HarnessSnapshot] = (),
        config: Mapping[str, str] = _NO_CONFIG,
        start: int = 0,
    ) -> None:
        program = HarnessProgram.of(
            build,
            [None] * inputs if types is None else types,
            side_outputs=side_outputs,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            config={"state.backend.type": backend, **config},
        )
        snapshots = (restore,) if isinstance(restore, HarnessSnapshot) else tuple(restore)
        self._program = program
        self._subtask = subtask
        self._storage = _together(snapshots)
        self._clock = ManualClock(start)
        self._scratch = tempfile.TemporaryDirectory(prefix="riverrun-harness-")
        self._sequences: dict[int, int] = {}
        self._checkpoint = 1
        self._outputs: dict[str | None, list[tuple[Any, int | None]]] = {
            tag: [] for tag in (None, *program.tags)
        }
        self._times: list[Watermark | WatermarkStatus] = []
        self._ended = False
        deployment = program.deployment(subtask, _FOLDER, self._restore(snapshots))
        self._codecs = {int(edge.edge): codec_for(edge.type_info) for edge in deployment.inputs}
        self._types = {int(edge.edge): edge.type_info for edge in deployment.outputs}
        self._task = Task(
            deployment,
            # There is no consumer that would give room for more.
            replace(TaskSettings.of(deployment.config), debloat=None),
            self._clock,
            TaskResources(
                Path(self._scratch.name), io.BytesIO, SavedCheckpointFiles(self._storage)
            ),
        )
        self._task.open()

    def push(self, value: Any, timestamp: int | None = None) -> None:
        """Give a record to the (first) input."""
        self.push_run([value], None if timestamp is None else [timestamp])

    def push_second(self, value: Any, timestamp: int | None = None) -> None:
        """Give a record to the second input."""
        self.push_run([value], None if timestamp is None else [timestamp], second=True)

    def push_run(
        self,
        values: Iterable[Any],
        timestamps: Sequence[int] | None = None,
        *,
        second: bool = False,
    ) -> None:
        """Give a run of records at once, as an exchange would."""
        times = None if timestamps is None else list(timestamps)
        self._send(Records(list(values), times), int(second))

    def watermark(self, time: int) -> None:
        """Event time reaches ``time`` on all inputs."""
        for edge in self._codecs:
            self._send(Watermark(time), edge)

    def watermark_of(self, input_index: int, time: int) -> None:
        """Event time reaches ``time`` on one input."""
        self._send(Watermark(time), input_index)

    def idle(self, *, idle: bool = True, input_index: int = 0) -> None:
        """An input falls idle, or is active again."""
        self._send(WatermarkStatus(idle), input_index)

    def advance_clock(self, milliseconds: int) -> None:
        """Move the wall clock; what is due on the way happens at its time."""
        target = self._clock.monotonic() + milliseconds
        while True:
            wake = self._task.wake_at()
            if wake is None or wake > target:
                break
            self._clock.advance(max(0.0, wake - self._clock.monotonic()))
            self._work()
        self._clock.advance(max(0.0, target - self._clock.monotonic()))
        self._work()

    def now(self) -> int:
        """The wall clock in milliseconds."""
        return self._clock.now()

    def end_input(self) -> None:
        """All inputs end: the last watermark, then ``finish``."""
        for edge in self._codecs:
            self._send(EndOfInput(), edge)
        self._ended = True

    def output(self) -> list[Any]:
        """The values that came out since this was last asked."""
        return [value for value, _ in self.records()]

    def records(self) -> list[tuple[Any, int | None]]:
        """The values that came out since this was last asked, with their timestamps."""
        return self._taken(None)

    def side_output(self, tag: OutputTag) -> list[Any]:
        """The values that came out under ``tag`` since this was last asked."""
        if tag.tag_id not in self._outputs:
            raise ProgramError(
                f"harness: the side output {tag.tag_id!r} was not declared; name it in side_outputs=[...]"
            )
        return [value for value, _ in self._taken(tag.tag_id)]

    def watermarks(self) -> list[int]:
        """The watermarks that came out since this was last asked."""
        found = [each.time for each in self._times if isinstance(each, Watermark)]
        self._times = [each for each in self._times if not isinstance(each, Watermark)]
        return found

    def statuses(self) -> list[bool]:
        """The statuses that came out since this was last asked; true: idle."""
        found = [each.idle for each in self._times if isinstance(each, WatermarkStatus)]
        self._times = [each for each in self._times if not isinstance(each, WatermarkStatus)]
        return found

    def state(self, descriptor: StateDescriptor, key: Any, namespace: Any = None) -> State:
        """Keyed state of ``key`` (and ``namespace``), to look at or to change until the next call."""
        backend = self._states().keyed
        state = backend.state(descriptor, namespaced=namespace is not None)
        backend.key = key
        if namespace is not None:
            backend.namespace = namespace
        return state

    def keys(self, state_name: str) -> list[Any]:
        """Every key that has a value in a state."""
        return list(self._states().keyed.keys(state_name))

    def event_timers(self) -> int:
        """How many event-time timers are set."""
        return self._timers(".event")

    def processing_timers(self) -> int:
        """How many processing-time timers are set."""
        return self._timers(".processing")

    def metrics(self) -> dict[str, float]:
        """The metrics of the task and of its operators, by name."""
        return {
            name: value
            for group in self._task.metrics.snapshot().values()
            for name, value in group.items()
        }

    def snapshot(self) -> HarnessSnapshot:
        """Take a checkpoint."""
        checkpoint = self._checkpoint = self._checkpoint + 1
        barrier = Barrier(
            checkpoint, self._clock.now(), encode_options(BarrierOptions(BarrierMode.ALIGNED))
        )
        for edge in self._codecs:
            self._send(barrier, edge)
        (frozen,) = self._task.take_snapshots()
        files = CheckpointFiles(self._storage, _FOLDER, checkpoint, inline_limit=0)
        written, _ = frozen.write(files)
        self._task.obey(CheckpointCompleted(checkpoint))
        self._work()
        plan = CheckpointPlan.of(self._program.graph, "0" * 32, "harness")
        return HarnessSnapshot(written, plan, self._storage)

    def close(self) -> None:
        """Close the operator; raises what its ``close`` raised."""
        error = self._task.close()
        self._scratch.cleanup()
        if error is not None:
            raise error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _restore(self, snapshots: Sequence[HarnessSnapshot]) -> TaskRestore | None:
        if not snapshots:
            return None
        plan = snapshots[0].plan
        metadata = CheckpointMetadata(
            checkpoint=1,
            job=plan.job,
            job_name=plan.job_name,
            timestamp_ms=0,
            vertices=plan.vertices,
            subtasks=tuple(each.subtask for each in snapshots),
            edges=plan.edges,
        )
        restores = assign(metadata, self._program.graph, allow_non_restored=True, owned=False)
        return restores[SubtaskId(self._program.vertex.id, self._subtask)]

    def _timers(self, kind: str) -> int:
        queues = self._states().keyed.timer_queues()
        return sum(len(queue) for name, queue in queues.items() if name.endswith(kind))

    def _states(self) -> OperatorStates:
        return self._task.states[0]

    def _taken(self, tag: str | None) -> list[tuple[Any, int | None]]:
        taken, self._outputs[tag] = self._outputs[tag], []
        return taken

    def _send(self, element: Element, edge: int) -> None:
        if edge not in self._codecs:
            raise ProgramError(
                f"harness: the operator has no input {edge}; it has {len(self._codecs)}"
            )
        parts: list[Any] = []
        if isinstance(element, Records):
            codec = self._codecs[edge]
            run = codec.encode(element.values)
            parts += encode_records(codec.tag, len(element.values), run, element.timestamps)
        else:
            parts.append(encode_control(element))
        sequence = self._sequences.get(edge, 0)
        self._sequences[edge] = sequence + 1
        self._task.receive(encode_frame(FrameHeader(0, edge, 0, 0, sequence), parts))
        self._work()

    def _work(self) -> None:
        states = self._states()
        if states.has_key:
            states.keyed.key = NO_KEY
        while self._task.turn() is Turn.WORKED:
            pass
        self._task.flush()
        for _, frame in self._task.outbox.take():
            if frame:
                self._sort_out(frame)

    def _sort_out(self, frame: bytes | memoryview) -> None:
        edge = decode_header(frame).edge
        values = self._outputs[self._program.output_of(edge)]
        type_info = self._types[edge]
        for element in decode_elements(frame, lambda tag, data: decode_run(tag, data, type_info)):
            if isinstance(element, Records):
                times = element.timestamps
                if times is None:
                    values += [(value, None) for value in element.values]
                else:
                    values += zip(element.values, times, strict=True)
            elif isinstance(element, Watermark | WatermarkStatus) and self._is_main(edge):
                self._times.append(element)

    def _is_main(self, edge: int) -> bool:
        return self._program.output_of(edge) is None


def _together(snapshots: Sequence[HarnessSnapshot]) -> MemoryStorage:
    """One store with the files of all, which may come from harnesses of their own."""
    storage = MemoryStorage()
    for snapshot in snapshots:
        for location in snapshot.storage.list(_FOLDER):
            storage.write(location, snapshot.storage.read(location))
    return storage
