"""A user's exception reaches the user: own traceback, operator, subtask and record, and no Java."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from riverrun.api.functions import MapFunction, RuntimeContext
from riverrun.core.errors import JobFailed, NotPicklable
from riverrun.serde.types import Types
from tests.programs.conftest import MakeEnv


def boom(value: Any) -> Any:
    raise ValueError(f"no good: {value}")


class Fragile(MapFunction):
    """Raises where it is told to."""

    def __init__(self, where: str) -> None:
        self._where = where

    def open(self, runtime_context: RuntimeContext) -> None:
        if self._where == "open":
            raise RuntimeError("broken in open")

    def map(self, value: Any) -> Any:
        return value

    def close(self) -> None:
        if self._where == "close":
            raise RuntimeError("broken in close")


def run(stream: Any) -> None:
    with stream.execute_and_collect() as results:
        list(results)


def no_engine_in(text: str) -> None:
    for word in ("py4j", "java.", "org.apache", "pyspark"):
        assert word not in text


@pytest.mark.parametrize(
    ("build", "operator"),
    [
        (lambda s: s.map(boom).name("enrich"), "enrich"),
        (lambda s: s.filter(boom).name("keep"), "keep"),
        (lambda s: s.flat_map(boom).name("split"), "split"),
        (lambda s: s.rebalance().map(boom).name("far"), "far"),
        (lambda s: s.key_by(lambda x: 0).reduce(lambda a, b: boom(b)).name("fold"), "fold"),
    ],
    ids=["map", "filter", "flat_map", "behind an exchange", "reduce"],
)
def test_an_exception_in_an_operator_names_it_and_the_record(
    make_env: MakeEnv, build: Any, operator: str
) -> None:
    env = make_env(parallelism=2)

    with pytest.raises(JobFailed) as caught:
        run(build(env.from_collection([41, 42])))

    failure = caught.value.failure
    assert failure.operator == operator
    assert failure.record in ("41", "42")
    assert failure.subtask in (0, 1)
    assert failure.type_name == "ValueError"
    assert "in boom" in failure.traceback
    assert isinstance(caught.value.__cause__, ValueError)
    no_engine_in(str(caught.value))


@pytest.mark.parametrize("where", ["open", "close"])
def test_an_exception_in_open_or_close_fails_the_job(make_env: MakeEnv, where: str) -> None:
    env = make_env()

    with pytest.raises(JobFailed, match=f"broken in {where}") as caught:
        run(env.from_collection([1]).map(Fragile(where)).name("fragile"))

    assert caught.value.failure.operator == "fragile"
    no_engine_in(str(caught.value))


def test_an_exception_in_a_key_selector_names_the_record(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)

    with pytest.raises(JobFailed, match="key selector") as caught:
        run(env.from_collection([{"a": 1}]).key_by(lambda v: v["b"]).reduce(lambda a, b: a))

    assert caught.value.failure.record == "{'a': 1}"


def test_an_exception_in_a_source_fails_the_job(make_env: MakeEnv) -> None:
    env = make_env()

    def broken() -> Iterable[int]:
        yield 1
        raise OSError("disk gone")

    with pytest.raises(JobFailed, match="disk gone"):
        run(env.add_source(broken, "broken source"))


class Sealed:
    """Can be sent, but not opened."""

    def __init__(self, content: int) -> None:
        self.content = content

    def __getstate__(self) -> dict[str, int]:
        return {"content": self.content}

    def __setstate__(self, state: dict[str, int]) -> None:
        raise ValueError(f"cannot be opened: {state['content']}")


def test_an_exception_while_a_record_is_deserialized_names_the_operator(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)

    with pytest.raises(JobFailed, match="cannot be opened: 7") as caught:
        run(env.from_collection([7]).map(Sealed).rebalance().map(lambda v: 1).name("reader"))

    assert caught.value.failure.operator == "reader"
    assert "__setstate__" in caught.value.failure.traceback
    no_engine_in(str(caught.value))


def test_a_key_that_cannot_be_hashed_says_what_keys_may_be(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)

    with pytest.raises(JobFailed, match="list"):
        run(env.from_collection([1]).key_by(lambda v: [v]).reduce(lambda a, b: a))


def test_a_value_of_the_wrong_type_names_operator_type_and_value(make_env: MakeEnv) -> None:
    env = make_env()

    with pytest.raises(JobFailed) as caught:
        run(env.from_collection([1]).map(lambda v: "one", output_type=Types.INT()).name("typed"))

    message = str(caught.value)
    assert "typed" in message
    assert "INT" in message
    assert "'one'" in message


def test_a_function_that_cannot_be_sent_is_refused_before_anything_runs(make_env: MakeEnv) -> None:
    import threading  # noqa: PLC0415

    env = make_env()
    lock = threading.Lock()

    with pytest.raises(NotPicklable, match="locked"):
        run(env.from_collection([1]).map(lambda v: (v, lock)).name("locked"))


def test_a_record_of_fifty_megabytes_passes(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    size = 50 * 1024 * 1024

    stream = env.from_collection([size]).map(bytes).rebalance().map(len)

    with stream.execute_and_collect() as results:
        assert list(results) == [size]
