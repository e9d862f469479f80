"""The adaptive mode as a function of slots, bounds and time."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.cluster.resources.adaptive import (
    AdaptiveNeed,
    AdaptiveTiming,
    Change,
    Following,
    Stay,
)
from riverrun.cluster.resources.fitting import Fitting, slots_of
from riverrun.cluster.resources.requirements import (
    Bounds,
    SchedulerMode,
    checked,
    first_requirements,
)
from riverrun.cluster.resources.seeking import Refuse, Room, Take, Wait
from riverrun.core.ids import VertexId
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.partitioning import Hash, Rebalance
from riverrun.graph.reinterpreted_key import ReinterpretedKey
from riverrun.graph.rescaling import RescaleRefused, parallelism_of, rescaled
from riverrun.graph.transformations import Chaining
from tests.unit.graph.conftest import Program, partition, same, union, vertex_named

TIMING = AdaptiveTiming(wait_ms=1000, settling_ms=100, cooldown_ms=300, patience_ms=200)


def pair(parallelism: int = 4) -> JobGraph:
    """A source, a keyed operator, and a sink that is one."""
    program = Program(parallelism)
    sums = program.map("sums", partition(program.source("in"), Hash(same)), max_parallelism=8)
    program.sink("out", partition(sums, Rebalance()), forced_parallelism=1)
    return program.job_graph()


def diamond(parallelism: int = 4) -> JobGraph:
    """The source's edge to the end skips a layer, so relays need slots too."""
    program = Program(parallelism)
    source = program.source("in")
    middle = program.map("middle", partition(source, Hash(same)))
    program.map("end", partition(union(source, middle), Rebalance()))
    return program.job_graph()


def fitting(graph: JobGraph, mode: SchedulerMode = SchedulerMode.ADAPTIVE) -> Fitting:
    return Fitting(graph, first_requirements(graph, mode))


