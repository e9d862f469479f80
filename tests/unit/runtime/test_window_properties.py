"""Windows give what their definition says, in any order of records, with any trigger and evictor, after restarts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from riverrun.api.window_assigners import (
    ProcessingTimeSessionWindows,
    SlidingProcessingTimeWindows,
    TumblingProcessingTimeWindows,
)
from riverrun.datastream.data_stream import DataStream
from riverrun.testing.harness import HarnessSnapshot, OperatorHarness
from tests.oracles.window_scripts import (
    EVICTIONS,
    LATENESS,
    RULES,
    SHAPES,
    Case,
    Gather,
    Playing,
    Show,
    check,
    joined,
    playings,
    scripts,
    shown,
)
from tests.oracles.windows import (
    Eviction,
    Fired,
    Record,
    Rule,
    Shape,
    Step,
    Watermark,
    Windows,
    count_windows,
    final_windows,
)

OWN = st.just(Rule("end"))
FOLDINGS = st.sampled_from(["list", "reduce", "aggregate"])


def examples(count: int, *, shrink: bool = True) -> Callable[[Any], Any]:
    phases = [phase for phase in Phase if shrink or phase not in {Phase.shrink, Phase.explain}]
    return settings(
        max_examples=count,
        deadline=None,
        phases=phases,
        suppress_health_check=[HealthCheck.too_slow],
    )


@given(
    st.builds(Case, SHAPES, OWN, LATENESS, folding=FOLDINGS, own_classes=st.booleans()),
    scripts(),
    playings("hashmap"),
)
@examples(100)
def test_windows_with_their_own_trigger(
    case: Case, script: Sequence[Step], playing: Playing
) -> None:
    check(case, script, playing)


@given(st.builds(Case, SHAPES, RULES, LATENESS, folding=FOLDINGS), scripts(), playings("hashmap"))
@examples(80)
def test_windows_with_any_trigger(case: Case, script: Sequence[Step], playing: Playing) -> None:
    check(case, script, playing)


@given(
    st.builds(Case, SHAPES, RULES, LATENESS, EVICTIONS, FOLDINGS), scripts(), playings("hashmap")
)
@examples(80)
def test_windows_with_evictors(case: Case, script: Sequence[Step], playing: Playing) -> None:
    check(case, script, playing)


@given(
    st.builds(
        Case,
        st.just(Shape("global")),
        st.sampled_from([Rule("count", 2), Rule("count", 3, purging=True), Rule("never")]),
        st.just(0),
        st.none() | EVICTIONS,
        FOLDINGS,
    ),
    scripts(),
    playings("hashmap"),
)
@examples(30)
def test_global_windows(case: Case, script: Sequence[Step], playing: Playing) -> None:
    check(case, script, playing)


@given(
    st.builds(Case, SHAPES, RULES, LATENESS, st.none() | EVICTIONS, FOLDINGS),
    scripts(),
    playings("rocksdb", "hashmap"),
)
@examples(10, shrink=False)  # each try opens databases
def test_windows_whose_state_moves_between_backends(
    case: Case, script: Sequence[Step], playing: Playing
) -> None:
    check(case, script, playing)


@given(SHAPES, scripts())
@settings(max_examples=60, deadline=None)
def test_the_oracle_agrees_with_the_definition_of_complete_windows(
    shape: Shape, script: Sequence[Step]
) -> None:
    records = [step for step in script if isinstance(step, Record)]
    oracle = Windows(shape, Rule("end"))
    fired = [one for step in [*records, script[-1]] for one in oracle.step(step)]

    def unordered(found: Any) -> Any:
        return sorted((one.key, one.window, sorted(one.numbers)) for one in found)

    assert unordered(fired) == unordered(final_windows(shape, records))
    assert oracle.late == []


@given(
    st.sampled_from(["tumbling", "sliding", "session"]),
    FOLDINGS,
    st.lists(st.tuples(st.integers(0, 7), st.sampled_from("ab")), min_size=1, max_size=20),
    st.frozensets(st.integers(0, 20), max_size=2),
)
@examples(40)
def test_windows_of_the_wall_clock(
    kind: str, folding: str, arrivals: list[tuple[int, str]], restarts: frozenset[int]
) -> None:
    """They are windows of event time, if a record's time is when it came and the watermark is the clock."""
    shape = Shape(kind, 10, 4 if kind == "sliding" else 10)
    assigner = {
        "tumbling": TumblingProcessingTimeWindows.of(10),
        "sliding": SlidingProcessingTimeWindows.of(10, 4),
        "session": ProcessingTimeSessionWindows.with_gap(10),
    }[kind]

    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda value: value[0]).window(assigner)
        if folding == "list":
            return windows.process(Show())
        return (
            windows.reduce(joined, Show())
            if folding == "reduce"
            else windows.aggregate(Gather(), Show())
        )

    case = Case(shape, Rule("end"), folding=folding)
    oracle = case.oracle()
    harness = OperatorHarness(build)
    try:
        for number, (pause, key) in enumerate([*arrivals, (100, "a")]):
            harness.advance_clock(pause)
            now = harness.now()
            wanted = oracle.step(Watermark(now - 1))
            assert shown(case, [Fired(*value) for value in harness.output()]) == shown(case, wanted)
            if number in restarts:
                snapshot = harness.snapshot()
                harness.close()
                harness = OperatorHarness(build, restore=snapshot, start=now)
            assert oracle.step(Record(key, number, now)) == []
            harness.push((key, (number,), 1))
            assert harness.output() == []
    finally:
        harness.close()


@given(
    st.integers(1, 5),
    st.integers(1, 5),
    st.lists(st.sampled_from("ab"), max_size=30),
    st.integers(0, 30),
)
@examples(40)
def test_count_windows(size: int, slide: int, keys: list[str], restart: int) -> None:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda value: value[0])
        counted = windows.count_window(size) if size == slide else windows.count_window(size, slide)
        return counted.reduce(joined)

    records = [Record(key, number, 0) for number, key in enumerate(keys)]
    found: list[tuple[str, list[int]]] = []
    snapshot: HarnessSnapshot | None = None
    for part in (records[:restart], records[restart:]):
        with OperatorHarness(build, restore=() if snapshot is None else snapshot) as harness:
            harness.push_run([(one.key, (one.number,), 0) for one in part])
            found += [(key, list(numbers)) for key, numbers, _ in harness.output()]
            snapshot = harness.snapshot()

    assert sorted(found) == sorted(count_windows(size, slide, records))


@pytest.mark.parametrize(
    "eviction", [Eviction("count", 2, after=False), Eviction("time", 3, after=True)]
)
def test_the_oracle_evicts(eviction: Eviction) -> None:
    records = [Record("a", number, number) for number in range(5)]

    assert [record.number for record in eviction.left(records)] == [
        number for number in range(5) if number >= (3 if eviction.kind == "count" else 2)
    ]
