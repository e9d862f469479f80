"""Scripts of records and watermarks, and how they are played to a window operator in a harness."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from hypothesis import strategies as st

from riverrun.api.evictor import Evictor
from riverrun.api.evictors import CountEvictor, DeltaEvictor, TimeEvictor
from riverrun.api.functions import AggregateFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.trigger import Trigger
from riverrun.api.triggers import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeTrigger,
    NeverTrigger,
    PurgingTrigger,
)
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_assigners import (
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from riverrun.api.window_functions import ProcessWindowFunction
from riverrun.api.windows import TimeWindow
from riverrun.datastream.data_stream import DataStream
from riverrun.testing.harness import HarnessSnapshot, OperatorHarness
from tests.oracles.windows import (
    BEFORE_ALL,
    FOREVER,
    Eviction,
    Fired,
    Record,
    Rule,
    Shape,
    Step,
    Watermark,
    Windows,
)

LATE = OutputTag("late")
Value: TypeAlias = tuple[str, tuple[int, ...], int]
"""Key, numbers and gap of a record, or of several that were folded."""


@dataclass(frozen=True)
class Case:
    """A windowed stream and how its function gets the records."""

    shape: Shape
    rule: Rule
    lateness: int = 0
    eviction: Eviction | None = None
    folding: str = "list"
    own_classes: bool = False
    """Whether assigner and trigger are of classes that the engine cannot know."""

    def oracle(self) -> Windows:
        """Says what must come out."""
        return Windows(self.shape, self.rule, self.lateness, self.eviction)

    def build(self, stream: DataStream) -> DataStream:
        """The program."""
        windowed = stream.key_by(lambda value: value[0]).window(
            assigner_of(self.shape, own_classes=self.own_classes)
        )
        trigger = trigger_of(self.rule, own_classes=self.own_classes)
        windowed.trigger(trigger).side_output_late_data(LATE)
        if self.lateness:
            windowed.allowed_lateness(self.lateness)
        if self.eviction is not None:
            windowed.evictor(evictor_of(self.eviction))
        if self.folding == "reduce":
            return windowed.reduce(joined, Show())
        if self.folding == "aggregate":
            return windowed.aggregate(Gather(), Show())
        return windowed.process(Show())


def joined(one: Value, two: Value) -> Value:
    return one[0], one[1] + two[1], one[2]


class Gather(AggregateFunction):
    """Changes its accumulator, as it may."""

    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Value, accumulator: list[Any]) -> list[Any]:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[Any]) -> Value:
        key, _, gap = accumulator[0]
        return key, tuple(number for value in accumulator for number in value[1]), gap

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        acc_a += acc_b
        return acc_a


class Show(ProcessWindowFunction[Any, Any, Any, Any]):
    """Gives a window as the oracle does."""

    def process(
        self, key: str, context: ProcessWindowFunction.Context[Any], elements: Iterable[Value]
    ) -> Iterator[tuple[Any, ...]]:
        window = context.window()
        span = (BEFORE_ALL, FOREVER + 1)
        if isinstance(window, TimeWindow):
            span = (window.start, window.end)
        yield key, span, tuple(number for value in elements for number in value[1])


def assigner_of(shape: Shape, *, own_classes: bool = False) -> WindowAssigner[Any, Any]:
    match shape.kind:
        case "tumbling":
            return TumblingEventTimeWindows.of(shape.size, shape.offset)
        case "sliding":
            return SlidingEventTimeWindows.of(shape.size, shape.slide, shape.offset)
        case "session" if shape.size:
            return (OwnSessions if own_classes else EventTimeSessionWindows)(shape.size)
        case "session":
            return EventTimeSessionWindows.with_dynamic_gap(lambda value: value[2])
    return GlobalWindows.create()


def trigger_of(rule: Rule, *, own_classes: bool = False) -> Trigger[Any, Any]:
    trigger: Trigger[Any, Any]
    match rule.kind:
        case "end":
            trigger = OwnEventTime() if own_classes else EventTimeTrigger()
        case "count":
            trigger = CountTrigger(rule.every)
        case "continuous":
            trigger = ContinuousEventTimeTrigger(rule.every)
        case _:
            trigger = NeverTrigger()
    return PurgingTrigger(trigger) if rule.purging else trigger


class OwnEventTime(EventTimeTrigger[Any]):
    """The same by another name: nothing is known about it but its methods."""


class OwnSessions(EventTimeSessionWindows[Any]):
    """The same by another name."""


def evictor_of(eviction: Eviction) -> Evictor[Any, Any]:
    match eviction.kind:
        case "count":
            return CountEvictor.of(eviction.limit, eviction.after)
        case "time":
            return TimeEvictor.of(eviction.limit, eviction.after)
    return DeltaEvictor.of(
        eviction.limit, lambda one, two: abs(one[1][0] - two[1][0]), eviction.after
    )


SHAPES = st.sampled_from(
    [
        Shape("tumbling", 10, 10, 0),
        Shape("tumbling", 7, 7, -3),
        Shape("sliding", 10, 4, 1),
        Shape("sliding", 12, 4, 0),
        Shape("sliding", 3, 5, 0),
        Shape("session", 6),
        Shape("session", 0),
    ]
)
RULES = st.sampled_from(
    [
        Rule("end"),
        Rule("end", purging=True),
        Rule("count", 2),
        Rule("count", 3, purging=True),
        Rule("continuous", 4),
        Rule("continuous", 3, purging=True),
    ]
)
EVICTIONS = st.builds(
    Eviction, st.sampled_from(["count", "time", "delta"]), st.integers(1, 6), st.booleans()
)
LATENESS = st.sampled_from([0, 0, 4, 50])


@st.composite
def scripts(draw: st.DrawFn, longest: int = 30) -> list[Step]:
    """Records near a clock that moves on, and watermarks that follow it; the end of input comes last."""
    steps: list[Step] = []
    clock = 0
    for number in range(draw(st.integers(1, longest))):
        clock += draw(st.integers(0, 4))
        if draw(st.integers(0, 4)) == 0:
            steps.append(Watermark(clock - draw(st.integers(-3, 12))))
        else:
            key = draw(st.sampled_from("abc"))
            time = max(0, clock - draw(st.sampled_from([0, 0, 1, 2, 5, 9, 20])))
            steps.append(Record(key, number, time, draw(st.integers(1, 9))))
    return [*steps, Watermark(FOREVER)]


@dataclass(frozen=True)
class Playing:
    """How a script is played: in runs of which lengths, and after which phases all starts anew."""

    runs: Sequence[int]
    restarts: frozenset[int]
    backends: tuple[str, ...] = ("hashmap",)


def playings(*backends: str) -> st.SearchStrategy[Playing]:
    return st.builds(
        Playing,
        st.lists(st.integers(1, 6), min_size=1, max_size=4),
        st.frozensets(st.integers(0, 12), max_size=3),
        st.just(backends),
    )


def check(case: Case, script: Sequence[Step], playing: Playing) -> None:
    """What comes out of the operator is what the oracle says, phase by phase."""
    oracle = case.oracle()
    stage = _Stage(case, playing)
    try:
        for number, (is_record, phase) in enumerate(
            groupby(script, lambda step: isinstance(step, Record))
        ):
            steps = list(phase)
            wanted = [fired for step in steps for fired in oracle.step(step)]
            stage.play(steps, is_record=is_record)
            assert shown(case, stage.fired()) == shown(case, wanted), steps
            if number in playing.restarts:
                stage.restart()
                assert shown(case, stage.fired()) == shown(case, oracle.watermark_again())
        assert sorted(stage.late()) == sorted(oracle.late)
        if case.shape.kind != "global":
            stage.require_nothing_left()
    finally:
        stage.harness.close()


class _Stage:
    def __init__(self, case: Case, playing: Playing) -> None:
        self._case = case
        self._playing = playing
        self._started = 0
        self._late: list[int] = []
        self._watermark = BEFORE_ALL
        self._ended = False
        self.harness = self._start(())

    def _start(self, restore: Sequence[HarnessSnapshot]) -> OperatorHarness:
        backends = self._playing.backends
        self._started += 1
        return OperatorHarness(
            self._case.build,
            side_outputs=[LATE],
            backend=backends[self._started % len(backends)],
            restore=restore,
        )

    def play(self, steps: Sequence[Step], *, is_record: bool) -> None:
        if is_record:
            records = [step for step in steps if isinstance(step, Record)]
            for run in _cut(records, self._playing.runs):
                values = [(one.key, (one.number,), one.gap) for one in run]
                self.harness.push_run(values, [one.time for one in run])
            return
        for step in steps:
            if step.time == FOREVER:
                self._ended = True
                self.harness.end_input()
            elif step.time > self._watermark:
                self._watermark = step.time
                self.harness.watermark(step.time)

    def fired(self) -> list[Fired]:
        out = self.harness.records()
        for (_, window, _), time in out:
            assert time == min(window[1] - 1, FOREVER)
        return [Fired(*value) for value, _ in out]

    def late(self) -> list[int]:
        self._late += [value[1][0] for value in self.harness.side_output(LATE)]
        return self._late

    def restart(self) -> None:
        if self._ended:
            return
        snapshot = self.harness.snapshot()
        self.late()
        self.harness.close()
        self.harness = self._start([snapshot])
        if self._watermark > BEFORE_ALL:
            # The watermark is no state; the sources bring it back before any record.
            self.harness.watermark(self._watermark)

    def require_nothing_left(self) -> None:
        for name in ("_window.contents", "_window.merging", "_window.trigger.count"):
            assert self.harness.keys(name) == [], name


def _cut(records: list[Record], lengths: Sequence[int]) -> Iterator[list[Record]]:
    turn = 0
    while records:
        length = lengths[turn % len(lengths)]
        yield records[:length]
        records = records[length:]
        turn += 1


def shown(case: Case, fired: Iterable[Fired]) -> list[Fired]:
    """Firings in an order of their own; so are records where merging or sharing slices may mix them."""
    sessions = case.shape.kind == "session" and case.eviction is None
    slices = case.shape.kind == "sliding" and case.folding != "list"
    if sessions or slices:
        fired = [one._replace(numbers=tuple(sorted(one.numbers))) for one in fired]
    return sorted(fired)