def room(free: int, others: int = 0) -> Room:
    return Room(total=free, free=free, executors=max(1, free // 4), wanted_by_others=others)


def sizes(parallelism: Mapping[VertexId, int] | None) -> list[int]:
    assert parallelism is not None
    return list(parallelism.values())


# what fits


@pytest.mark.parametrize(
    ("slots", "expected"),
    [(2, None), (3, [1, 1, 1]), (4, [1, 1, 1]), (5, [2, 2, 1]), (9, [4, 4, 1]), (99, [4, 4, 1])],
    ids=str,
)
def test_a_job_gets_as_parallel_as_there_are_slots(slots: int, expected: list[int] | None) -> None:
    fit = fitting(pair()).largest(slots)

    assert (fit and sizes(fit.parallelism)) == expected


def test_relays_are_counted() -> None:
    fit = fitting(diamond()).largest(11)

    assert fit is not None
    assert sizes(fit.parallelism) == [2, 2, 2]
    assert fit.slots == 8


def test_reactive_mode_goes_up_to_the_max_parallelism_where_the_program_leaves_it_open() -> None:
    program = Program(2)
    source = program.source("in", parallelism=3)
    program.map("sums", partition(source, Hash(same)), max_parallelism=8)
    fit = fitting(program.job_graph(), SchedulerMode.REACTIVE).largest(1000)

    assert fit is not None
    assert sizes(fit.parallelism) == [3, 8]


def test_vertices_that_must_be_equal_stay_equal() -> None:
    program = Program(4)
    head = program.map("head", program.source("a"), chaining=Chaining.HEAD)
    program.map("keyed", head, key_selector=ReinterpretedKey(same))
    graph = program.job_graph()
    first, second = (vertex.id for vertex in graph.vertices)

    fit = Fitting(graph, {first: Bounds(1, 3), second: Bounds(2, 4)}).largest(100)

    assert fit is not None
    assert sizes(fit.parallelism) == [3, 3]
    assert rescaled(graph, fit.parallelism)


graphs = st.sampled_from([pair(6), diamond(5)])
ends = st.tuples(st.integers(1, 8), st.integers(1, 8)).map(sorted)


@settings(max_examples=80, deadline=None)
@given(graphs, st.data(), st.integers(0, 60))
def test_what_fits_has_slots_keeps_its_bounds_and_could_not_be_larger(
    graph: JobGraph, data: st.DataObject, slots: int
) -> None:
    bounds = {
        vertex.id: Bounds(1, 1)
        if vertex.forced_parallelism
        else Bounds(*data.draw(ends, vertex.name))
        for vertex in graph.vertices
    }
    fits = Fitting(graph, bounds)
    fit = fits.largest(slots)

    if fit is None:
        lowest = {vertex: each.lower for vertex, each in bounds.items()}
        assert slots_of(graph, lowest) > slots
        return
    assert fit.slots == slots_of(graph, fit.parallelism) <= slots
    assert all(bounds[vertex].holds(number) for vertex, number in fit.parallelism.items())
    assert fits.holds(fit.parallelism)
    again = fits.largest(fit.slots)
    assert again is not None
    assert again.parallelism == fit.parallelism
    for level in range(1, 9):
        other = {v: min(each.upper, max(each.lower, level)) for v, each in bounds.items()}
        assert slots_of(graph, other) > slots or sum(other.values()) <= fit.sum


# requirements


def test_first_requirements_follow_the_mode() -> None:
    graph = pair()

    def of(mode: SchedulerMode) -> list[tuple[int, int]]:
        return [(each.lower, each.upper) for each in first_requirements(graph, mode).values()]

    assert of(SchedulerMode.DEFAULT) == [(4, 4), (4, 4), (1, 1)]
    assert of(SchedulerMode.ADAPTIVE) == [(1, 4), (1, 4), (1, 1)]
    assert of(SchedulerMode.REACTIVE) == [(1, 128), (1, 8), (1, 1)]


@pytest.mark.parametrize(
    ("config", "mode"),
    [
        ({}, SchedulerMode.DEFAULT),
        ({"jobmanager.scheduler": "AdaptiveBatch"}, SchedulerMode.DEFAULT),
        ({"jobmanager.scheduler": "Adaptive"}, SchedulerMode.ADAPTIVE),
        ({"scheduler-mode": "REACTIVE"}, SchedulerMode.REACTIVE),
    ],
    ids=["nothing", "batch", "adaptive", "reactive"],
)
def test_flink_s_keys_say_the_mode(config: dict[str, str], mode: SchedulerMode) -> None:
    assert SchedulerMode.from_config(config) is mode


def test_flink_s_keys_say_the_times() -> None:
    adaptive = AdaptiveTiming.from_config({}, SchedulerMode.ADAPTIVE)
    assert adaptive == AdaptiveTiming(300_000, 10_000, 30_000, 60_000, 1)
    reactive = AdaptiveTiming.from_config({}, SchedulerMode.REACTIVE)
    assert reactive == AdaptiveTiming(None, 0, 30_000, 60_000, 1)
    prefix = "jobmanager.adaptive-scheduler"
    config = {
        f"{prefix}.resource-wait-timeout": "1 s",
        f"{prefix}.submission.resource-stabilization-timeout": "2 s",
        f"{prefix}.scaling-interval.min": "3 s",
        f"{prefix}.executing.resource-stabilization-timeout": "4 s",
        f"{prefix}.min-parallelism-increase": "5",
    }
    assert AdaptiveTiming.from_config(config, SchedulerMode.REACTIVE) == AdaptiveTiming(
        1_000, 2_000, 3_000, 4_000, 5
    )


@pytest.mark.parametrize(
    ("sums", "message"),
    [
        (Bounds(3, 2), r"'sums'.*3: the lower bound is above the upper bound 2"),
        (Bounds(1, 9), r"'sums'.*9: its max parallelism is 8"),
        (Bounds(0, 2), r"'sums'.*0: expected a whole number from 1 to 8"),
        (None, r"'sums'.*its bounds are missing; name all vertices"),
    ],
    ids=["crossed", "above-max", "zero", "missing"],
)
def test_requirements_that_cannot_be_are_refused(sums: Bounds | None, message: str) -> None:
    graph = pair()
    bounds = first_requirements(graph, SchedulerMode.ADAPTIVE)
    vertex = vertex_named(graph, "sums").id
    if sums is None:
        del bounds[vertex]
    else:
        bounds[vertex] = sums

    with pytest.raises(RescaleRefused, match=message):
        checked(graph, bounds)


# before it runs


def test_an_adaptive_job_starts_at_once_when_there_is_all_it_can_use() -> None:
    assert AdaptiveNeed(fitting(pair()), TIMING, 0).consider(room(20), 0) == Take(9)


def test_an_adaptive_job_starts_with_what_is_there_once_that_is_stable() -> None:
    need = AdaptiveNeed(fitting(pair()), TIMING, 0)

    assert isinstance(need.consider(room(2), 10), Wait)
    waits = need.consider(room(6), 50)
    assert waits == Wait(150, "6 slots are there for 5 subtasks, waiting whether more come")
    assert isinstance(need.consider(room(7), 149), Wait)
    assert need.consider(room(7), 150) == Take(7)


def test_an_adaptive_job_without_the_fewest_slots_waits_with_a_word_and_then_gives_up() -> None:
    need = AdaptiveNeed(fitting(pair()), TIMING, 0)
    need.consider(room(6), 0)

    words = "waiting for 3 slots, 2 are there on 1 executor"
    assert need.consider(room(2), 10) == Wait(1000, words)
    refused = need.consider(room(2), 1000)
    assert isinstance(refused, Refuse)
    assert refused.error.needed == 3


def test_a_job_in_reactive_mode_waits_for_ever() -> None:
    timing = AdaptiveTiming.from_config({}, SchedulerMode.REACTIVE)
    need = AdaptiveNeed(fitting(pair(), SchedulerMode.REACTIVE), timing, 0)

    assert need.consider(room(2), 1e12) == Wait(
        None, "waiting for 3 slots, 2 are there on 1 executor"
    )
    assert need.consider(room(6), 1e12) == Take(5)


def test_a_job_leaves_room_for_others_that_wait_as_long_as_it_can_run_itself() -> None:
    need = AdaptiveNeed(fitting(pair()), AdaptiveTiming(wait_ms=None, settling_ms=0), 0)

    assert need.consider(room(8, others=3), 0) == Take(5)
    assert need.consider(room(4, others=3), 0) == Take(3)


# while it runs


def course(
    following: Following, free: int, current: JobGraph, now: float, program: JobGraph | None = None
) -> Change | Stay:
    fits = fitting(program or pair())
    return following.consider(fits, room(free), parallelism_of(current), now)


def at(level: int) -> JobGraph:
    graph = pair()
    free = [v for v in graph.vertices if v.forced_parallelism is None]
    return rescaled(graph, {vertex.id: level for vertex in free})


def test_slots_that_come_are_used_when_they_stayed_and_the_cooldown_is_over() -> None:
    following = Following(TIMING, 0)

    assert course(following, 5, at(2), 10) == Stay()
    assert course(following, 7, at(2), 250) == Stay(450)
    assert course(following, 7, at(2), 449) == Stay(450)
    change = course(following, 7, at(2), 450)
    assert isinstance(change, Change)
    assert sizes(change.to.parallelism) == [3, 3, 1]
    following.changed(460)
    assert course(following, 9, at(3), 470) == Stay(760)
    assert isinstance(course(following, 9, at(3), 760), Change)


def test_slots_that_came_and_went_change_nothing() -> None:
    following = Following(TIMING, 0)

    course(following, 7, at(2), 400)
    assert course(following, 5, at(2), 500) == Stay()
    assert course(following, 7, at(2), 590) == Stay(790)


def test_a_running_job_is_not_stopped_because_there_are_fewer_slots() -> None:
    assert course(Following(TIMING, 0), 5, at(4), 1e6) == Stay()


def test_growth_that_is_too_small_is_not_worth_a_restart() -> None:
    timing = AdaptiveTiming(cooldown_ms=0, patience_ms=0, min_increase=4)

    assert course(Following(timing, 0), 5, at(1), 1) == Stay()
    assert isinstance(course(Following(timing, 0), 7, at(1), 1), Change)


def test_bounds_that_forbid_what_runs_change_it_without_waiting_for_more() -> None:
    following = Following(TIMING, 0)
    assert course(following, 20, at(4), 100, pair(2)) == Stay(300)

    following.hurry()
    change = course(following, 20, at(4), 101, pair(2))

    assert isinstance(change, Change)
    assert sizes(change.to.parallelism) == [2, 2, 1]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 25), st.sampled_from([1, 40, 250, 400])), min_size=1, max_size=25
    )
)
def test_a_job_follows_to_what_fits_and_never_more_often_than_the_cooldown(
    steps: list[tuple[int, int]],
) -> None:
    program = diamond(4)
    fits = fitting(program)
    following, now, running = Following(TIMING, 0), 0.0, program
    running = rescaled(program, fits.smallest.parallelism)
    changes = []
    slots = 0
    for slots, passes in [*steps, (steps[-1][0], 250), (steps[-1][0], 400)]:
        now += passes
        move = following.consider(fits, room(slots), parallelism_of(running), now)
        if isinstance(move, Change):
            assert move.to.slots <= slots
            running = rescaled(program, move.to.parallelism)
            following.changed(now)
            changes.append(now)
    assert all(later - earlier >= TIMING.cooldown_ms for earlier, later in pairwise(changes))
    best = fits.largest(slots)
    if best is not None:
        assert sum(sizes(parallelism_of(running))) >= best.sum
