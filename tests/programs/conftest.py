"""The same programs run on both shells: in this process, and on a local Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from riverrun.core.configuration import Configuration
from riverrun.datastream.environment import StreamExecutionEnvironment

MakeEnv = Callable[..., StreamExecutionEnvironment]


@pytest.fixture(params=["in-process", pytest.param("spark", marks=pytest.mark.spark)])
def make_env(request: pytest.FixtureRequest) -> Iterator[MakeEnv]:
    """``make_env(parallelism=1, **config)``: an environment of the shell under test."""
    session: Any = None
    if request.param == "spark":
        session = request.getfixturevalue("spark_session")
    made: list[StreamExecutionEnvironment] = []

    def make(parallelism: int = 1, **config: str) -> StreamExecutionEnvironment:
        configuration = Configuration()
        if session is None:
            configuration.set_string("riverrun.master", "in-process")
            configuration.set_string("riverrun.in-process.seed", "17")
        for key, value in config.items():
            configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=session)
        env.set_parallelism(parallelism)
        made.append(env)
        return env

    yield make
    for env in made:
        env.close()
