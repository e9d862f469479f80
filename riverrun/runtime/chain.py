"""The operators of a task, linked so that one's output is the next one's input.

The chain is a tree: an operator's main output and each of its side outputs may feed several chained
operators and several edges. Runs go down it by plain calls; nothing is copied or encoded on the way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from riverrun.core import options
from riverrun.core.clock import Clock
from riverrun.graph.deployment import ChainedOperator, TaskDeployment
from riverrun.graph.reinterpreted_key import Place, checked_in
from riverrun.graph.specs import SourceSpec
from riverrun.metrics.groups import MetricGroup
from riverrun.metrics.metric import Counter, Histogram
from riverrun.metrics.registry import TaskMetrics
from riverrun.protocol.elements import (
    MAX_WATERMARK,
    MIN_TIMESTAMP,
    LatencyMarker,
    Watermark,
    WatermarkStatus,
)
from riverrun.runtime.context import TaskRuntimeContext
from riverrun.runtime.emit import Emit
from riverrun.runtime.failures import OperatorFailed, blamed, operator_failed
from riverrun.runtime.operator_states import FrozenStates, OperatorStates, TaskResources
from riverrun.runtime.operators.operator import Operator, OperatorContext
from riverrun.runtime.operators.sink import SinkOperator
from riverrun.runtime.operators.table import build
from riverrun.runtime.output import EdgeOutput
from riverrun.serde.check import checker_for
from riverrun.serde.columns import ColumnRun, layout_of, plain_rows, plain_times

_LATENCY_WINDOW: Final = 1024
_FRAMES_PER_LINK: Final = 8
_FRAMES_BESIDE: Final = 1000


@dataclass(frozen=True, slots=True)
class ClientRun:
    """A run of values for the client; with a ``commit`` id it must be delivered once only."""

    operator_id: str
    values: list[Any]
    commit: str | None = None


class ClientRuns:
    """Runs on their way to the client; the shell takes them after each turn."""

    def __init__(self) -> None:
        self._runs: list[ClientRun] = []

    def channel(self, operator_id: str) -> _ClientChannel:
        """The channel of one sink."""
        return _ClientChannel(operator_id, self._runs)

    def take(self) -> list[ClientRun]:
        """Everything waiting."""
        runs = self._runs[:]
        self._runs.clear()
        return runs


class _ClientChannel:
    def __init__(self, operator_id: str, runs: list[ClientRun]) -> None:
        self._operator_id, self._runs = operator_id, runs

    def send(self, values: Iterable[Any], commit: str | None = None) -> None:
        self._runs.append(ClientRun(self._operator_id, list(values), commit))


class Link:
    """One operator of the chain, its outputs and its counters."""

    def __init__(
        self, described: ChainedOperator, name: str, states: OperatorStates, metrics: TaskMetrics
    ) -> None:
        self.described = described
        self.name = name
        self.states = states
        self.operator: Operator | None = (
            None if isinstance(described.spec, SourceSpec) else build(described.spec)
        )
        self.takes_columns = self.operator is not None and self.operator.takes_columns
        self._takes_times = self.takes_columns or (
            self.operator is not None and self.operator.takes_time_columns
        )
        self.main: list[Emit] = []
        self.sides: dict[str, list[Emit]] = {}
        self.edges: list[EdgeOutput] = []
        self.children: list[Link] = []
        group = MetricGroup(metrics.operator(name))
        self.records_in: Counter = group.counter("numRecordsIn")
        self.records_out: Counter = group.counter("numRecordsOut")
        self.latency: Histogram = group.histogram("latency", _LATENCY_WINDOW)
        self._time_in = self.time_out = MIN_TIMESTAMP
        group.gauge("currentInputWatermark", lambda: self._time_in)
        group.gauge("currentOutputWatermark", lambda: self.time_out)
        self._check = (
            checker_for(described.output_type)
            if described.output_type is not None and described.enforce_type
            else None
        )
        self._checked_layout = None
        if self._check is not None and described.output_type is not None:
            # Columns of the declared type need no look at their values.
            self._checked_layout = layout_of(described.output_type)
        self._opened = False

    def accept_second(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Take a run of the second input through this operator and all that follow it."""
        self.records_in.inc(len(values))
        rows, times = plain_rows(values), plain_times(timestamps)
        self._guard(lambda op: op.process_second(rows, times, self.emit))

    def accept(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Take a run through this operator and all that follow it."""
        self.records_in.inc(len(values))
        operator = self.operator
        assert operator is not None  # noqa: S101  (a source has no input)
        if not self.takes_columns:
            values = plain_rows(values)
            if not self._takes_times:
                timestamps = plain_times(timestamps)
        try:
            operator.process(values, timestamps, self.emit)
        except OperatorFailed:
            raise
        except Exception as error:
            raise operator_failed(self.name, error) from error

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Send a run of this operator's main output on."""
        self.records_out.inc(len(values))
        if self._check is not None and not (
            isinstance(values, ColumnRun) and values.layout is self._checked_layout
        ):
            try:
                self._check(values)
            except TypeError as error:
                raise OperatorFailed(self.name, getattr(error, "value_repr", None)) from error
        for emit in self.main:
            emit(values, timestamps)

    def emit_side(self, tag: str) -> Emit:
        """Where records of the side output ``tag`` go; nowhere when nobody reads it."""
        emits = self.sides.get(tag, [])

        def emit(values: list[Any], timestamps: list[int] | None) -> None:
            self.records_out.inc(len(values))
            for each in emits:
                each(values, timestamps)

        return emit

    def open(self, context: OperatorContext) -> None:
        self._opened = True
        self._guard(lambda op: op.open(context))

    def recommit(self, context: OperatorContext) -> None:
        """Open nothing of a finished operator; a sink commits what its last checkpoint prepared."""
        operator = self.operator
        if isinstance(operator, SinkOperator):
            self._opened = True
            self._guard(lambda _: operator.recommit(context))

    def freeze(
        self, checkpoint: int, timestamp: int, *, finished: bool, savepoint: bool
    ) -> FrozenStates:
        """Bring the operator's state up to date and freeze it."""
        if self._opened:
            self._guard(lambda op: op.snapshot(checkpoint, timestamp))
        return self.states.freeze(checkpoint, finished=finished, savepoint=savepoint)

    def checkpoint_completed(self, checkpoint: int) -> None:
        self.states.checkpoint_completed(checkpoint)
        if self._opened:
            self._guard(lambda op: op.checkpoint_completed(checkpoint))

    def checkpoint_aborted(self, checkpoint: int) -> None:
        self.states.checkpoint_aborted(checkpoint)
        if self._opened:
            self._guard(lambda op: op.checkpoint_aborted(checkpoint))

    def finish(self) -> None:
        self._guard(lambda op: op.finish(self.emit))
        for child in self.children:
            child.finish()

    def advance(self, watermark: int) -> None:
        """Event time has reached ``watermark`` here."""
        self._time_in = watermark
        self._guard(lambda op: op.advance(watermark, self.emit))
        if self.operator is None or self.operator.passes_time:
            self.watermark(watermark)

    def receive_status(self, *, idle: bool) -> None:
        """The input of this operator fell idle, or is active again."""
        self._guard(lambda op: op.status(idle=idle))
        if self.operator is None or self.operator.passes_time:
            self.status(idle=idle)

    def watermark(self, time: int) -> None:
        """Tell everything downstream that event time has reached ``time``."""
        self.time_out = time
        for child in self.children:
            child.advance(time)
        # The end of input says the same as the last watermark, and follows it.
        if time < MAX_WATERMARK:
            for edge in self.edges:
                edge.control(Watermark(time))

    def status(self, *, idle: bool) -> None:
        """Tell everything downstream whether this operator counts for event time."""
        for child in self.children:
            child.receive_status(idle=idle)
        for edge in self.edges:
            edge.control(WatermarkStatus(idle))

    def run_due(self, now: int) -> None:
        """Let the operator do what its ``due_at`` announced."""
        self._guard(lambda op: op.run_due(now, self.emit))

    def measure(self, marker: LatencyMarker, now: float) -> None:
        """Note how long ``marker`` took to get here, and pass it on."""
        self.latency.update(now - marker.emitted_ms)
        for child in self.children:
            child.measure(marker, now)
        for edge in self.edges:
            edge.mark(marker)

    def close(self) -> None:
        try:
            if self._opened:
                self._opened = False
                self._guard(lambda op: op.close())
        finally:
            self.states.close()

    def _guard(self, call: Callable[[Operator], None]) -> None:
        if self.operator is not None:
            with blamed(self.name):
                call(self.operator)


class Chain:
    """All links of a task; the head is fed by the inputs or by the source."""

    def __init__(
        self,
        deployment: TaskDeployment,
        outputs: Iterable[tuple[int, str | None, EdgeOutput]],
        metrics: TaskMetrics,
        clock: Clock,
        resources: TaskResources,
    ) -> None:
        self._deployment = deployment
        self._metrics = metrics
        self._clock = clock
        self._wake = resources.wake
        self.client_runs = ClientRuns()
        keyed = sum(described.key_selector is not None for described in deployment.operators)
        self._links = [
            Link(
                described,
                name,
                OperatorStates(name, described, deployment, resources, clock, keyed),
                metrics,
            )
            for described, name in zip(
                deployment.operators, _unique_names(deployment.operators), strict=True
            )
        ]
        self.head = self._links[0]
        operators = [(link, link.operator) for link in self._links if link.operator is not None]
        self._timed = [
            (link, operator)
            for link, operator in operators
            if type(operator).due_at is not Operator.due_at
        ]
        self._slow = [
            operator
            for _, operator in operators
            if type(operator).accepting is not Operator.accepting
            or type(operator).drained is not Operator.drained
        ]
        self._waiting_for_records = [
            operator
            for _, operator in operators
            if type(operator).stood_still is not Operator.stood_still
        ]
        # A run goes down the chain by nested calls, a few for each operator.
        depth = _FRAMES_BESIDE + _FRAMES_PER_LINK * len(self._links)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), depth))
        self._connect(outputs)

    def _connect(self, outputs: Iterable[tuple[int, str | None, EdgeOutput]]) -> None:
        for link in self._links[1:]:
            parent = self._links[link.described.parent or 0]
            _reading(parent, link.described.tag).append(link.accept)
            parent.children.append(link)
        for operator, tag, output in outputs:
            link = self._links[operator]
            _reading(link, tag).append(output.emit)
            link.edges.append(output)

    @property
    def links(self) -> Sequence[Link]:
        """Every link, from the head on."""
        return self._links

    @property
    def states(self) -> list[OperatorStates]:
        """The state of each operator, from the head on."""
        return [link.states for link in self._links]

    def open(self) -> None:
        """Open every operator, from the tail to the head: what is downstream is ready first."""
        for link in reversed(self._links):
            link.open(self._context(link))

    def open_finished(self) -> None:
        """Open nothing: every operator had finished. Sinks commit what their last checkpoint prepared."""
        # Nothing is due in an operator that was not opened, and it holds nothing up.
        self._timed, self._slow, self._waiting_for_records = [], [], []
        for link in reversed(self._links):
            link.recommit(self._context(link))

    def freeze(
        self, checkpoint: int, timestamp: int, *, finished: bool, savepoint: bool = False
    ) -> list[FrozenStates]:
        """The state of all operators now, from the head on."""
        return [
            link.freeze(checkpoint, timestamp, finished=finished, savepoint=savepoint)
            for link in self._links
        ]

    def checkpoint_completed(self, checkpoint: int) -> None:
        """Tell every operator that ``checkpoint`` can be relied on."""
        for link in self._links:
            link.checkpoint_completed(checkpoint)

    def checkpoint_aborted(self, checkpoint: int) -> None:
        """Tell every operator that ``checkpoint`` will never exist."""
        for link in self._links:
            link.checkpoint_aborted(checkpoint)

    def _context(self, link: Link) -> OperatorContext:
        described = link.described
        metrics = self._metrics.operator(link.name)
        checkpointing = self._deployment.checkpoint_folder is not None
        place = Place(
            link.name,
            self._deployment.subtask,
            self._deployment.parallelism,
            self._deployment.max_parallelism,
        )
        return OperatorContext(
            name=link.name,
            operator_id=described.operator_id,
            runtime=TaskRuntimeContext(self._deployment, metrics, link.states),
            clock=self._clock,
            key_selector=checked_in(place, described.key_selector),
            second_key_selector=checked_in(place, described.second_key_selector),
            emit=link.emit,
            side_output=link.emit_side,
            time_output=link,
            wake=self._wake,
            to_client=self.client_runs.channel(described.operator_id),
            subtask=self._deployment.subtask,
            parallelism=self._deployment.parallelism,
            states=link.states,
            value_type=described.output_type,
            checkpointing=checkpointing,
            final_checkpoint=checkpointing
            and options.CHECKPOINTS_AFTER_FINISH.get(self._deployment.config),
            config=self._deployment.config,
        )

    def finish(self) -> None:
        """Tell every operator, from the head on, that the input ended."""
        self.head.finish()

    def advance(self, watermark: int) -> None:
        """Tell every operator, from the head on, that event time advanced."""
        self.head.advance(watermark)

    def status(self, *, idle: bool) -> None:
        """Tell every operator, from the head on, whether its input counts for event time."""
        self.head.receive_status(idle=idle)

    def stood_still(self, ms: float) -> None:
        """Tell every operator that cares that the task could not go on for this long."""
        for operator in self._waiting_for_records:
            operator.stood_still(ms)

    @property
    def accepting(self) -> bool:
        """Whether every operator takes more input."""
        return all(operator.accepting for operator in self._slow)

    @property
    def drained(self) -> bool:
        """Whether everything that was taken in has come out."""
        return all(operator.drained for operator in self._slow)

    @property
    def awaiting(self) -> bool:
        """Whether something outside is under way that will wake the task."""
        return any(operator.awaiting for operator in self._slow)

    def due_at(self) -> int | None:
        """When an operator has something to do, by the wall clock in milliseconds."""
        times = [time for _, operator in self._timed if (time := operator.due_at()) is not None]
        return min(times, default=None)

    def run_due(self, now: int) -> None:
        """Let operators do what is due at ``now``, from the head on."""
        for link, operator in self._timed:
            due = operator.due_at()
            if due is not None and due <= now:
                link.run_due(now)

    def measure(self, marker: LatencyMarker) -> None:
        """Take a latency marker through the chain."""
        self.head.measure(marker, self._clock.now())

    def state_entries(self) -> int:
        """About how many entries of keyed state this task holds."""
        return sum(link.states.entry_count() for link in self._links)

    def records_out(self) -> int:
        """How many records left this task over its edges."""
        return sum(link.records_out.get_count() for link in self._links if link.edges)

    def time_out(self) -> int:
        """The watermark that left this task last; the least, where operators have different ones."""
        return min(
            (link.time_out for link in self._links if link.edges), default=self.head.time_out
        )

    def close(self) -> BaseException | None:
        """Close every operator that was opened; the first error is given back, none is lost silently."""
        first: BaseException | None = None
        for link in self._links:
            try:
                link.close()
            except OperatorFailed as error:
                first = first or error
        return first


def _reading(link: Link, tag: str | None) -> list[Emit]:
    return link.main if tag is None else link.sides.setdefault(tag, [])


def _unique_names(operators: tuple[ChainedOperator, ...]) -> list[str]:
    seen: dict[str, int] = {}
    names = []
    for operator in operators:
        seen[operator.name] = seen.get(operator.name, 0) + 1
        count = seen[operator.name]
        names.append(operator.name if count == 1 else f"{operator.name} ({count})")
    return names
