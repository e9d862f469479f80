"""Restart strategies as objects, for programs that name them so; each is a few configuration keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from riverrun.core.time import DurationLike, to_millis

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]


class RestartStrategyConfiguration(ABC):
    """What to do when a job fails."""

    @abstractmethod
    def get_description(self) -> str:
        """The strategy in words."""

    @abstractmethod
    def to_options(self) -> Mapping[str, str]:
        """The configuration keys that ask for it."""


@dataclass(frozen=True, slots=True)
class NoRestart(RestartStrategyConfiguration):
    """A job that fails has failed."""

    def get_description(self) -> str:
        return "Restart deactivated."

    def to_options(self) -> Mapping[str, str]:
        return {"restart-strategy.type": "none"}


@dataclass(frozen=True, slots=True)
class FallbackRestart(RestartStrategyConfiguration):
    """What the configuration says, or its default."""

    def get_description(self) -> str:
        return "Cluster level default restart strategy"

    def to_options(self) -> Mapping[str, str]:
        return {}


@dataclass(frozen=True, slots=True)
class FixedDelayRestart(RestartStrategyConfiguration):
    """So many restarts, with a pause before each."""

    restart_attempts: int
    delay_ms: int

    def get_restart_attempts(self) -> int:
        """How often a job may be restarted."""
        return self.restart_attempts

    def get_delay_between_attempts_interval(self) -> timedelta:
        """The pause before each restart."""
        return timedelta(milliseconds=self.delay_ms)

    def get_description(self) -> str:
        return (
            f"Restart with fixed delay ({self.delay_ms} ms). "
            f"#{self.restart_attempts} restart attempts."
        )

    def to_options(self) -> Mapping[str, str]:
        return {
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": str(self.restart_attempts),
            "restart-strategy.fixed-delay.delay": f"{self.delay_ms} ms",
        }


@dataclass(frozen=True, slots=True)
class FailureRateRestart(RestartStrategyConfiguration):
    """Restarts as long as failures do not come too often."""

    max_failure_rate: int
    failure_interval_ms: int
    delay_ms: int

    def get_max_failure_rate(self) -> int:
        """How many failures there may be in an interval."""
        return self.max_failure_rate

    def get_failure_interval(self) -> timedelta:
        """The interval in which failures are counted."""
        return timedelta(milliseconds=self.failure_interval_ms)

    def get_delay_between_attempts_interval(self) -> timedelta:
        """The pause before each restart."""
        return timedelta(milliseconds=self.delay_ms)

    def get_description(self) -> str:
        return (
            f"Failure rate restart with maximum of {self.max_failure_rate} failures within interval "
            f"{self.failure_interval_ms} ms and fixed delay {self.delay_ms} ms."
        )

    def to_options(self) -> Mapping[str, str]:
        return {
            "restart-strategy.type": "failure-rate",
            "restart-strategy.failure-rate.max-failures-per-interval": str(self.max_failure_rate),
            "restart-strategy.failure-rate.failure-rate-interval": f"{self.failure_interval_ms} ms",
            "restart-strategy.failure-rate.delay": f"{self.delay_ms} ms",
        }


def _millis(time: DurationLike | int) -> int:
    return time if isinstance(time, int) else to_millis(time)


class RestartStrategies:
    """Makes restart strategies.

    >>> RestartStrategies.fixed_delay_restart(3, 500).to_options()["restart-strategy.type"]
    'fixed-delay'
    """

    NoRestartStrategyConfiguration: ClassVar = NoRestart
    FallbackRestartStrategyConfiguration: ClassVar = FallbackRestart
    FixedDelayRestartStrategyConfiguration: ClassVar = FixedDelayRestart
    FailureRateRestartStrategyConfiguration: ClassVar = FailureRateRestart

    @staticmethod
    def no_restart() -> NoRestart:
        """Never restart."""
        return NoRestart()

    @staticmethod
    def fall_back_restart() -> FallbackRestart:
        """Leave it to the configuration."""
        return FallbackRestart()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: DurationLike | int
    ) -> FixedDelayRestart:
        """Restart so many times, after a pause (milliseconds if it is a number)."""
        return FixedDelayRestart(restart_attempts, _millis(delay_between_attempts))

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: DurationLike | int, delay_interval: DurationLike | int
    ) -> FailureRateRestart:
        """Restart while there are at most so many failures in an interval."""
        return FailureRateRestart(failure_rate, _millis(failure_interval), _millis(delay_interval))
