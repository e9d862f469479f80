"""Whether and when a failed job is started again: Flink's four strategies, as pure decisions.

A strategy belongs to one job and is told of each failure of an attempt, with the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Protocol, TypeAlias

from riverrun.core import options
from riverrun.core.config_options import AnyOption, ConfigOption
from riverrun.core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Restart:
    """Start the next attempt after this time."""

    delay_ms: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The job fails for good."""

    reason: str


RestartDecision: TypeAlias = Restart | GiveUp


class RestartStrategy(Protocol):
    """Decides over one job's failures."""

    def on_failure(self, now: float) -> RestartDecision:
        """What follows a failure at ``now`` (milliseconds, never going back)."""


class NoRestart:
    """The first failure is the last."""

    def on_failure(self, now: float) -> RestartDecision:  # noqa: ARG002  (part of the protocol)
        return GiveUp(
            f"restart strategy 'none': a failure ends the job; set {options.RESTART_STRATEGY.key!r} "
            f"or turn checkpoints on for another one"
        )


class FixedDelay:
    """A number of restarts, each after the same time."""

    def __init__(self, attempts: int, delay_ms: int) -> None:
        self._attempts = attempts
        self._delay_ms = delay_ms
        self._failures = 0

    def on_failure(self, now: float) -> RestartDecision:  # noqa: ARG002  (part of the protocol)
        self._failures += 1
        if self._failures > self._attempts:
            return GiveUp(
                f"restart strategy 'fixed-delay': failure {self._failures}, "
                f"{self._attempts} restarts are allowed "
                f"({options.FIXED_DELAY_ATTEMPTS.key!r})"
            )
        return Restart(self._delay_ms)


class FailureRate:
    """Restarts for as long as there are at most so many failures in any interval."""

    def __init__(self, max_failures: int, interval_ms: int, delay_ms: int) -> None:
        self._max_failures = max_failures
        self._interval_ms = interval_ms
        self._delay_ms = delay_ms
        self._failures: deque[float] = deque(maxlen=max_failures + 1)

    def on_failure(self, now: float) -> RestartDecision:
        self._failures.append(now)
        full = len(self._failures) > self._max_failures
        if full and now - self._failures[0] <= self._interval_ms:
            return GiveUp(
                f"restart strategy 'failure-rate': {len(self._failures)} failures within "
                f"{self._interval_ms} ms, {self._max_failures} are allowed "
                f"({options.FAILURE_RATE_MAX.key!r})"
            )
        return Restart(self._delay_ms)


@dataclass(frozen=True, slots=True)
class Backoff:
    """How delays grow; the defaults are Flink's."""

    initial_ms: int = 1_000
    max_ms: int = 60_000
    multiplier: float = 1.5
    jitter: float = 0.1
    """Part of the delay by which it differs at random, up or down."""
    reset_ms: int = 3_600_000
    """A run without failure for this long makes the next delay the first one again."""
    attempts: int | None = None
    """Restarts before that happens; ``None``: any number."""


class ExponentialDelay:
    """Restarts whose delays grow until the job runs without failure for a while."""

    def __init__(self, backoff: Backoff, random: Random) -> None:
        self._backoff = backoff
        self._random = random
        self._failures = 0
        self._restarted_at: float | None = None

    def on_failure(self, now: float) -> RestartDecision:
        backoff = self._backoff
        if self._restarted_at is not None and now - self._restarted_at >= backoff.reset_ms:
            self._failures = 0
        delay = self._delay()
        self._failures += 1
        self._restarted_at = now + delay
        if backoff.attempts is not None and self._failures > backoff.attempts:
            return GiveUp(
                f"restart strategy 'exponential-delay': failure {self._failures} without a run of "
                f"{backoff.reset_ms} ms in between, {backoff.attempts} restarts are allowed "
                f"({options.BACKOFF_ATTEMPTS.key!r})"
            )
        return Restart(delay)

    def _delay(self) -> int:
        backoff = self._backoff
        try:
            grown = backoff.initial_ms * backoff.multiplier**self._failures
        except OverflowError:
            grown = float(backoff.max_ms)
        bound = min(grown, backoff.max_ms)
        delay = bound + self._random.uniform(-1, 1) * backoff.jitter * bound
        return round(max(backoff.initial_ms, min(delay, backoff.max_ms)))


def from_config(config: Mapping[str, str], random: Random) -> RestartStrategy:
    """The strategy that ``config`` asks for.

    Raises:
        ConfigError: one of its numbers is out of its range.
    """
    match options.RESTART_STRATEGY.get(config):
        case "fixed-delay":
            return FixedDelay(
                _at_least(options.FIXED_DELAY_ATTEMPTS, config, 0),
                options.FIXED_DELAY.get(config).to_millis(),
            )
        case "failure-rate":
            return FailureRate(
                _at_least(options.FAILURE_RATE_MAX, config, 1),
                options.FAILURE_RATE_INTERVAL.get(config).to_millis(),
                options.FAILURE_RATE_DELAY.get(config).to_millis(),
            )
        case "exponential-delay":
            return ExponentialDelay(_backoff(config), random)
        case None if _takes_checkpoints(config):
            return ExponentialDelay(_backoff(config), random)
        case _:
            return NoRestart()


def _takes_checkpoints(config: Mapping[str, str]) -> bool:
    interval = options.CHECKPOINT_INTERVAL.get(config)
    return interval is not None and interval.to_millis() > 0


def _backoff(config: Mapping[str, str]) -> Backoff:
    backoff = Backoff(
        initial_ms=options.BACKOFF_INITIAL.get(config).to_millis(),
        max_ms=options.BACKOFF_MAX.get(config).to_millis(),
        multiplier=options.BACKOFF_MULTIPLIER.get(config),
        jitter=options.BACKOFF_JITTER.get(config),
        reset_ms=options.BACKOFF_RESET.get(config).to_millis(),
        attempts=options.BACKOFF_ATTEMPTS.get(config),
    )
    if backoff.initial_ms < 1:
        raise _refused(options.BACKOFF_INITIAL, config, "at least 1 ms")
    if backoff.max_ms < backoff.initial_ms:
        expected = f"at least the first delay, which is {backoff.initial_ms} ms"
        raise _refused(options.BACKOFF_MAX, config, expected)
    if backoff.multiplier <= 1:
        raise _refused(options.BACKOFF_MULTIPLIER, config, "more than 1")
    if not 0 <= backoff.jitter <= 1:
        raise _refused(options.BACKOFF_JITTER, config, "a number from 0 to 1")
    if backoff.reset_ms < 1:
        raise _refused(options.BACKOFF_RESET, config, "at least 1 ms")
    if backoff.attempts is not None and backoff.attempts < 1:
        raise _refused(options.BACKOFF_ATTEMPTS, config, "at least 1")
    return backoff


def _at_least(option: ConfigOption[int], config: Mapping[str, str], least: int) -> int:
    value = option.get(config)
    if value < least:
        raise _refused(option, config, f"at least {least}")
    return value


def _refused(option: AnyOption, config: Mapping[str, str], expected: str) -> ConfigError:
    found = option.type.render(option.get(config))
    return ConfigError(f"option {option.key!r}: is {found!r}; expected {expected}")
