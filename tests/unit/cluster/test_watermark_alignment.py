"""How far sources of a group may go: the slowest that counts decides, and news are not sent too often."""

from __future__ import annotations

from riverrun.api.watermark_strategy import WatermarkAlignment
from riverrun.cluster.watermark_alignment import WatermarkAlignmentCoordinator
from riverrun.core.ids import SubtaskId, VertexId
from riverrun.protocol.elements import MAX_WATERMARK

SLOW = VertexId("slow")
FAST = VertexId("fast")
OTHER = VertexId("other")


def task(vertex: VertexId, index: int = 0) -> SubtaskId:
    return SubtaskId(vertex, index)


def coordinator() -> WatermarkAlignmentCoordinator:
    """Two sources of one group, the fast one with two subtasks, and one of another group."""
    near = WatermarkAlignment("group", max_drift_ms=10, update_interval_ms=100)
    return WatermarkAlignmentCoordinator(
        {
            task(SLOW): near,
            task(FAST, 0): WatermarkAlignment("group", max_drift_ms=30, update_interval_ms=100),
            task(FAST, 1): WatermarkAlignment("group", max_drift_ms=30, update_interval_ms=100),
            task(OTHER): WatermarkAlignment("another", max_drift_ms=0),
        }
    )


def announced(
    alignment: WatermarkAlignmentCoordinator, now: float
) -> dict[VertexId, tuple[int, int]]:
    """Vertex -> (what it is told, how many tasks are)."""
    return {
        tasks[0].vertex: (message.watermark, len(tasks)) for tasks, message in alignment.look(now)
    }


def test_each_source_may_be_ahead_of_the_slowest_by_its_own_drift() -> None:
    alignment = coordinator()

    alignment.reported(task(SLOW), 100)
    alignment.reported(task(FAST, 0), 500)

    assert announced(alignment, 0.0) == {SLOW: (110, 1), FAST: (130, 2)}


def test_who_has_not_reported_holds_nobody_back() -> None:
    alignment = coordinator()

    assert alignment.deadline() is None
    alignment.reported(task(FAST, 1), 500)

    assert announced(alignment, 0.0) == {SLOW: (510, 1), FAST: (530, 2)}


def test_news_wait_for_the_update_interval() -> None:
    alignment = coordinator()
    alignment.reported(task(SLOW), 100)
    announced(alignment, 0.0)

    alignment.reported(task(SLOW), 200)
    assert alignment.deadline() == 100.0
    assert announced(alignment, 99.0) == {}
    alignment.reported(task(SLOW), 300)

    assert announced(alignment, 100.0) == {SLOW: (310, 1), FAST: (330, 2)}
    assert alignment.deadline() is None


def test_nothing_is_said_when_nothing_changed() -> None:
    alignment = coordinator()
    alignment.reported(task(SLOW), 100)
    announced(alignment, 0.0)

    alignment.reported(task(FAST, 0), 120)

    assert announced(alignment, 200.0) == {}


def test_who_is_idle_or_has_ended_holds_nobody_back() -> None:
    alignment = coordinator()
    alignment.reported(task(SLOW), 100)
    alignment.reported(task(FAST, 0), 120)
    announced(alignment, 0.0)

    alignment.reported(task(SLOW), None)
    assert announced(alignment, 100.0) == {SLOW: (130, 1), FAST: (150, 2)}
    alignment.reported(task(FAST, 0), None)

    unlimited = MAX_WATERMARK
    assert announced(alignment, 200.0) == {SLOW: (unlimited, 1), FAST: (unlimited, 2)}


def test_groups_do_not_wait_for_each_other() -> None:
    alignment = coordinator()

    alignment.reported(task(OTHER), 5)

    assert announced(alignment, 0.0) == {OTHER: (5, 1)}


def test_a_drift_beyond_the_end_of_time_is_no_limit() -> None:
    far = WatermarkAlignment("group", max_drift_ms=MAX_WATERMARK)
    alignment = WatermarkAlignmentCoordinator({task(SLOW): far})

    alignment.reported(task(SLOW), 100)

    assert announced(alignment, 0.0) == {}, "it had no limit before"


def test_tasks_that_align_with_nobody_are_not_heard() -> None:
    alignment = coordinator()

    alignment.reported(task(VertexId("a map")), 7)
    alignment.reported(None, 7)

    assert alignment.deadline() is None
