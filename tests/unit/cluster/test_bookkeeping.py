from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.cluster.accumulators import merged
from riverrun.cluster.engine import ControlAccess
from riverrun.cluster.heartbeats import HeartbeatWatch
from riverrun.cluster.job_master.tasks import TaskKey, next_to
from riverrun.cluster.job_master.timing import Timing
from riverrun.core import options
from riverrun.core.errors import ConfigError, ExternalError, InternalError, NotPicklable
from riverrun.core.exception_facts import failure_of


@given(gaps=st.lists(st.floats(min_value=0, max_value=20), max_size=50))
def test_a_peer_that_is_heard_at_every_look_is_never_silent(gaps: list[float]) -> None:
    watch: HeartbeatWatch[str] = HeartbeatWatch(interval_ms=10, timeout_ms=30, now=0.0)
    now = 0.0

    for gap in gaps:
        now += gap
        assert watch.silent({"a": now}, now) == {}


def test_a_peer_that_connects_late_is_not_blamed_for_the_time_before() -> None:
    watch: HeartbeatWatch[str] = HeartbeatWatch(interval_ms=10, timeout_ms=30, now=0.0)

    assert [watch.silent({"late": 20.0}, float(t)) for t in (10, 20, 30, 40, 50)][-1] == {}
    assert watch.silent({"late": 20.0}, 60.0) == {"late": 40.0}


def test_a_watch_that_was_held_up_itself_blames_nobody() -> None:
    watch: HeartbeatWatch[str] = HeartbeatWatch(interval_ms=10, timeout_ms=30, now=0.0)

    assert watch.silent({"a": 0.0}, 1000.0) == {}
    assert watch.silent({"a": 0.0}, 1010.0) == {}


def test_accumulators_of_subtasks_are_added_up_by_kind() -> None:
    reports: list[dict[str, Any]] = [
        {"n": 1, "x": 0.5, "all": [1], "seen": {"a"}, "by": {"k": 1}, "last": "first"},
        {"n": 2, "x": 1.5, "all": [2], "seen": {"b"}, "by": {"k": 2, "l": 3}, "last": "second"},
        {"only here": None},
    ]

    assert merged(reports) == {
        "n": 3,
        "x": 2.0,
        "all": [1, 2],
        "seen": {"a", "b"},
        "by": {"k": 3, "l": 3},
        "last": "second",
        "only here": None,
    }


def test_a_failure_shows_the_whole_chain_of_the_users_exceptions() -> None:
    error = ValueError("outer")
    error.__cause__ = KeyError("inner")

    failure = failure_of(error, operator="Print")

    assert failure.headline() == "operator 'Print': ValueError: outer"
    assert "KeyError: 'inner'" in failure.traceback
    assert failure.exception is not None
    assert str(pickle.loads(failure.exception)) == "outer"


def test_an_exception_that_does_not_pickle_or_print_is_still_a_failure() -> None:
    class Odd(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise RuntimeError("no text")

    failure = failure_of(Odd(lambda: None))

    assert failure.exception is None
    assert failure.message == "<its message could not be made>"


def test_the_secret_does_not_show() -> None:
    assert repr(ControlAccess(("host", 1), b"hidden!!")) == (
        "ControlAccess(address=('host', 1), secret=<8 bytes>)"
    )


def test_timing_comes_from_the_jobs_configuration_and_its_defaults_are_the_options() -> None:
    assert Timing.from_config({}) == Timing()
    assert Timing.from_config({options.CANCEL_GRACE.key: "3 s"}).cancel_grace_ms == 3000


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (ValueError("boom"), True),
        (ExternalError("the broker is away"), True),
        (ConfigError("no such option"), False),
        (NotPicklable("Map", "a lock"), False),
        (InternalError("a law was broken"), False),
    ],
)
def test_only_what_may_get_better_is_worth_another_attempt(
    error: Exception, retryable: bool
) -> None:
    assert failure_of(error).retryable is retryable


KEYS = st.builds(TaskKey, st.integers(0, 2), st.integers(0, 3))


@given(st.dictionaries(KEYS, st.one_of(st.none(), st.sampled_from("ab"))))
def test_near_is_who_comes_next_and_has_the_same_token(tokens: dict[TaskKey, str | None]) -> None:
    for key, token in tokens.items():
        near = {TaskKey(key.layer + 1, partition) for partition in next_to(key, tokens)}

        assert all(tokens[each] == token is not None for each in near)
        others = {each for each in tokens if each.layer == key.layer + 1} - near
        assert token is None or all(tokens[each] != token for each in others)


def test_nobody_is_near_a_task_that_shares_no_folder() -> None:
    assert next_to(TaskKey(0, 0), {TaskKey(0, 0): None, TaskKey(1, 0): None}) == ()
