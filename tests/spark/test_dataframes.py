"""Streams from DataFrames, DataFrames from streams, and functions for the batches of checkpoints."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.checkpointed import CheckpointListener
from riverrun.api.functions import MapFunction, RuntimeContext
from riverrun.core.errors import ProgramError
from riverrun.serde.types import Types
from tests.spark.allround.run import RECOVERING
from tests.spark.conftest import MakeEnv

pytestmark = pytest.mark.spark

PAIR = Types.TUPLE([Types.INT(), Types.LONG()])


class DiesAfterACheckpoint(MapFunction, CheckpointListener):
    """Gives (subtask, id); takes its process with it when the first checkpoint is complete."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def open(self, runtime_context: RuntimeContext) -> None:
        self._subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> Any:
        return self._subtask, value.id

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if self._subtask == 1 and not self._mark.exists():
            self._mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_dataframe_is_read_in_its_partitions_and_comes_back_as_one(
    make_env: MakeEnv, warm_session: Any, tmp_path: Path
) -> None:
    frame = warm_session.range(0, 40_000, 1, 4).selectExpr(
        "id",
        "rand() as chance",
        "timestamp_seconds(id) as at",
        "cast(id as decimal(10, 2)) as price",
    )
    env = make_env(2, dict(RECOVERING))
    stream = env.from_spark(frame).map(DiesAfterACheckpoint(tmp_path / "died"), PAIR)

    back = stream.to_spark(staging=str(tmp_path / "out"))

    assert back.schema.simpleString() == "struct<f0:int,f1:bigint>"
    by_subtask = defaultdict(list)
    for subtask, number in back.collect():
        by_subtask[subtask].append(number)
    # Partitions 0 and 2 of 4 went to one subtask, 1 and 3 to the other; none was lost or repeated.
    assert sorted(by_subtask[0]) == [*range(10_000), *range(20_000, 30_000)]
    assert sorted(by_subtask[1]) == [*range(10_000, 20_000), *range(30_000, 40_000)]
    assert (tmp_path / "died").exists()


def test_the_records_of_each_checkpoint_are_a_dataframe_for_a_function(
    make_env: MakeEnv, warm_session: Any, tmp_path: Path
) -> None:
    frame = warm_session.range(0, 30_000, 1, 3)
    env = make_env(2, dict(RECOVERING))
    batches: list[tuple[int, list[int]]] = []

    def take(batch: Any, number: int) -> None:
        batches.append((number, [row["f1"] for row in batch.collect()]))

    stream = env.from_spark(frame).map(DiesAfterACheckpoint(tmp_path / "died"), PAIR)
    stream.for_each_batch(take)
    env.execute("batches")

    numbers = [number for number, _ in batches]
    assert numbers == sorted(set(numbers))
    assert sorted(each for _, batch in batches for each in batch) == list(range(30_000))
    assert (tmp_path / "died").exists()


def test_dataframes_that_cannot_be_streams_are_refused(
    make_env: MakeEnv, warm_session: Any
) -> None:
    env = make_env()
    with pytest.raises(TypeError, match=r"from_spark: got list; expected a pyspark.sql.DataFrame"):
        env.from_spark([1, 2])
    with pytest.raises(TypeError, match="of a streaming query; expected one of a batch query"):
        env.from_spark(warm_session.readStream.format("rate").load())
    with pytest.raises(ProgramError, match="from_spark: column 'length'"):
        env.from_spark(warm_session.sql("select interval '1' day as length"))
    endless = env.from_source(_endless(), None, "numbers")
    with pytest.raises(ProgramError, match="to_spark: the source 'numbers' never ends"):
        endless.to_spark()
    env.close()


def _endless() -> Any:
    from riverrun.connectors.datagen import DataGeneratorSource  # noqa: PLC0415

    return DataGeneratorSource(lambda index: index, None, None, Types.LONG())
