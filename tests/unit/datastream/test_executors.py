"""Which engine serves which master."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest

from riverrun.core.errors import ConfigError, ProgramError
from riverrun.graph.executors import executor_for


def stand_in(monkeypatch: pytest.MonkeyPatch, module: str, name: str) -> list[tuple[Any, ...]]:
    """Put a recording factory in the place of an engine."""
    calls: list[tuple[Any, ...]] = []

    class Executor:
        @classmethod
        def create(cls, *, master: str, config: Mapping[str, str], session: object) -> str:
            calls.append((master, config, session))
            return name

    fake = ModuleType(module)
    setattr(fake, name, Executor)
    monkeypatch.setitem(sys.modules, module, fake)
    return calls


@pytest.mark.parametrize(
    ("master", "engine"),
    [
        ("in-process", "InProcessExecutor"),
        ("local", "SparkExecutor"),
        ("local[*]", "SparkExecutor"),
        ("local[4]", "SparkExecutor"),
        ("local[4, 2]", "SparkExecutor"),
        ("local-cluster[2,1,1024]", "SparkExecutor"),
        ("spark://host:7077", "SparkExecutor"),
        ("yarn", "SparkExecutor"),
        ("k8s://https://host", "SparkExecutor"),
    ],
)
def test_the_master_names_the_engine(
    monkeypatch: pytest.MonkeyPatch, master: str, engine: str
) -> None:
    stand_in(monkeypatch, "riverrun.local.executor", "InProcessExecutor")
    stand_in(monkeypatch, "riverrun.spark.driver.executor", "SparkExecutor")

    executor: object = executor_for(master, {})

    assert executor == engine


def test_a_session_means_spark_whatever_the_master(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = stand_in(monkeypatch, "riverrun.spark.driver.executor", "SparkExecutor")
    session = object()

    executor_for("in-process", {"a": "b"}, session)

    assert calls == [("in-process", {"a": "b"}, session)]


@pytest.mark.parametrize("master", ["", "lokal", "local[x]", "mesos://host"])
def test_an_unknown_master_is_refused_with_the_known_forms(master: str) -> None:
    with pytest.raises(ConfigError, match=r"'riverrun\.master': is .* expected local"):
        executor_for(master, {})


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ModuleType:
        del name
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")

    monkeypatch.setattr("riverrun.graph.named_classes.importlib.import_module", missing)

    with pytest.raises(ProgramError, match=r"'pyspark', which is not installed.*riverrun\[spark\]"):
        executor_for("local[*]", {})
