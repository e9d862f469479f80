"""The configuration guide: its file can be read, and its messages are those that come."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from riverrun.core.config_sources.layer import checked_layer
from riverrun.core.config_sources.setting import Source
from riverrun.core.config_sources.variables import VARIABLES
from riverrun.core.config_sources.yaml_text import read_yaml
from riverrun.core.errors import ConfigError

GUIDE = (Path(__file__).parents[2] / "docs/guide/configuration.md").read_text()


def test_the_file_in_the_guide_sets_options_that_exist() -> None:
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)

    layer = checked_layer(read_yaml(text, "river.yaml", Source.FILE))

    assert layer.notes == []
    assert layer.settings["restart-strategy.fixed-delay.delay"].value == "1 min"
    assert layer.settings["pipeline.global-job-parameters"].value == "day:2026-11-16,mode:full"
    assert layer.settings["spark.executor.memory"].value == "4g"


def test_variables_in_the_guide_exist() -> None:
    named = set(re.findall(r"RIVERRUN_[A-Z_]*[A-Z]", GUIDE))
    options = {name for name in named if name in VARIABLES}

    assert {"RIVERRUN_MASTER", "RIVERRUN_EXECUTION_CHECKPOINTING_INTERVAL"} <= options
    assert named - options == {
        "RIVERRUN_CONFIG",
        "RIVERRUN_CONF_DIR",
        "RIVERRUN_PROPERTIES",
        "RIVERRUN_CONF",
        "RIVERRUN_JAVA_SEARCH",
        "RIVERRUN_PURE",
    }


def test_the_error_in_the_guide_is_the_one_that_comes() -> None:
    text = "\n" * 6 + "execution.checkpointing.interval: soon"

    with pytest.raises(ConfigError) as refused:
        checked_layer(read_yaml(text, "river.yaml", Source.FILE))

    assert f"error: {refused.value}\n" in GUIDE
