"""How long a JobMaster waits for what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from riverrun.core import options


@dataclass(frozen=True, slots=True)
class Timing:
    """Durations in milliseconds."""

    heartbeat_interval_ms: int = 1_000
    heartbeat_timeout_ms: int = 50_000
    """Silence of a task for longer than this fails the job."""
    registration_timeout_ms: int = 300_000
    """From the start of the job until every subtask must have registered."""
    failure_grace_ms: int = 1_000
    """How long a failure without a known cause waits for a task to report the cause."""
    cancel_grace_ms: int = 1_000
    """How long tasks have to leave by themselves before the engine is told to end them.

    And how long their connections may stay open after the end of an engine that was stopped or broke.
    """
    cancel_retry_ms: int = 2_000
    """How often the engine is told again while it has not ended."""
    stragglers_grace_ms: int = 5_000
    """How long after the engine's success a task's last words may still arrive."""
    drain_grace_ms: int = 2_000
    """How long the client of a failed job may take for the values that arrived before."""

    @staticmethod
    def from_config(config: Mapping[str, str]) -> Timing:
        """What a job's configuration says; the rest is not for users to set."""
        return Timing(
            heartbeat_interval_ms=options.HEARTBEAT_INTERVAL.get(config).to_millis(),
            heartbeat_timeout_ms=options.HEARTBEAT_TIMEOUT.get(config).to_millis(),
            cancel_grace_ms=options.CANCEL_GRACE.get(config).to_millis(),
        )
