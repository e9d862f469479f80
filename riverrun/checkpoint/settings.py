"""How a job's checkpoints are taken: its configuration, read once and checked for contradictions."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from riverrun.core import options
from riverrun.core.config_options import AnyOption
from riverrun.core.errors import ConfigError
from riverrun.core.options import CheckpointingMode, ExternalizedCheckpointRetention
from riverrun.protocol.barriers import BarrierMode, BarrierOptions

log = logging.getLogger(__name__)

SHORTEST_MS: Final = 10
"""An interval or a timeout below this keeps a job busy with checkpoints alone; Flink refuses it too."""


@dataclass(frozen=True, slots=True)
class CheckpointSettings:
    """Durations are in milliseconds. The defaults are Flink's."""

    interval_ms: int | None = None
    """From one periodic checkpoint to the next; ``None``: there are none, only those on demand."""
    timeout_ms: int = 600_000
    min_pause_ms: int = 0
    """From the end of a checkpoint to the next periodic one."""
    max_concurrent: int = 1
    tolerable_failures: int = 0
    """How many checkpoints in a row may fail before the attempt does."""
    mode: CheckpointingMode = CheckpointingMode.EXACTLY_ONCE
    unaligned: bool = False
    aligned_timeout_ms: int = 0
    """For ``unaligned``: how long to stay aligned first."""
    retained: int = 1
    retention: ExternalizedCheckpointRetention = (
        ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
    )
    after_finish: bool = True
    """Whether checkpoints go on when some subtasks have finished, with a last one at the end."""
    incremental: bool = False

    @staticmethod
    def of(config: Mapping[str, str]) -> CheckpointSettings:
        """What ``config`` says.

        Raises:
            ConfigError: a value is out of its range, or two settings contradict each other.
        """
        _check_ranges(config)
        mode = options.CHECKPOINTING_MODE.get(config)
        interval = options.CHECKPOINT_INTERVAL.get(config)
        min_pause = options.CHECKPOINT_MIN_PAUSE.get(config).to_millis()
        concurrent = options.MAX_CONCURRENT_CHECKPOINTS.get(config)
        return CheckpointSettings(
            interval_ms=None if interval is None else interval.to_millis() or None,
            timeout_ms=options.CHECKPOINT_TIMEOUT.get(config).to_millis(),
            min_pause_ms=min_pause,
            # A pause after the end of one is meant to leave time without any.
            max_concurrent=1 if min_pause else concurrent,
            tolerable_failures=options.TOLERABLE_FAILED_CHECKPOINTS.get(config),
            mode=mode,
            unaligned=_unaligned(config, mode, concurrent),
            aligned_timeout_ms=options.ALIGNED_TIMEOUT.get(config).to_millis(),
            retained=options.RETAINED_CHECKPOINTS.get(config),
            retention=options.EXTERNALIZED_RETENTION.get(config),
            after_finish=options.CHECKPOINTS_AFTER_FINISH.get(config),
            incremental=options.INCREMENTAL.get(config),
        )

    @property
    def enabled(self) -> bool:
        """Whether checkpoints are taken without being asked for."""
        return self.interval_ms is not None

    @property
    def barrier(self) -> BarrierOptions:
        """What the barriers of each checkpoint carry.

        >>> CheckpointSettings(unaligned=True).barrier.mode
        <BarrierMode.UNALIGNED: 'unaligned'>
        >>> CheckpointSettings(unaligned=True, aligned_timeout_ms=500).barrier.mode
        <BarrierMode.ALIGNED: 'aligned'>
        """
        if self.mode is CheckpointingMode.AT_LEAST_ONCE:
            return BarrierOptions(BarrierMode.AT_LEAST_ONCE)
        if not self.unaligned:
            return BarrierOptions(BarrierMode.ALIGNED)
        if self.aligned_timeout_ms:
            return BarrierOptions(BarrierMode.ALIGNED, self.aligned_timeout_ms)
        return BarrierOptions(BarrierMode.UNALIGNED)


def _check_ranges(config: Mapping[str, str]) -> None:
    shortest = f"at least {SHORTEST_MS} ms"
    interval = options.CHECKPOINT_INTERVAL.get(config)
    if interval is not None and 0 < interval.to_millis() < SHORTEST_MS:
        raise _out_of_range(options.CHECKPOINT_INTERVAL, config, f"{shortest}, or 0 for none")
    if options.CHECKPOINT_TIMEOUT.get(config).to_millis() < SHORTEST_MS:
        raise _out_of_range(options.CHECKPOINT_TIMEOUT, config, shortest)
    for number, least in (
        (options.MAX_CONCURRENT_CHECKPOINTS, 1),
        (options.TOLERABLE_FAILED_CHECKPOINTS, 0),
        (options.RETAINED_CHECKPOINTS, 1),
    ):
        if number.get(config) < least:
            raise _out_of_range(number, config, f"at least {least}")


def _out_of_range(option: AnyOption, config: Mapping[str, str], expected: str) -> ConfigError:
    found = option.type.render(option.get(config))
    return ConfigError(f"option {option.key!r}: is {found!r}; expected {expected}")


def _unaligned(config: Mapping[str, str], mode: CheckpointingMode, concurrent: int) -> bool:
    if not options.UNALIGNED.get(config):
        return False
    if mode is CheckpointingMode.AT_LEAST_ONCE:
        log.warning(
            "unaligned checkpoints are off %s=%s expected=%s",
            options.CHECKPOINTING_MODE.key,
            mode.name,
            CheckpointingMode.EXACTLY_ONCE.name,
        )
        return False
    if concurrent > 1:
        raise ConfigError(
            f"options {options.UNALIGNED.key!r} and {options.MAX_CONCURRENT_CHECKPOINTS.key!r}: are true and "
            f"{concurrent}; expected 1 checkpoint at a time when they are unaligned: leave one of the two out"
        )
    return True
