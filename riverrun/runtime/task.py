"""A task: one subtask's chain, inputs and outputs as an object that does no I/O.

A shell feeds it frames (``receive``), lets it work (``turn``), carries away what it made (``outbox``,
``client_runs``, ``snapshots``) and asks when to come back (``wake_at``). It owns the threads, sockets
and clocks, writes snapshots in the background and tells the task what becomes of checkpoints.
"""

from __future__ import annotations

import random
from enum import Enum, auto
from typing import assert_never

from riverrun.core.clock import Clock
from riverrun.graph.deployment import TaskDeployment
from riverrun.graph.specs import SourceSpec
from riverrun.metrics.groups import MetricGroup
from riverrun.metrics.registry import TaskMetrics
from riverrun.protocol.elements import (
    MAX_WATERMARK,
    Barrier,
    Element,
    EndOfChannel,
    EndOfInput,
    LatencyMarker,
    Records,
    Watermark,
    WatermarkStatus,
)
from riverrun.protocol.frames import FrameError
from riverrun.runtime.buffers import Producer
from riverrun.runtime.chain import Chain, ClientRuns
from riverrun.runtime.checkpoints import TaskCheckpoints
from riverrun.runtime.context import TaskRuntimeContext
from riverrun.runtime.failures import operator_failed
from riverrun.runtime.inputs import InputChannel, Inputs
from riverrun.runtime.operator_states import OperatorStates, TaskResources
from riverrun.runtime.output import EdgeOutput, Outbox
from riverrun.runtime.pacing import Pacer
from riverrun.runtime.settings import TaskSettings
from riverrun.runtime.snapshot import TaskSnapshot
from riverrun.runtime.source import SourceDriver
from riverrun.runtime.watermarks import WatermarkGenerator, WatermarkValve


class Turn(Enum):
    """What came of one turn."""

    WORKED = auto()
    IDLE = auto()
    FINISHED = auto()


