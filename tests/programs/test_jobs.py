"""Submitting, watching, cancelling and collecting jobs, on both shells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from riverrun.api.functions import MapFunction, RuntimeContext, SinkFunction
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.callback import CallbackSink
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.discard import DiscardingSink
from riverrun.core.errors import ConfigError, JobCanceled, JobFailed, ProgramError
from riverrun.core.lifecycle import JobStatus
from tests.programs.conftest import MakeEnv

NO_WATERMARKS = WatermarkStrategy.no_watermarks()


def forever(rate: float | None = None) -> DataGeneratorSource:
    return DataGeneratorSource(lambda i: i, None, rate)


def test_execute_gives_the_job_id_and_its_runtime(make_env: MakeEnv) -> None:
    env = make_env()
    env.from_collection([1, 2]).sink_to(DiscardingSink())

    result = env.execute("two records")

    assert len(str(result.get_job_id())) == 32
    assert result.get_net_runtime() >= 0


def test_a_cancelled_job_is_canceled_and_says_so(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    seen: list[int] = []
    env.from_source(forever(1000), NO_WATERMARKS, "endless").key_by(lambda v: v % 5).reduce(
        max
    ).sink_to(CallbackSink(seen.append))

    client = env.execute_async("endless")
    result = client.get_job_execution_result()
    while not seen:
        assert not result.done()
    client.cancel().result()

    with pytest.raises(JobCanceled):
        result.result()
    assert client.get_job_status().result() is JobStatus.CANCELED


def test_results_arrive_while_the_job_runs_and_closing_cancels_it(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    stream = env.from_source(forever(), NO_WATERMARKS, "endless").rebalance().map(lambda v: v * 2)

    with stream.execute_and_collect() as results:
        first = [next(results) for _ in range(10)]

    assert all(value % 2 == 0 for value in first)


def test_limit_stops_after_that_many_records(make_env: MakeEnv) -> None:
    env = make_env()
    stream = env.from_source(forever(), NO_WATERMARKS, "endless")

    assert len(stream.execute_and_collect(limit=7)) == 7


def test_two_jobs_of_one_environment_at_once(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    one: list[int] = []
    two: list[int] = []

    env.from_sequence(1, 100).rebalance().map(lambda v: v).sink_to(CallbackSink(one.append))
    first = env.execute_async("first").get_job_execution_result()
    env.from_sequence(1, 50).rebalance().map(lambda v: -v).sink_to(CallbackSink(two.append))
    second = env.execute_async("second").get_job_execution_result()
    first.result()
    second.result()

    assert sorted(one) == list(range(1, 101))
    assert sorted(two) == list(range(-50, 0))


def test_print_writes_to_this_process(
    make_env: MakeEnv, capsys: pytest.CaptureFixture[str]
) -> None:
    env = make_env(parallelism=1)
    env.from_collection(["hello", "zażółć"]).print("greeting")

    env.execute("print")

    assert capsys.readouterr().out.splitlines() == ["greeting> hello", "greeting> zażółć"]


class Rich(MapFunction):
    """Reports what its context says."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._context = runtime_context
        self._count = runtime_context.get_metrics_group().counter("mapped")

    def map(self, value: int) -> Any:
        self._count.inc()
        context = self._context
        return (
            context.get_index_of_this_subtask(),
            context.get_number_of_parallel_subtasks(),
            context.get_attempt_number(),
            context.get_job_parameter("greeting", "none"),
        )


def test_rich_functions_know_where_they_run(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    env.get_config().set_global_job_parameters({"greeting": "hello: you, there"})

    stream = env.from_sequence(1, 100).map(Rich())

    assert set(stream.execute_and_collect(limit=1000)) == {
        (0, 2, 0, "hello: you, there"),
        (1, 2, 0, "hello: you, there"),
    }


class Refuse(SinkFunction):
    """A sink that cannot write."""

    def invoke(self, value: Any, context: Any) -> None:
        raise OSError(f"cannot write {value}")


def test_a_sink_function_that_raises_fails_the_job(make_env: MakeEnv) -> None:
    env = make_env()
    env.from_collection([5]).add_sink(Refuse()).name("refusing")

    with pytest.raises(JobFailed, match="cannot write 5") as caught:
        env.execute()

    assert caught.value.failure.record == "5"


def test_a_client_callback_that_raises_fails_the_job(make_env: MakeEnv) -> None:
    env = make_env()

    def refuse(value: int) -> None:
        raise RuntimeError(f"client refuses {value}")

    env.from_collection([5]).sink_to(CallbackSink(refuse))

    with pytest.raises(JobFailed, match="client refuses 5"):
        env.execute()


def test_a_program_without_operators_is_refused(make_env: MakeEnv) -> None:
    with pytest.raises(ProgramError, match="operator"):
        make_env().execute()


def test_an_unknown_option_names_the_nearest_known_one(make_env: MakeEnv) -> None:
    with pytest.raises(ConfigError, match=r"execution\.buffer-timeout\.interval"):
        make_env(execution__buffer_timeout__intervall="5 ms")


def test_a_generator_function_is_a_source(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)

    def squares() -> Iterator[int]:
        for i in range(100):
            yield i * i

    stream = env.add_source(squares, "squares").rebalance().map(lambda v: v + 1)

    assert sorted(stream.execute_and_collect(limit=1000)) == [i * i + 1 for i in range(100)]
