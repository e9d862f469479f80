"""DataFrames as streams and streams as DataFrames, on the in-process engine and without Spark."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from riverrun.api.client_side import ClientSide
from riverrun.connectors.spark.sinks import DataFrameSink, ForeachBatchSink
from riverrun.connectors.spark.source import DataFrameSource
from riverrun.core.errors import ConfigError, ExternalError, JobFailed, ProgramError
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.prepared import Prepared
from riverrun.serde.types import Types
from riverrun.testing.waiting import wait_until
from tests.unit.connectors.spark.conftest import ArrowFrames

NUMBERS = pa.Table.from_batches(
    [
        pa.RecordBatch.from_pydict(
            {"id": list(range(start, start + size))}, pa.schema([("id", pa.int64())])
        )
        for start, size in ((0, 5), (5, 0), (5, 7), (12, 3))
    ]
)
IN_PROCESS = ClientSide("in-process", {})


def _await_gone(folder: Path) -> None:
    wait_until(lambda: not folder.exists(), what="the files to go away")


def env(parallelism: int = 1, **config: str) -> StreamExecutionEnvironment:
    made = StreamExecutionEnvironment.get_execution_environment(
        {"riverrun.master": "in-process"} | config
    )
    return made.set_parallelism(parallelism)


def test_a_frame_is_run_once_when_the_job_is_submitted_and_its_files_go_with_the_job(
    frames: ArrowFrames,
) -> None:
    stream = env().from_spark(NUMBERS)
    assert stream.get_type() == Types.ROW_NAMED(["id"], [Types.LONG()])
    assert frames.runs == 0
    with stream.map(lambda row: row.id).execute_and_collect() as results:
        assert list(results) == list(range(15))
    assert frames.runs == 1
    (folder,) = frames.at_exit
    _await_gone(folder)


def test_partitions_are_shared_out_whole(frames: ArrowFrames) -> None:
    source = DataFrameSource(NUMBERS)
    source.prepare(IN_PROCESS)
    assert [split.rows for split in source.create_splits(2)] == [5, 7, 3]
    source.release(finished=True)


def test_a_reader_goes_on_at_the_very_row(frames: ArrowFrames) -> None:
    source = DataFrameSource(NUMBERS)
    source.prepare(IN_PROCESS)
    found: list[int] = []
    splits = source.create_splits(1)
    while splits:
        reader: Any = source.create_reader(splits, None)  # type: ignore[arg-type]
        found += [row.id for row in reader.poll(2).values]
        splits = reader.snapshot_splits()
        reader.close()
    assert found == list(range(15))
    source.release(finished=True)
    with pytest.raises(ExternalError, match=r"is gone; .* needs from_spark\(..., staging=...\)"):
        source.create_reader(source.create_splits(1), None).poll(1)  # type: ignore[arg-type]


def test_rows_in_a_folder_of_ones_own_are_found_again(frames: ArrowFrames, tmp_path: Path) -> None:
    for _ in range(2):
        stream = env().from_spark(NUMBERS, staging=str(tmp_path)).map(lambda row: row.id)
        with stream.execute_and_collect() as results:
            assert list(results) == list(range(15))
    assert frames.runs == 1
    with pytest.raises(ProgramError, match=r"holds rows with the columns \['id: int64'\]"):
        env().from_spark(
            NUMBERS.rename_columns(["x"]), staging=str(tmp_path)
        ).print()._program.submit("")


def test_a_stream_becomes_a_frame(frames: ArrowFrames, tmp_path: Path) -> None:
    pair = Types.TUPLE([Types.LONG(), Types.STRING()])
    stream = env(2).from_sequence(1, 100).map(lambda n: (n, str(n)), pair)
    frame = stream.to_spark(staging=str(tmp_path))
    assert sorted(frame.to_pylist(), key=lambda row: row["f0"]) == [
        {"f0": n, "f1": str(n)} for n in range(1, 101)
    ]
    assert env().from_sequence(1, 3).to_spark(staging=str(tmp_path))["value"].to_pylist() == [
        1,
        2,
        3,
    ]


def test_an_empty_stream_is_an_empty_frame(frames: ArrowFrames, tmp_path: Path) -> None:
    frame = env().from_sequence(1, 3).filter(lambda n: n > 5).to_spark(staging=str(tmp_path))
    assert frame.schema.names == ["value"]
    assert frame.num_rows == 0


@pytest.mark.parametrize("interval", ["10 ms", "0 ms"], ids=["checkpoints", "no checkpoints"])
def test_every_record_is_in_one_batch(frames: ArrowFrames, interval: str) -> None:
    batches: list[tuple[int, list[int]]] = []
    made = env(2, **({"execution.checkpointing.interval": interval} if interval != "0 ms" else {}))
    made.from_sequence(1, 5000).for_each_batch(
        lambda frame, number: batches.append((number, frame["value"].to_pylist()))
    )
    made.execute()
    numbers = [number for number, _ in batches]
    assert numbers == sorted(set(numbers))
    assert sorted(each for _, batch in batches for each in batch) == list(range(1, 5001))
    for folder in frames.at_exit:
        _await_gone(folder)


def test_a_function_that_raises_fails_the_job(frames: ArrowFrames) -> None:
    def refuse(frame: Any, number: int) -> None:
        raise ValueError(f"no batch {number > 0}")

    made = env()
    made.from_sequence(1, 3).for_each_batch(refuse)
    with pytest.raises(JobFailed, match="no batch True"):
        made.execute()


def test_the_files_of_a_batch_stay_until_the_next_was_taken(
    frames: ArrowFrames, tmp_path: Path
) -> None:
    sink = ForeachBatchSink(lambda frame, number: None, Types.LONG(), str(tmp_path))
    sink.prepare(IN_PROCESS)
    handler = sink.client_handler()
    sent: list[Any] = []

    class ToClient:
        def send(self, values: Any, commit: str | None = None) -> None:
            sent.append((values, commit))
            handler(0, values)

    from tests.contract.connectors.lake.stepwise import context  # noqa: PLC0415

    writer = sink.create_writer(context())
    committer = sink.create_global_committer(context_to(ToClient()))
    for number in (3, 7):
        writer.write_run([number], None)
        committer.commit(number, writer.prepare_commit())
        assert len(list(tmp_path.iterdir())) == 1
    assert [commit for _, commit in sent] == ["3", "7"]


def context_to(channel: Any) -> Any:
    from riverrun.api.sink import SinkWriterContext  # noqa: PLC0415

    return SinkWriterContext(0, 1, "sink", channel)


@pytest.mark.parametrize(
    "end",
    [
        lambda: DataFrameSource(NUMBERS),
        lambda: DataFrameSink(Types.LONG()),
        lambda: ForeachBatchSink(print, Types.LONG()),
    ],
    ids=["from_spark", "to_spark", "for_each_batch"],
)
def test_with_a_job_manager_elsewhere_frames_are_refused(end: Any, frames: ArrowFrames) -> None:
    with pytest.raises(ProgramError, match=r"runs in the JobManager at 'http://there:8081'"):
        end().prepare(ClientSide("http://there:8081", {}))


def test_tasks_on_several_machines_need_a_folder_that_all_reach(frames: ArrowFrames) -> None:
    with pytest.raises(ConfigError, match=r"set 'execution.checkpointing.dir', or give staging="):
        DataFrameSource(NUMBERS).prepare(ClientSide("spark://there:7077", {}))


def test_records_of_unknown_type_are_no_frame(frames: ArrowFrames) -> None:
    stream = env().from_collection([1, "x"]).map(lambda x: x)
    with pytest.raises(ProgramError, match="to_spark: the type of the records is None"):
        stream.to_spark()
    with pytest.raises(TypeError, match="for_each_batch: got 5; expected a callable"):
        stream.for_each_batch(5)  # type: ignore[arg-type]
    stream._program.close()


class _Job:
    def __init__(self, status: JobStatus) -> None:
        self.status = status

    def wait(self) -> JobStatus:
        return self.status


@pytest.mark.parametrize(
    ("status", "stays"),
    [(JobStatus.FINISHED, False), (JobStatus.FAILED, False), (JobStatus.SUSPENDED, True)],
    ids=str,
)
def test_files_stay_while_another_job_manager_goes_on_with_the_job(
    frames: ArrowFrames, status: JobStatus, stays: bool
) -> None:
    program = env().from_spark(NUMBERS)._program
    prepared = Prepared(program._transformations, IN_PROCESS)
    (folder,) = frames.at_exit
    prepared._watch(_Job(status))  # type: ignore[arg-type]
    assert folder.exists() is stays
    shutil.rmtree(folder, ignore_errors=True)
    program.close()


@pytest.mark.parametrize(
    "end",
    [
        lambda: DataFrameSource(NUMBERS),
        lambda: DataFrameSink(Types.LONG()),
        lambda: ForeachBatchSink(print, Types.LONG()),
    ],
    ids=["from_spark", "to_spark", "for_each_batch"],
)
def test_files_beside_the_checkpoints_stay_when_the_process_ends(
    end: Any, frames: ArrowFrames, tmp_path: Path
) -> None:
    end().prepare(ClientSide("local[2]", {"execution.checkpointing.dir": str(tmp_path)}))
    assert frames.at_exit == []
    end().prepare(ClientSide("local[2]", {}))
    (folder,) = frames.at_exit
    shutil.rmtree(folder)


def test_a_frame_that_cannot_be_run_leaves_no_files(
    frames: ArrowFrames, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(frame: object, body: object) -> list[Any]:
        raise ExternalError("no such table")

    monkeypatch.setattr(frames, "for_each_partition", refuse)
    program = env().from_spark(NUMBERS)._program
    with pytest.raises(ExternalError, match="no such table"):
        Prepared(program._transformations, IN_PROCESS)
    (folder,) = frames.at_exit
    assert not folder.exists()
    program.close()


def test_a_folder_whose_list_is_cut_off_is_filled_again(
    frames: ArrowFrames, tmp_path: Path
) -> None:
    (tmp_path / "_staged.json").write_text('{"columns": [')
    for _ in range(2):
        source = DataFrameSource(NUMBERS, str(tmp_path))
        source.prepare(IN_PROCESS)
        assert [split.rows for split in source.create_splits(1)] == [5, 7, 3]
    assert frames.runs == 1