class Task:
    """Runs one subtask. All methods are called from one thread."""

    def __init__(
        self,
        deployment: TaskDeployment,
        settings: TaskSettings,
        clock: Clock,
        resources: TaskResources,
    ) -> None:
        self.deployment = deployment
        self._resources = resources
        self._settings = settings
        self._clock = clock
        self.outbox = Outbox()
        self.metrics = TaskMetrics(clock)
        self._outputs = self._build_outputs()
        self._chain = Chain(
            deployment,
            [
                (e.operator, e.tag, o)
                for e, o in zip(deployment.outputs, self._outputs, strict=True)
            ],
            self.metrics,
            clock,
            resources,
        )
        self._inputs = Inputs(
            deployment.inputs,
            deployment.attempt,
            memory_bytes=settings.alignment_bytes,
            open_spill=resources.open_spill,
        )
        self._checkpoints = TaskCheckpoints(
            deployment, self._chain, self._inputs, self._outputs, clock
        )
        restore = deployment.restore
        self._had_finished = restore is not None and restore.finished
        self._valve = WatermarkValve(self._inputs.channels)
        self._source, self._generator = self._build_source()
        self._accept = (self._chain.head.accept, self._chain.head.accept_second)
        self._pacer = Pacer(settings.longest_run)
        self._busy = False
        self._ending = False
        self._finished = False
        self._next_marker = clock.monotonic() + settings.latency_interval_ms
        self._register_metrics()

    @property
    def client_runs(self) -> ClientRuns:
        """Runs for the client that the shell must send."""
        return self._chain.client_runs

    @property
    def states(self) -> list[OperatorStates]:
        """The state of each operator, from the head on."""
        return self._chain.states

    @property
    def waiting(self) -> bool:
        """Whether received elements wait to be processed; they do while it is not ``accepting``."""
        return self._inputs.waiting

    @property
    def accepting(self) -> bool:
        """Whether the next turn may take an element; if not, the task's operators are full."""
        return self._chain.accepting

    @property
    def awaiting(self) -> bool:
        """Whether something outside is under way that will wake the task."""
        return self._chain.awaiting

    @property
    def starved(self) -> bool:
        """Whether the task can do nothing about its input but wait for frames."""
        return self.reads_input and not self._inputs.waiting and not self._inputs.finished

    @property
    def reads_input(self) -> bool:
        """Whether frames come in; a source task makes its own records."""
        return self._source is None

    @property
    def input_over(self) -> bool:
        """Whether all input was processed; with checkpoints on, one must complete before the end."""
        return self._checkpoints.input_over

    def open(self) -> None:
        """Restore state and open all functions; called once, in the worker."""
        if self._had_finished:
            self._chain.open_finished()
            return
        self._chain.open()
        if self._source is not None:
            self._source.open()
        restore = self.deployment.restore
        if restore is not None and restore.channels:
            saved = self._resources.saved
            assert saved is not None  # noqa: S101  (a shell that restores gives the files)
            self._inputs.restore([(each, saved.read(each.blob)) for each in restore.channels])

    def receive(self, frame: bytes | memoryview) -> None:
        """Take in a frame; its elements are worked on in later turns."""
        for channel, element in self._inputs.receive(frame):
            self._checkpoints.arrive(channel, element)

    def trigger_checkpoint(self, checkpoint: int, timestamp_ms: int, options: bytes) -> None:
        """Begin with a checkpoint: a source snapshots and sends the barrier."""
        if not self._finished:
            self._checkpoints.trigger(Barrier(checkpoint, timestamp_ms, options))

    def checkpoint_completed(self, checkpoint: int) -> None:
        """The checkpoint exists: what waited for it becomes visible, and the task may end."""
        if not self._finished and self._checkpoints.completed(checkpoint):
            self._end()

    def checkpoint_aborted(self, checkpoint: int) -> None:
        """The checkpoint will never exist."""
        if not self._finished:
            self._checkpoints.aborted(checkpoint)

    def take_snapshots(self) -> list[TaskSnapshot]:
        """Snapshots to write in the background and to acknowledge."""
        return self._checkpoints.take()

    def turn(self) -> Turn:
        """Do what is due, then take one element (or a piece of a long run) through the chain."""
        if self._finished:
            return Turn.FINISHED
        self._run_due()
        worked = self._chain.accepting and self._read()
        if not self.input_over and self._input_over():
            self._finish()
        self._busy = worked
        if self._finished:
            return Turn.FINISHED
        return Turn.WORKED if worked else Turn.IDLE

    def wake_at(self) -> float | None:
        """When a turn has something to do although no frame came, in monotonic milliseconds."""
        now = self._clock.monotonic()
        times = [
            time
            for output in self._outputs
            if (time := output.deadline(now, busy=self._busy)) is not None
        ]
        alignment = self._checkpoints.deadline()
        if alignment is not None:
            times.append(alignment)
        due = self._chain.due_at()
        if due is not None:
            times.append(now + max(0, due - self._clock.now()))
        if self._source is not None and not self._ending:
            if self._chain.accepting:
                times.append(self._source.poll_at())
            if self._generator is not None:
                times.append(self._generator.due_at())
            if self._settings.latency_interval_ms > 0:
                times.append(self._next_marker)
        return min(times, default=None)

    def flush(self) -> None:
        """Send everything that waits in the output buffers."""
        for output in self._outputs:
            output.flush()

    def close(self) -> BaseException | None:
        """Close all functions that were opened; the first error is given back."""
        self._checkpoints.close()
        self._inputs.close()
        first = self._chain.close()
        if self._source is not None:
            try:
                self._source.close()
            except Exception as error:  # noqa: BLE001  (given back, like the chain's)
                first = first or error
        return first

    def _run_due(self) -> None:
        now = self._clock.monotonic()
        for output in self._outputs:
            due = output.deadline(now, busy=self._busy)
            if due is not None and due <= now:
                output.flush()
        alignment = self._checkpoints.deadline()
        if alignment is not None and alignment <= now:
            self._checkpoints.run_due(now)
        if self.input_over:
            return
        due = self._chain.due_at()
        if due is not None and due <= (wall := self._clock.now()):
            self._chain.run_due(wall)
        if self._ending:
            return
        if self._generator is not None and self._generator.due_at() <= now:
            watermark = self._generator.emit(now)
            if watermark is not None:
                self._advance(watermark)
        if self._settings.latency_interval_ms > 0 and self._next_marker <= now:
            self._mark_latency(now)

    def _read(self) -> bool:
        return self._read_source() if self._source is not None else self._read_inputs()

    def _read_source(self) -> bool:
        assert self._source is not None  # noqa: S101  (asked by turn)
        if self._ending or self._had_finished:
            return False
        start = self._clock.monotonic()
        if self._source.poll_at() > start:
            return False
        values, timestamps = self._source.poll(self._pacer.limit)
        if not values:
            return False
        if self._generator is not None and timestamps is not None:
            self._generator.observe(timestamps)
        self._chain.head.emit(values, timestamps)
        self._pacer.observe(len(values), self._clock.monotonic() - start)
        return True

    def _read_inputs(self) -> bool:
        try:
            taken = self._inputs.take(self._pacer.limit, self._checkpoints.blocked)
        except FrameError:
            raise
        except Exception as error:  # values are made here: a user's class may refuse to be
            raise operator_failed(self._chain.head.name, error) from error
        if taken is None:
            return False
        start = self._clock.monotonic()
        channel, element = taken
        self._handle(channel, element)
        if isinstance(element, Records):
            self._pacer.observe(len(element.values), self._clock.monotonic() - start)
        return True

    def _handle(self, channel: InputChannel, element: Element) -> None:
        match element:
            case Records(values, timestamps):
                self._accept[channel.input_index](values, timestamps)
            case Watermark(time):
                self._advance_if(self._valve.watermark(channel.index, time))
            case WatermarkStatus(idle):
                self._advance_if(self._valve.status(channel.index, idle=idle))
            case LatencyMarker():
                self._chain.measure(element)
            case EndOfInput():
                self._advance_if(self._valve.watermark(channel.index, MAX_WATERMARK))
            case EndOfChannel():
                self._checkpoints.channel_ended(channel)
            case Barrier():
                self._checkpoints.barrier(channel, element)
            case _:
                assert_never(element)

    def _advance_if(self, watermark: int | None) -> None:
        if watermark is not None and watermark < MAX_WATERMARK:
            self._advance(watermark)

    def _advance(self, watermark: int) -> None:
        self._chain.advance(watermark)

    def _input_over(self) -> bool:
        if self._source is None:
            return self._inputs.finished
        return self._had_finished or self._source.ended

    def _finish(self) -> None:
        """All input was processed: flush the functions; the task ends after one more checkpoint."""
        begins, self._ending = not self._ending, True
        if not self._had_finished:
            if begins:
                self._chain.advance(MAX_WATERMARK)
            if not self._chain.drained:
                return
            self._chain.finish()
        self._checkpoints.input_over = True
        for output in self._outputs:
            output.control(EndOfInput())
        if not self._settings.final_checkpoint or self.deployment.checkpoint_folder is None:
            self._end()

    def _end(self) -> None:
        for output in self._outputs:
            output.control(EndOfChannel())
        self._finished = True

    def _mark_latency(self, now: float) -> None:
        self._next_marker = now + self._settings.latency_interval_ms
        if self._source is not None:
            described = self.deployment.operators[0]
            self._chain.measure(
                LatencyMarker(self._clock.now(), described.name, self.deployment.subtask)
            )

    def _build_outputs(self) -> list[EdgeOutput]:
        deployment = self.deployment
        rng = random.Random(self._settings.seed)  # noqa: S311  (shares records out; no secret)
        return [
            EdgeOutput(
                edge,
                producer=Producer(
                    deployment.operators[edge.operator].name,
                    deployment.subtask,
                    deployment.attempt,
                ),
                frame_bytes=self._settings.frame_bytes,
                outbox=self.outbox,
                rng=rng,
            )
            for edge in deployment.outputs
        ]

    def _build_source(self) -> tuple[SourceDriver | None, WatermarkGenerator | None]:
        head = self.deployment.operators[0]
        if not isinstance(head.spec, SourceSpec):
            return None, None
        driver = SourceDriver(
            head,
            subtask=self.deployment.subtask,
            parallelism=self.deployment.parallelism,
            clock=self._clock,
            runtime=TaskRuntimeContext(self.deployment, self.metrics.operator(head.name)),
            states=self._chain.head.states,
        )
        interval = self._settings.watermark_interval_ms
        return driver, WatermarkGenerator.of(head.spec.watermark_strategy, interval)

    def _register_metrics(self) -> None:
        group = MetricGroup(self.metrics.task)
        group.gauge("numBytesOut", lambda: self.outbox.bytes_out)
        group.gauge("numBytesIn", lambda: self._inputs.bytes_in)
        group.gauge("inputQueueLength", lambda: self._inputs.waiting_records)
        group.gauge("outputQueueLength", lambda: sum(o.buffered for o in self._outputs))
        group.gauge("checkpointAlignmentTime", lambda: self._checkpoints.last_alignment_ms)
        group.gauge("stateEntries", self._chain.state_entries)
        group.gauge("currentInputWatermark", lambda: self._valve.current)
        head = self._chain.head
        is_source = self._source is not None
        group.gauge("numRecordsIn", lambda: 0 if is_source else head.records_in.get_count())
        group.gauge("numRecordsOut", self._chain.records_out)
