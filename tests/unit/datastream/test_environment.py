"""The environment: settings, sources, running and forgetting."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Iterator

import pytest

from riverrun.api.functions import SourceFunction
from riverrun.api.source import Boundedness
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.iterator import IteratorSource
from riverrun.core.configuration import Configuration
from riverrun.core.errors import ConfigError, Failure, JobCanceled, JobFailed, ProgramError
from riverrun.core.lifecycle import JobStatus
from riverrun.core.options import CheckpointingMode, RuntimeExecutionMode, SavepointFormatType
from riverrun.datastream import unexecuted
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.slot_sharing_group import SlotSharingGroup
from riverrun.graph.specs import ReduceSpec, SourceSpec
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.unit.datastream.conftest import FakeEngine

make = StreamExecutionEnvironment.get_execution_environment


def test_settings_are_kept_under_flinks_keys(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(4).set_max_parallelism(64).set_buffer_timeout(50)
    env.disable_operator_chaining()
    env.enable_checkpointing(1000, CheckpointingMode.AT_LEAST_ONCE)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.get_config().set_global_job_parameters({"who": "me, myself"})

    assert env.get_configuration().to_dict() == {
        "parallelism.default": "4",
        "pipeline.max-parallelism": "64",
        "execution.buffer-timeout.enabled": "true",
        "execution.buffer-timeout.interval": "50 ms",
        "pipeline.operator-chaining.enabled": "false",
        "execution.checkpointing.interval": "1000 ms",
        "execution.checkpointing.mode": "AT_LEAST_ONCE",
        "execution.runtime-mode": "BATCH",
        "pipeline.global-job-parameters": "who:'me, myself'",
    }
    assert env.get_parallelism() == 4
    assert env.get_max_parallelism() == 64
    assert env.get_buffer_timeout() == 50
    assert not env.is_chaining_enabled()
    assert env.get_checkpoint_interval() == 1000
    assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert env.get_config().get_global_job_parameters() == {"who": "me, myself"}


def test_a_disabled_buffer_timeout_reads_as_minus_one(env: StreamExecutionEnvironment) -> None:
    assert env.set_buffer_timeout(-1).get_buffer_timeout() == -1
    with pytest.raises(ValueError, match="expected -1 or more"):
        env.set_buffer_timeout(-2)


def test_an_unknown_key_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'pipeline\.max-parallelism'"):
        make({"pipeline.max-paralelism": "3"})


def test_configure_takes_all_or_nothing(env: StreamExecutionEnvironment) -> None:
    before = env.get_configuration().to_dict()

    with pytest.raises(ConfigError, match=r"'riverrun\.frame\.bytes': is 'much'"):
        env.configure({"pipeline.name": "x", "riverrun.frame.bytes": "much"})

    assert env.get_configuration().to_dict() == before


def test_an_environment_has_its_own_copy_of_the_configuration() -> None:
    configuration = Configuration()

    make(configuration).set_parallelism(3)

    assert not configuration.to_dict()


def test_the_master_comes_from_the_configuration_then_from_the_environment_variable(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIVERRUN_MASTER", "in-process")

    for configuration in (None, {"riverrun.master": "local[3]"}):
        with make(configuration) as env:
            env.from_collection([1]).print()
            env.execute()

    assert [master for master, _ in engine.created] == ["in-process", "local[3]"]


@pytest.mark.parametrize(
    ("master", "parallelism"), [("local[3]", 3), ("in-process", 1), ("spark://host:7077", 1)]
)
def test_the_parallelism_follows_the_master_when_not_set(master: str, parallelism: int) -> None:
    assert make({"riverrun.master": master}).get_parallelism() == parallelism


def test_a_local_master_has_one_subtask_for_each_core() -> None:
    env = make({"riverrun.master": "local[*]"})
    env.set_default_local_parallelism(7)

    assert env.get_parallelism() == 7


def test_a_given_spark_session_is_handed_to_the_executor(engine: FakeEngine) -> None:
    session = object()
    with make(spark=session) as env:
        assert env.get_parallelism() == 1
        env.from_collection([1]).print()
        env.execute()

    assert [given for _, given in engine.created] == [session]


def test_one_executor_serves_all_jobs_of_an_environment(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    for _ in range(2):
        env.from_collection([1]).print()
        env.execute()
    env.close()

    assert len(engine.created) == 1
    assert engine.closed == 1


def test_a_collection_is_read_by_one_subtask(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    env.from_collection([1, 2]).print()
    env.execute()

    source = engine.last.graph.vertices[0]
    assert source.parallelism == 1
    assert source.name == "Source: Collection"


def test_a_typed_collection_takes_plain_tuples_for_rows(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection(
        [("a", 1)], Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
    )

    spec = stream._operator("test").spec
    assert isinstance(spec, SourceSpec)
    reader = spec.source.create_splits(1)
    assert len(reader) == 1
    assert spec.source.values == [Row(name="a", age=1)]  # type: ignore[attr-defined]


def test_the_type_of_a_collection_must_be_a_type(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(TypeError, match=r"from_collection: the type is .* such as Types\.INT\(\)"):
        env.from_collection([1], Types.INT)  # type: ignore[arg-type]


def test_a_sequence_includes_both_ends(env: StreamExecutionEnvironment) -> None:
    stream = env.from_sequence(1, 3)

    assert stream.get_type() == Types.LONG()


def test_an_annotated_generator_gives_its_type(env: StreamExecutionEnvironment) -> None:
    def words() -> Iterator[str]:
        yield "a"

    stream = env.add_source(words, "Words")

    assert stream.get_type() == Types.STRING()
    assert stream.get_name() == "Words"


def test_a_source_function_is_a_source(env: StreamExecutionEnvironment) -> None:
    class Numbers(SourceFunction):
        def run(self) -> Iterator[int]:
            yield 1

    stream = env.add_source(Numbers())

    spec = stream._operator("test").spec
    assert isinstance(spec, SourceSpec)
    assert isinstance(spec.source, IteratorSource)
    assert stream.get_type() == Types.LONG()


def test_from_source_refuses_what_is_not_a_source(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(TypeError, match="expected a Source"):
        env.from_source([1], None, "list")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a WatermarkStrategy"):
        env.from_source(DataGeneratorSource(str), 5, "x")  # type: ignore[arg-type]


def test_an_empty_program_is_refused(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ProgramError, match="defines no operators"):
        env.execute()


def test_a_program_runs_once(env: StreamExecutionEnvironment, engine: FakeEngine) -> None:
    env.from_collection([1]).print()

    result = env.execute("first")

    assert engine.last.name == "first"
    assert result.get_net_runtime() == 42
    assert result.get_job_id() == engine.last.job
    assert result.get_accumulator_result("seen") == 3
    with pytest.raises(ProgramError, match="defines no operators"):
        env.execute()


def test_a_stream_can_be_extended_after_it_ran(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    stream = env.from_collection([1])
    stream.print()
    env.execute()

    stream.map(str).print()
    env.execute()

    names = [op.name for vertex in engine.last.graph.vertices for op in vertex.operators]
    assert names == ["Source: Collection", "Map", "Sink: Print to Std. Out"]


def test_the_job_name_falls_back_to_the_pipeline_name(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    env.configure({"pipeline.name": "nightly"})
    env.from_collection([1]).print()
    env.execute()

    assert engine.last.name == "nightly"


def test_a_failed_job_raises_with_the_users_exception_as_cause(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    engine.outcome = JobStatus.FAILED
    engine.failure = Failure("ValueError", "boom", exception=pickle.dumps(ValueError("boom")))
    env.from_collection([1]).print()

    with pytest.raises(JobFailed, match="ValueError: boom") as caught:
        env.execute()

    assert isinstance(caught.value.__cause__, ValueError)


def test_an_exception_that_cannot_be_rebuilt_is_no_obstacle(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    engine.outcome = JobStatus.FAILED
    engine.failure = Failure("Odd", "boom", exception=b"not a pickle")
    env.from_collection([1]).print()

    with pytest.raises(JobFailed, match="Odd: boom") as caught:
        env.execute()

    assert caught.value.__cause__ is None


def test_an_interrupt_cancels_the_job(
    env: StreamExecutionEnvironment, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.outcome = None
    env.from_collection([1]).print()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("riverrun.datastream.job_client.result_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        env.execute()

    assert engine.jobs[-1].status() is JobStatus.CANCELED


def test_a_client_sees_status_result_and_cancel(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    engine.outcome = None
    env.from_collection([1]).print()

    client = env.execute_async("job")
    outcome = client.get_job_execution_result()

    assert client.get_job_status().result() is JobStatus.RUNNING
    assert not outcome.done()
    with pytest.raises(TimeoutError):
        outcome.result(timeout=0)
    client.cancel().result()
    assert outcome.done()
    assert isinstance(outcome.exception(), JobCanceled)
    assert client.get_accumulators().result() == {"seen": 3}
    assert client.get_job_id() == engine.last.job


def test_batch_mode_gives_final_values_only(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    env.from_collection([1]).key_by(lambda v: v).sum().print()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.execute()

    specs = [op.spec for vertex in engine.last.graph.vertices for op in vertex.operators]
    assert [spec.final_only for spec in specs if isinstance(spec, ReduceSpec)] == [True]


def test_automatic_mode_looks_at_the_sources(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    env.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    env.from_source(DataGeneratorSource(str), None, "endless").key_by(len).max().print()
    env.execute()

    specs = [op.spec for vertex in engine.last.graph.vertices for op in vertex.operators]
    assert [spec.final_only for spec in specs if isinstance(spec, ReduceSpec)] == [False]


def test_batch_mode_refuses_a_source_without_end(env: StreamExecutionEnvironment) -> None:
    source = DataGeneratorSource(str)
    assert source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
    env.from_source(source, WatermarkStrategy.no_watermarks(), "endless").print()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)

    with pytest.raises(ProgramError, match="'Source: endless': this source never ends"):
        env.execute()


def test_uids_can_be_required(env: StreamExecutionEnvironment, engine: FakeEngine) -> None:
    env.get_config().disable_auto_generated_uids()
    source = env.from_collection([1]).uid("source")
    sink = source.print()

    with pytest.raises(ProgramError, match=r"'Sink: Print to Std\. Out': has no uid"):
        env.execute()
    sink.uid("sink")
    env.execute()

    assert len(engine.jobs) == 1


def test_the_plan_is_json_and_runs_nothing(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    env.from_collection([1]).map(str).print()

    plan = json.loads(env.get_execution_plan())

    assert [node["type"] for node in plan["nodes"]][:2] == ["Source: Collection", "Map"]
    assert not engine.jobs


def test_jars_are_accepted_and_said_to_be_unused(
    env: StreamExecutionEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        env.add_jars("file:///a.jar")

    assert "jars are not used" in caplog.text


def test_where_a_job_starts_from_is_part_of_its_submission(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    env.configure(
        {
            "execution.savepoint.path": "/checkpoints/chk-7",
            "execution.state-recovery.ignore-unclaimed-state": "true",
            "riverrun.job-id": "0123456789abcdef" * 2,
            "riverrun.resume": "true",
        }
    )
    env.from_collection([1]).print()
    env.execute()

    assert str(engine.last.job) == "0123456789abcdef" * 2
    assert engine.last.restore_from == "/checkpoints/chk-7"
    assert engine.last.allow_non_restored
    assert engine.last.resume


def test_a_fixed_job_id_is_for_one_job(env: StreamExecutionEnvironment, engine: FakeEngine) -> None:
    env.configure({"riverrun.job-id": "ab" * 16})
    env.from_collection([1]).print()
    env.execute()
    env.from_collection([1]).print()

    with pytest.raises(ProgramError, match="a program whose job has a fixed id can run one job"):
        env.execute()
    assert len(engine.jobs) == 1


def test_resuming_needs_the_id_of_a_job(env: StreamExecutionEnvironment) -> None:
    env.configure({"riverrun.resume": "true"})
    env.from_collection([1]).print()

    with pytest.raises(ConfigError, match=r"set 'riverrun\.job-id'"):
        env.execute()


def test_a_job_client_shows_failures_and_checkpoints(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).print()
    client = env.execute_async()

    assert [record.failure.message for record in client.get_failures()] == ["boom"]
    assert client.trigger_checkpoint(5) == "/checkpoints/chk-1 within 5"
    assert client.get_checkpoints() == "figures"


def test_a_job_client_takes_savepoints_with_pyflinks_signatures(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    env.from_collection([1]).print()
    client = env.execute_async()

    taken = client.trigger_savepoint("/savepoints", SavepointFormatType.NATIVE)
    assert taken.done()
    assert taken.result(5) == "savepoint in /savepoints"
    assert client.trigger_savepoint().result() == "savepoint in None"
    stopped = client.stop_with_savepoint(True, "/last")
    assert stopped.result() == "last savepoint in /last, drained: True"
    assert stopped.exception() is None
    client.dispose_savepoint("/savepoints/savepoint-1")
    assert engine.jobs[-1].disposed == "/savepoints/savepoint-1"


def test_a_job_client_rescales_its_job(env: StreamExecutionEnvironment, engine: FakeEngine) -> None:
    env.from_collection([1]).print()
    client = env.execute_async()

    rescaling = client.rescale({"count": 3})
    assert rescaling.done()
    assert (rescaling.result(5), rescaling.exception()) == (None, None)
    assert engine.jobs[-1].rescaled_to == {"count": 3}


def test_a_job_id_has_thirty_two_characters(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ConfigError, match="expected 32 lower-case hexadecimal characters"):
        env.configure({"riverrun.job-id": "mine"})


def test_a_group_cannot_have_two_sets_of_resources(env: StreamExecutionEnvironment) -> None:
    env.register_slot_sharing_group(SlotSharingGroup.builder("big").set_cpu_cores(2.0).build())

    with pytest.raises(ProgramError, match="'big': was registered with other resources"):
        env.register_slot_sharing_group(SlotSharingGroup.builder("big").set_cpu_cores(1.0).build())


def test_a_forgotten_program_is_named_at_exit(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    env = make()
    env.from_collection([1]).map(str).name("my map")
    del env

    unexecuted.tell_unexecuted()

    error = capsys.readouterr().err
    assert "without running its 2 operators ('Collection', 'my map')" in error
    assert not engine.jobs


@pytest.mark.parametrize("how", ["execute", "get_execution_plan", "close"])
def test_a_program_that_was_run_shown_or_closed_is_not_forgotten(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    del engine
    env = make()
    env.from_collection([1]).print()
    getattr(env, how)()

    unexecuted.tell_unexecuted()

    assert capsys.readouterr().err == ""
