"""Windows give what their definition says, in any order of records, with any trigger and evictor, after restarts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.oracles.window_scripts import (
    EVICTIONS,
    LATENESS,
    RULES,
    SHAPES,
    Case,
    Playing,
    check,
    playings,
    scripts,
)
from tests.oracles.windows import Eviction, Record, Rule, Shape, Step, Windows, final_windows

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
    st.builds(Case, SHAPES, st.just(Rule("end")), LATENESS, folding=FOLDINGS),
    scripts(),
    playings("hashmap"),
)
@examples(120)
def test_windows_with_their_own_trigger(
    case: Case, script: Sequence[Step], playing: Playing
) -> None:
    check(case, script, playing)


@given(st.builds(Case, SHAPES, RULES, LATENESS, folding=FOLDINGS), scripts(), playings("hashmap"))
@examples(120)
def test_windows_with_any_trigger(case: Case, script: Sequence[Step], playing: Playing) -> None:
    check(case, script, playing)


@given(
    st.builds(Case, SHAPES, RULES, LATENESS, EVICTIONS, FOLDINGS), scripts(), playings("hashmap")
)
@examples(120)
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
@examples(50)
def test_global_windows(case: Case, script: Sequence[Step], playing: Playing) -> None:
    check(case, script, playing)


@given(
    st.builds(Case, SHAPES, RULES, LATENESS, st.none() | EVICTIONS, FOLDINGS),
    scripts(),
    playings("rocksdb", "hashmap"),
)
@examples(15, shrink=False)  # each try opens databases
def test_windows_whose_state_moves_between_backends(
    case: Case, script: Sequence[Step], playing: Playing
) -> None:
    check(case, script, playing)


@given(SHAPES, scripts(longest=60))
@settings(max_examples=200, deadline=None)
def test_the_oracle_agrees_with_the_definition_of_complete_windows(
    shape: Shape, script: Sequence[Step]
) -> None:
    records = [step for step in script if isinstance(step, Record)]
    oracle = Windows(shape, Rule("end"))
    fired = [one for step in [*records, script[-1]] for one in oracle.step(step)]

    def shown(found: Any) -> Any:
        return sorted((one.key, one.window, sorted(one.numbers)) for one in found)

    assert shown(fired) == shown(final_windows(shape, records))
    assert oracle.late == []


@pytest.mark.parametrize(
    "eviction", [Eviction("count", 2, after=False), Eviction("time", 3, after=True)]
)
def test_the_oracle_evicts(eviction: Eviction) -> None:
    records = [Record("a", number, number) for number in range(5)]

    assert [record.number for record in eviction.left(records)] == [
        number for number in range(5) if number >= (3 if eviction.kind == "count" else 2)
    ]
