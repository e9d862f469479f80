from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.cluster.job_master.restart_strategy import (
    Backoff,
    ExponentialDelay,
    FailureRate,
    FixedDelay,
    GiveUp,
    NoRestart,
    Restart,
    RestartDecision,
    RestartStrategy,
    from_config,
)
from riverrun.core.errors import ConfigError


def decide(strategy: RestartStrategy, *times: float) -> list[RestartDecision]:
    return [strategy.on_failure(time) for time in times]


def delays(decisions: list[RestartDecision]) -> list[int | None]:
    return [each.delay_ms if isinstance(each, Restart) else None for each in decisions]


def make(**values: str) -> RestartStrategy:
    keys = {
        f"restart-strategy.{k.replace('__', '.').replace('_', '-')}": v for k, v in values.items()
    }
    return from_config(keys, Random(0))


def test_without_a_strategy_the_first_failure_ends_the_job() -> None:
    decision = NoRestart().on_failure(0)

    assert isinstance(decision, GiveUp)
    assert "restart-strategy.type" in decision.reason


def test_a_fixed_number_of_restarts_and_no_more() -> None:
    assert delays(decide(FixedDelay(2, 70), 0, 1, 2)) == [70, 70, None]


def test_failures_that_are_rare_enough_restart_for_ever() -> None:
    strategy = FailureRate(max_failures=2, interval_ms=100, delay_ms=5)

    assert delays(decide(strategy, 0, 60, 120, 180, 240)) == [5, 5, 5, 5, 5]


def test_one_failure_more_than_the_rate_allows_ends_the_job() -> None:
    strategy = FailureRate(max_failures=2, interval_ms=100, delay_ms=5)

    decisions = decide(strategy, 0, 60, 100)

    assert delays(decisions) == [5, 5, None]
    assert decisions[-1] == GiveUp(
        "restart strategy 'failure-rate': 3 failures within 100 ms, 2 are allowed "
        "('restart-strategy.failure-rate.max-failures-per-interval')"
    )


def test_delays_grow_up_to_the_largest() -> None:
    strategy = ExponentialDelay(Backoff(100, 300, 1.5, jitter=0), Random(0))

    assert delays(decide(strategy, *range(5))) == [100, 150, 225, 300, 300]


def test_a_long_run_makes_the_delay_small_again() -> None:
    strategy = ExponentialDelay(Backoff(100, 1000, 2, jitter=0, reset_ms=50), Random(0))

    # Attempts begin at 100, 301 and 652: the second ran for 251 ms, the third for 49 ms.
    assert delays(decide(strategy, 0, 101, 552, 701)) == [100, 200, 100, 200]


def test_the_number_of_restarts_may_be_limited_and_begins_anew_after_a_long_run() -> None:
    strategy = ExponentialDelay(Backoff(100, 1000, 2, jitter=0, reset_ms=50, attempts=2), Random(0))

    assert delays(decide(strategy, 0, 101, 1000, 1001, 1002)) == [100, 200, 100, 200, None]


def test_thousands_of_failures_do_not_overflow() -> None:
    strategy = ExponentialDelay(Backoff(jitter=0), Random(0))

    assert delays(decide(strategy, *range(5000)))[-1] == 60_000


@given(st.integers(0, 2**32), st.integers(1, 40))
def test_jitter_stays_within_its_share_and_its_bounds(seed: int, failures: int) -> None:
    strategy = ExponentialDelay(Backoff(1000, 60_000, 1.5, jitter=0.1), Random(seed))

    for number, delay in enumerate(delays(decide(strategy, *range(failures)))):
        exact = min(1000 * 1.5**number, 60_000)
        assert delay is not None
        assert 1000 <= delay <= 60_000
        assert exact * 0.9 - 1 <= delay <= exact * 1.1 + 1


def test_the_default_follows_from_whether_checkpoints_are_on() -> None:
    checkpoints = {"execution.checkpointing.interval": "1 s"}

    assert isinstance(from_config({}, Random(0)), NoRestart)
    assert isinstance(from_config(checkpoints, Random(0)), ExponentialDelay)
    assert isinstance(
        from_config({**checkpoints, "restart-strategy.type": "off"}, Random(0)), NoRestart
    )


def test_flinks_keys_are_read() -> None:
    fixed = make(type="fixed-delay", fixed_delay__attempts="1", fixed_delay__delay="3 s")
    rate = make(
        type="failure-rate",
        failure_rate__max_failures_per_interval="2",
        failure_rate__failure_rate_interval="1 min",
        failure_rate__delay="4 s",
    )
    backoff = make(
        type="exponential-delay",
        exponential_delay__initial_backoff="10 ms",
        exponential_delay__max_backoff="30 ms",
        exponential_delay__backoff_multiplier="2",
        exponential_delay__jitter_factor="0",
        exponential_delay__reset_backoff_threshold="1 h",
        exponential_delay__attempts_before_reset_backoff="3",
    )

    assert delays(decide(fixed, 0, 1)) == [3000, None]
    assert delays(decide(rate, 0, 60_000, 60_000)) == [4000, 4000, None]
    assert delays(decide(backoff, 0, 1, 2, 3)) == [10, 20, 30, None]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"initial_backoff": "0"}, "expected at least 1 ms"),
        ({"max_backoff": "10 ms"}, "is '10 ms'; expected at least the first delay, which is 1000"),
        ({"backoff_multiplier": "1"}, "is '1.0'; expected more than 1"),
        ({"jitter_factor": "1.1"}, "is '1.1'; expected a number from 0 to 1"),
        ({"reset_backoff_threshold": "0"}, "expected at least 1 ms"),
        ({"attempts_before_reset_backoff": "0"}, "is '0'; expected at least 1"),
    ],
)
def test_numbers_out_of_range_are_refused(values: dict[str, str], message: str) -> None:
    keys = {f"exponential_delay__{key}": value for key, value in values.items()}

    with pytest.raises(ConfigError, match=message):
        make(type="exponential-delay", **keys)


def test_a_negative_number_of_attempts_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"fixed-delay.attempts': is '-1'; expected at least 0"):
        make(type="fixed-delay", fixed_delay__attempts="-1")
