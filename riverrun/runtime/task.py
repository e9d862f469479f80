"""A task: one subtask's chain, inputs and outputs as an object that does no I/O.

A shell feeds it frames (``receive``), lets it work (``turn``), carries away what it made (``outbox``,
``client_runs``, ``snapshots``) and asks when to come back (``wake_at``). It owns the threads, sockets
and clocks, writes snapshots in the background and passes the JobMaster's orders on (``obey``).
"""

from __future__ import annotations

import math
from enum import Enum, auto
from typing import assert_never

from riverrun.core.clock import Clock
from riverrun.graph.deployment import TaskDeployment
from riverrun.graph.specs import SourceSpec
from riverrun.metrics.groups import MetricGroup
from riverrun.metrics.registry import TaskMetrics
from riverrun.protocol.control import (
    CheckpointAborted,
    CheckpointCompleted,
    FromEnumerator,
    FromReader,
    Order,
    PeerReport,
    PrepareEnumerator,
    SendUntil,
    TriggerCheckpoint,
    WatermarkAllowed,
)
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
from riverrun.runtime.catching_up import CatchingUp
from riverrun.runtime.chain import Chain, ClientRuns
from riverrun.runtime.checkpoints import TaskCheckpoints
from riverrun.runtime.failures import operator_failed
from riverrun.runtime.inputs import InputChannel, Inputs
from riverrun.runtime.operator_states import OperatorStates, TaskResources
from riverrun.runtime.output import Outbox, outputs_of
from riverrun.runtime.pacing import MANY, Pacer
from riverrun.runtime.restored_channels import restored_runs
from riverrun.runtime.roomy import roomy
from riverrun.runtime.settings import TaskSettings
from riverrun.runtime.snapshot import TaskSnapshot
from riverrun.runtime.source import source_driver_of
from riverrun.runtime.task_debloating import TaskDebloating
from riverrun.runtime.valve import InputTime, Progress


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
        self._outputs = outputs_of(deployment, settings, self.outbox)
        ends = [(output.edge.operator, output.edge.tag, output) for output in self._outputs]
        self._chain = Chain(deployment, ends, self.metrics, clock, resources)
        self._inputs = Inputs(
            deployment.inputs,
            deployment.attempt,
            memory_bytes=settings.alignment_bytes,
            open_spill=resources.open_spill,
            columns=self._chain.head.takes_columns,
        )
        self._checkpoints = TaskCheckpoints(
            deployment, self._chain, self._inputs, self._outputs, clock
        )
        restore = deployment.restore
        self._had_finished = restore is not None and restore.finished
        self._time = InputTime(
            [edge.input_index for edge in deployment.inputs for _ in edge.producers]
        )
        self._source = source_driver_of(
            deployment, self._chain.head, settings, resources, self.metrics, clock
        )
        self._debloating = TaskDebloating.of(
            settings, deployment.inputs, self._inputs, self._outputs, clock
        )
        self._accept = (self._chain.head.accept, self._chain.head.accept_second)
        self._pacer = Pacer(settings.longest_run_of(columns=self._works_on_columns()))
        self._standing_since: float | None = None
        self._busy = False
        self._ending = False
        self._finished = False
        self._catching_up = CatchingUp(self._chain.links, self._inputs)
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
        """Whether the next turn may take an element; if not, its operators are full or it is held back."""
        return self._has_room and not self.held_back

    @property
    def held_back(self) -> bool:
        """Whether it takes nothing because its consumers are behind by all that they allow it."""
        return self._debloating is not None and self._debloating.room <= 0

    @property
    def awaiting(self) -> bool:
        """Whether something outside is under way that will wake the task."""
        return self._chain.awaiting and not self._checkpoints.suspended

    @property
    def starved(self) -> bool:
        """Whether the task can do nothing about its input but wait for frames."""
        over = self._inputs.finished or self._inputs.ended
        return self.reads_input and not self._inputs.waiting and not over

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
            if self._source is not None:
                self._source.open_finished()
            return
        self._chain.open()
        if self._source is not None:
            self._source.open()
        restore = self.deployment.restore
        if restore is not None and restore.channels:
            saved = self._resources.saved
            assert saved is not None  # noqa: S101  (a shell that restores gives the files)
            self._inputs.restore(restored_runs(self.deployment, saved))
        self._catching_up.begin()

    def receive(self, frame: bytes | memoryview) -> None:
        """Take in a frame; its elements are worked on in later turns.

        A task that has finished is past them: a barrier must not follow the end of its channels.
        """
        if self._finished:
            return
        before = 0 if self._debloating is None else self._inputs.waiting_records
        for channel, element in self._inputs.receive(frame):
            self._checkpoints.arrive(channel, element)
        if self._debloating is not None:
            self._debloating.received(self._inputs.waiting_records - before, len(frame))

    def obey(self, order: Order) -> None:
        """Do what the JobMaster says, between two turns; a task that has finished is past all orders."""
        if self._finished:
            return
        if self._source is not None:
            self._source.obey(order)
        match order:
            case TriggerCheckpoint(checkpoint, timestamp_ms, options):
                self._checkpoints.trigger(Barrier(checkpoint, timestamp_ms, options))
            case CheckpointCompleted(checkpoint):
                if self._checkpoints.completed(checkpoint):
                    self._end()
            case CheckpointAborted(checkpoint):
                self._checkpoints.aborted(checkpoint)
            case WatermarkAllowed() | FromReader() | FromEnumerator() | PrepareEnumerator():
                pass  # a source's business
            case SendUntil():
                if self._debloating is not None:
                    self._debloating.granted(order)
            case _:
                assert_never(order)

    def take_reports(self) -> list[PeerReport]:
        """What the task has to tell its producers, and a source its readers or the rest of its group."""
        reports: list[PeerReport] = [] if self._source is None else [*self._source.take_reports()]
        if self._debloating is not None:
            reports += self._debloating.take()
        return reports

    def stood_still(self, ms: float) -> None:
        """The task could not go on for this long, because its consumers were behind."""
        if self._source is not None:
            self._source.stand_still(ms)
        self._chain.stood_still(ms)
        self._pacer.stood_still(ms)

    def take_snapshots(self) -> list[TaskSnapshot]:
        """Snapshots to write in the background and to acknowledge."""
        return self._checkpoints.take()

    def turn(self) -> Turn:
        """Do what is due, then take one element (or a piece of a long run) through the chain."""
        if self._finished:
            return Turn.FINISHED
        self._run_due()
        self._catch_up()
        accepting = self.accepting
        suspended = self._checkpoints.suspended
        if self._source is not None:
            self._note_standstill(standing=not accepting or suspended)
        if self._debloating is not None:
            self._debloating.send_what_is_waited_for()
        worked = (accepting or self._lets_barrier_pass()) and self._read()
        self._catch_up()
        if not self.input_over and not suspended and self._input_over():
            self._finish()
        if self.input_over and not self._awaits_checkpoint():
            self._end()
        self._busy = worked
        if self._finished:
            return Turn.FINISHED
        if self._debloating is not None:
            self._debloating.turned(worked=worked)
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
        resting = self.input_over or self._checkpoints.suspended
        due = None if resting else self._chain.due_at()
        if due is not None:
            times.append(now + max(0, due - self._clock.now()))
        if self._source is not None and not self._ending and not resting:
            if self.accepting:
                times.append(self._source.poll_at())
            times.append(self._source.due_at())
            if self._settings.latency_interval_ms > 0:
                times.append(self._next_marker)
        first = min(times, default=math.inf)
        return None if first == math.inf else first

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
        if self.input_over or self._checkpoints.suspended:
            return
        due = self._chain.due_at()
        if due is not None and due <= (wall := self._clock.now()):
            self._chain.run_due(wall)
        if self._ending:
            return
        if self._source is not None and self._source.due_at() <= now:
            self._source.run_due(now)
        if self._settings.latency_interval_ms > 0 and self._next_marker <= now:
            self._mark_latency(now)

    def _catch_up(self) -> None:
        # The end of input takes event time further than anything that was held back.
        if not self._ending and not self._checkpoints.suspended:
            self._catching_up.go_on()

    def _note_standstill(self, *, standing: bool) -> None:
        """A source that is not read because an operator takes no more is not idle."""
        since, self._standing_since = self._standing_since, None
        if since is not None or standing:
            now = self._clock.monotonic()
            if since is not None:
                self.stood_still(now - since)
            self._standing_since = now if standing else None

    def _read(self) -> bool:
        # Room for frames costs some microseconds, which a run of few records does without.
        return self._read_with_room() if self._pacer.latest >= MANY else self._read_next()

    @roomy
    def _read_with_room(self) -> bool:
        return self._read_next()

    def _read_next(self) -> bool:
        return self._read_source() if self._source is not None else self._read_inputs()

    def _read_source(self) -> bool:
        assert self._source is not None  # noqa: S101  (asked by turn)
        if self._source.ended or self._had_finished or self._checkpoints.suspended:
            return False
        start, sent = self._clock.monotonic(), self.outbox.bytes_out
        if self._source.poll_at() > start:
            return False
        count = self._source.poll(self._run_limit())
        if not count:
            return False
        self._pacer.observe(count, self._clock.monotonic() - start, self.outbox.bytes_out - sent)
        return True

    def _read_inputs(self) -> bool:
        try:
            taken = self._inputs.take(self._run_limit(), self._checkpoints.blocked)
        except FrameError:
            raise
        except Exception as error:  # values are made here: a user's class may refuse to be
            raise operator_failed(self._chain.head.name, error) from error
        if taken is None:
            return False
        start, sent = self._clock.monotonic(), self.outbox.bytes_out
        channel, element = taken
        self._handle(channel, element)
        if isinstance(element, Records):
            took = self._clock.monotonic() - start
            self._pacer.observe(len(element.values), took, self.outbox.bytes_out - sent)
            if self._debloating is not None:
                self._debloating.worked(channel, len(element.values))
        return True

    def _run_limit(self) -> int:
        limit = self._pacer.limit
        return limit if self._debloating is None else max(1, min(limit, self._debloating.room))

    @property
    def _has_room(self) -> bool:
        return self._chain.accepting and not self._catching_up.takes_nothing_new

    def _lets_barrier_pass(self) -> bool:
        """A barrier is no record: it goes on although the consumers are behind."""
        return self.held_back and self._has_room and self._inputs.barrier_next

    def _handle(self, channel: InputChannel, element: Element) -> None:
        match element:
            case Records(values, timestamps):
                self._chain.head.states.doubtful = channel.doubtful
                self._accept[channel.input_index](values, timestamps)
            case Watermark(time):
                self._progress(self._time.watermark(channel.index, time))
            case WatermarkStatus(idle):
                self._progress(self._time.status(channel.index, idle=idle))
            case LatencyMarker():
                self._chain.measure(element)
            case EndOfInput():
                self._progress(self._time.ended(channel.index))
            case EndOfChannel():
                self._checkpoints.channel_ended(channel)
            case Barrier():
                self._checkpoints.barrier(channel, element)
            case _:
                assert_never(element)

    def _progress(self, progress: Progress) -> None:
        watermark, idle = progress
        if idle is False:
            self._chain.status(idle=False)
        if watermark is not None:
            self._chain.advance(watermark)
        if idle:
            self._chain.status(idle=True)

    def _input_over(self) -> bool:
        if self._source is None:
            return self._inputs.finished
        return self._had_finished or self._source.ended

    def _finish(self) -> None:
        """All input was processed: flush the functions; the task ends after one more checkpoint."""
        begins, self._ending = not self._ending, True
        if not self._had_finished:
            if begins:
                if self._source is not None:
                    self._source.leave_group()
                self._chain.advance(MAX_WATERMARK)
            if not self._chain.drained:
                return
            self._chain.finish()
        self._checkpoints.input_over = True
        self._checkpoints.was_drained = self._source is not None and self._source.drained
        for output in self._outputs:
            output.control(EndOfInput())
        self._checkpoints.take_held()

    def _awaits_checkpoint(self) -> bool:
        """Whether a checkpoint has to complete before the task, whose input is over, ends."""
        if self._settings.final_checkpoint and self.deployment.checkpoint_folder is not None:
            return True
        if self._source is not None:
            return self._source.drained
        # As long as there are producers the barrier of a savepoint may follow the end of their records.
        return not self._inputs.ended

    def _end(self) -> None:
        for output in self._outputs:
            output.control(EndOfChannel())
        self._finished = True
        if self._debloating is not None:
            self._debloating.release()

    def _mark_latency(self, now: float) -> None:
        self._next_marker = now + self._settings.latency_interval_ms
        if self._source is not None:
            described = self.deployment.operators[0]
            self._chain.measure(
                LatencyMarker(self._clock.now(), described.name, self.deployment.subtask)
            )

    def _works_on_columns(self) -> bool:
        spec = self.deployment.operators[0].spec
        if isinstance(spec, SourceSpec):
            return spec.source.gives_columns
        return self._chain.head.takes_columns

    def _register_metrics(self) -> None:
        group = MetricGroup(self.metrics.task)
        group.gauge("numBytesOut", lambda: self.outbox.bytes_out)
        group.gauge("numBytesIn", lambda: self._inputs.bytes_in)
        group.gauge("inputQueueLength", lambda: self._inputs.waiting_records)
        group.gauge("outputQueueLength", lambda: sum(o.buffered for o in self._outputs))
        group.gauge("checkpointAlignmentTime", lambda: self._checkpoints.last_alignment_ms)
        group.gauge("stateEntries", self._chain.state_entries)
        group.gauge("currentInputWatermark", lambda: self._time.current)
        group.gauge("currentOutputWatermark", self._chain.time_out)
        inputs = self._time.inputs
        if len(inputs) > 1:
            for number, valve in inputs.items():
                group.gauge(f"currentInput{number + 1}Watermark", valve.time)
        if self._debloating is not None:
            self._debloating.register_metrics(group, self._resources.queued)
        head = self._chain.head
        is_source = self._source is not None
        group.gauge("numRecordsIn", lambda: 0 if is_source else head.records_in.get_count())
        group.gauge("numRecordsOut", self._chain.records_out)
