"""Restart strategies as objects ask for what their names say."""

from __future__ import annotations

from datetime import timedelta

import pytest

from riverrun.core.configuration import Configuration
from riverrun.core.option_registry import check_config
from riverrun.datastream.execution_config import ExecutionConfig
from riverrun.datastream.restart_strategies import (
    RestartStrategies,
    RestartStrategyConfiguration,
)


@pytest.mark.parametrize(
    ("strategy", "kind"),
    [
        (RestartStrategies.no_restart(), "none"),
        (RestartStrategies.fixed_delay_restart(3, 500), "fixed-delay"),
        (RestartStrategies.failure_rate_restart(3, timedelta(minutes=1), 10), "failure-rate"),
    ],
)
def test_its_options_are_options(strategy: RestartStrategyConfiguration, kind: str) -> None:
    options = strategy.to_options()

    check_config(dict(options))
    assert options["restart-strategy.type"] == kind
    assert strategy.get_description()


def test_what_a_flink_program_sets_about_its_jvm_can_be_read_back() -> None:
    config = ExecutionConfig(Configuration())

    config.disable_closure_cleaner().enable_force_kryo().disable_generic_types()
    config.set_task_cancellation_timeout(5)

    assert not config.is_closure_cleaner_enabled()
    assert config.is_force_kryo_enabled()
    assert config.has_generic_types_disabled()
    assert config.get_task_cancellation_timeout() == 5
    assert not config.is_force_avro_enabled()
    with pytest.raises(ValueError, match="expected 0 or more"):
        config.set_task_cancellation_timeout(-1)
