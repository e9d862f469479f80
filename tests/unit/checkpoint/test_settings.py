from __future__ import annotations

import logging

import pytest

from riverrun.checkpoint.settings import CheckpointSettings
from riverrun.core.errors import ConfigError
from riverrun.core.options import CheckpointingMode, ExternalizedCheckpointRetention
from riverrun.protocol.barriers import BarrierMode, BarrierOptions

PREFIX = "execution.checkpointing."


def settings(**values: str) -> CheckpointSettings:
    keys = {f"{PREFIX}{key.replace('__', '.').replace('_', '-')}": v for key, v in values.items()}
    return CheckpointSettings.of(keys)


def test_nothing_set_means_flinks_defaults_and_no_periodic_checkpoints() -> None:
    found = settings()

    assert found == CheckpointSettings()
    assert not found.enabled
    assert found.barrier == BarrierOptions(BarrierMode.ALIGNED)


def test_every_key_is_read() -> None:
    assert settings(
        interval="1 s",
        timeout="1 min",
        max_concurrent_checkpoints="3",
        tolerable_failed_checkpoints="2",
        mode="AT_LEAST_ONCE",
        aligned_checkpoint_timeout="5 s",
        num_retained="4",
        externalized_checkpoint_retention="RETAIN_ON_CANCELLATION",
        checkpoints_after_tasks_finish="false",
        incremental="true",
    ) == CheckpointSettings(
        interval_ms=1000,
        timeout_ms=60_000,
        max_concurrent=3,
        tolerable_failures=2,
        mode=CheckpointingMode.AT_LEAST_ONCE,
        aligned_timeout_ms=5000,
        retained=4,
        retention=ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION,
        after_finish=False,
        incremental=True,
    )


def test_an_interval_of_zero_turns_periodic_checkpoints_off() -> None:
    assert not settings(interval="0").enabled


def test_a_pause_between_checkpoints_allows_one_at_a_time() -> None:
    assert settings(min_pause="1 s", max_concurrent_checkpoints="3").max_concurrent == 1


@pytest.mark.parametrize(
    ("values", "mode", "timeout"),
    [
        ({}, BarrierMode.ALIGNED, 0),
        ({"aligned_checkpoint_timeout": "9"}, BarrierMode.ALIGNED, 0),
        ({"unaligned__enabled": "true"}, BarrierMode.UNALIGNED, 0),
        (
            {"unaligned__enabled": "true", "aligned_checkpoint_timeout": "9"},
            BarrierMode.ALIGNED,
            9,
        ),
        ({"mode": "AT_LEAST_ONCE"}, BarrierMode.AT_LEAST_ONCE, 0),
    ],
)
def test_the_barrier_says_how_to_align(
    values: dict[str, str], mode: BarrierMode, timeout: int
) -> None:
    assert settings(**values).barrier == BarrierOptions(mode, timeout)


def test_at_least_once_turns_unaligned_off_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        found = settings(unaligned__enabled="true", mode="AT_LEAST_ONCE")

    assert not found.unaligned
    assert "unaligned checkpoints are off" in caplog.text


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"interval": "9 ms"}, "'execution.checkpointing.interval': is '9 ms'; expected at least"),
        ({"timeout": "9 ms"}, "'execution.checkpointing.timeout': is '9 ms'; expected at least"),
        ({"max_concurrent_checkpoints": "0"}, "is '0'; expected at least 1"),
        ({"tolerable_failed_checkpoints": "-1"}, "is '-1'; expected at least 0"),
        ({"num_retained": "0"}, "is '0'; expected at least 1"),
        (
            {"unaligned__enabled": "true", "max_concurrent_checkpoints": "2"},
            "are true and 2; expected 1 checkpoint at a time",
        ),
    ],
)
def test_what_cannot_be_is_refused(values: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        settings(**values)
