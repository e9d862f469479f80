"""Fixtures that several kinds of tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "fast",
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,  # what is green here is green everywhere; "thorough" looks for new examples
)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


@pytest.fixture(scope="session")
def spark_session() -> Iterator[Any]:
    """One local Spark application for the whole test run, started as riverrun starts its own."""
    from riverrun.spark.driver.session import start_session  # noqa: PLC0415  (only where Spark is wanted)

    handle = start_session("local[2]", {})
    yield handle.user_session
    handle.close()
