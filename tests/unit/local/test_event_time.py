"""Event time in whole programs: sources that are skewed, idle, stalled, or wait for each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from riverrun.api.functions import ProcessFunction
from riverrun.api.source import Polled, Source, SourceReader, SourceReaderContext, SourceStatus
from riverrun.api.watermark_generator import WatermarkGenerator, WatermarkOutput
from riverrun.api.watermark_strategy import (
    AssignerWithPeriodicWatermarks,
    AssignerWithPeriodicWatermarksWrapper,
    IngestionTimeAssigner,
    WatermarkStrategy,
)
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.core.clock import Clock
from riverrun.core.configuration import Configuration
from riverrun.core.errors import JobFailed
from riverrun.core.options import RuntimeExecutionMode
from riverrun.core.time import Duration
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.protocol.elements import MIN_TIMESTAMP

Seen = list[tuple[Any, int, int]]
"""Value, timestamp, and the watermark when it came; in the order of their arrival."""

ASCENDING = WatermarkStrategy.for_monotonous_timestamps()
OWN_TIME = ASCENDING.with_timestamp_assigner(lambda pair, _: pair[1])


@pytest.fixture
def env() -> Iterator[StreamExecutionEnvironment]:
    configuration = Configuration(
        {
            "riverrun.master": "in-process",
            "riverrun.in-process.seed": "7",
            "pipeline.auto-watermark-interval": "5 ms",
        }
    )
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(1)
    yield environment
    environment.close()


class Look(ProcessFunction):
    """Each record with the two times that an operator knows of."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def looked_at(stream: DataStream) -> Seen:
    with stream.rebalance().process(Look()).execute_and_collect() as results:
        return list(results)


def paced(
    env: StreamExecutionEnvironment,
    name: str,
    count: int,
    *,
    every_ms: float,
    step: int = 10,
    start: int = 0,
    strategy: WatermarkStrategy = OWN_TIME,
) -> DataStream:
    """``count`` pairs (name, event time), one every ``every_ms`` of the wall clock."""
    source = DataGeneratorSource(
        lambda index: (name, start + index * step), count, rate_per_second=1000.0 / every_ms
    )
    return env.from_source(source, strategy, name)


class Quiet(Source[Any]):
    """Has no record, and ends after ``ms``."""

    def __init__(self, ms: float) -> None:
        self.ms = ms

    def create_splits(self, parallelism: int) -> list[Any]:
        return ["the only one"]

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        return _QuietReader(self.ms, context.clock)


class _QuietReader(SourceReader[Any]):
    def __init__(self, ms: float, clock: Clock) -> None:
        self._end = clock.monotonic() + ms
        self._clock = clock

    def poll(self, limit: int) -> Polled:
        left = self._end - self._clock.monotonic()
        if left > 0:
            return Polled(status=SourceStatus.NOTHING_AVAILABLE, wait_ms=left)
        return Polled(status=SourceStatus.END_OF_INPUT)

    def snapshot_splits(self) -> list[Any]:
        return []


def never_late(seen: Seen) -> bool:
    return all(time > watermark for _, time, watermark in seen)


def test_event_time_follows_the_source_that_is_behind(env: StreamExecutionEnvironment) -> None:
    old = paced(env, "old", 50, every_ms=4)
    new = paced(env, "new", 50, every_ms=4, start=1_000_000)

    seen = looked_at(old.union(new))

    while seen[-1][0][0] == "new":
        seen.pop()  # when the old ones have ended
    of_new = [watermark for (name, _), _, watermark in seen if name == "new"]
    assert never_late(seen)
    assert len(set(of_new)) > 10, "it moved"
    assert max(of_new) < 1_000


def test_a_source_that_is_stalled_holds_event_time_back(env: StreamExecutionEnvironment) -> None:
    quiet = env.from_source(Quiet(10_000), OWN_TIME, "quiet")

    seen = looked_at(paced(env, "busy", 50, every_ms=4).union(quiet))

    assert {watermark for _, _, watermark in seen} == {MIN_TIMESTAMP}


def test_a_source_that_is_idle_does_not(env: StreamExecutionEnvironment) -> None:
    drowsy = OWN_TIME.with_idleness(Duration.of_millis(20))
    quiet = env.from_source(Quiet(10_000), drowsy, "quiet")

    seen = looked_at(paced(env, "busy", 50, every_ms=4).union(quiet))

    assert never_late(seen)
    assert len({watermark for _, _, watermark in seen}) > 10
    assert seen[0][2] == MIN_TIMESTAMP, "at first nobody knew"


def test_a_source_without_watermarks_holds_the_others_back(env: StreamExecutionEnvironment) -> None:
    plain = WatermarkStrategy.no_watermarks()
    other = paced(env, "other", 50, every_ms=4, strategy=plain).map(lambda pair: pair)

    seen = looked_at(paced(env, "busy", 50, every_ms=4).union(other))

    assert {watermark for _, _, watermark in seen} == {MIN_TIMESTAMP}


class TwoSplits(Source[Any]):
    """One split is read at event time 0 and on, the other one a thousand years later, by turns."""

    def create_splits(self, parallelism: int) -> list[Any]:
        return ["old", "new"]

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        return _ByTurns(splits)


class _ByTurns(SourceReader[Any]):
    def __init__(self, splits: list[str]) -> None:
        self._names = splits
        self._read = 0

    def split_ids(self) -> list[str]:
        return self._names

    def poll(self, limit: int) -> Polled:
        if self._read == 100:
            return Polled(status=SourceStatus.END_OF_INPUT)
        turn, which = divmod(self._read, 2)
        self._read += 1
        name = self._names[which]
        value = (name, turn * 10 + which * 10**13)
        return Polled([value], split=name, status=SourceStatus.NOTHING_AVAILABLE, wait_ms=2.0)

    def snapshot_splits(self) -> list[Any]:
        return []


def test_splits_of_one_subtask_have_watermarks_of_their_own(
    env: StreamExecutionEnvironment,
) -> None:
    seen = looked_at(env.from_source(TwoSplits(), OWN_TIME, "two splits"))

    assert never_late(seen)
    assert len({watermark for _, _, watermark in seen}) > 5
    assert max(watermark for _, _, watermark in seen) < 10**13


class AtMarks(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event[0] == "mark":
            output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def test_a_punctuated_watermark_is_between_two_records(env: StreamExecutionEnvironment) -> None:
    records = [("a", 1), ("mark", 5), ("a", 6), ("a", 9), ("mark", 9), ("a", 3), ("a", 10)]
    strategy = WatermarkStrategy.for_generator(AtMarks).with_timestamp_assigner(
        lambda pair, _: pair[1]
    )
    stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)

    seen = looked_at(stream)

    assert [watermark for _, _, watermark in seen] == [MIN_TIMESTAMP] * 2 + [5, 5, 5, 9, 9]


def test_timestamps_and_watermarks_of_a_stream_replace_those_of_its_source(
    env: StreamExecutionEnvironment,
) -> None:
    far = OWN_TIME.with_timestamp_assigner(lambda pair, _: pair[1] + 10**12)
    stream = paced(env, "a", 50, every_ms=4, strategy=far)

    again = OWN_TIME.with_timestamp_assigner(lambda pair, time: time - 10**12)
    seen = looked_at(stream.map(lambda pair: pair).assign_timestamps_and_watermarks(again))

    assert [time for _, time, _ in seen] == [i * 10 for i in range(50)]
    assert never_late(seen)
    assert len({watermark for _, _, watermark in seen}) > 10


def test_an_idle_stream_counts_no_more_wherever_it_got_its_watermarks(
    env: StreamExecutionEnvironment,
) -> None:
    drowsy = OWN_TIME.with_idleness(Duration.of_millis(20))
    plain = WatermarkStrategy.no_watermarks()
    quiet = env.from_source(Quiet(10_000), plain, "quiet").map(lambda pair: pair)

    seen = looked_at(
        paced(env, "busy", 50, every_ms=4).union(quiet.assign_timestamps_and_watermarks(drowsy))
    )

    assert len({watermark for _, _, watermark in seen}) > 10


def test_the_older_form_of_a_strategy_works(env: StreamExecutionEnvironment) -> None:
    class Latest(AssignerWithPeriodicWatermarks):
        latest: int | None = None

        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            self.latest = value[1]
            return int(value[1])

        def get_current_watermark(self) -> int | None:
            return None if self.latest is None else self.latest - 1

    stream = paced(env, "a", 50, every_ms=4, strategy=WatermarkStrategy.no_watermarks())
    wrapped = AssignerWithPeriodicWatermarksWrapper(Latest())

    seen = looked_at(stream.assign_timestamps_and_watermarks(wrapped))

    assert never_late(seen)
    assert len({watermark for _, _, watermark in seen}) > 10


def test_ingestion_time_rises_with_the_clock_of_the_job(env: StreamExecutionEnvironment) -> None:
    strategy = ASCENDING.with_timestamp_assigner(IngestionTimeAssigner())

    seen = looked_at(paced(env, "a", 20, every_ms=10, strategy=strategy))

    times = [time for _, time, _ in seen]
    assert times == sorted(times)
    assert 150 < times[-1] - times[0] < 1000
    assert never_late(seen)


class TestAlignment:
    """The slow source walks through event time at the pace of the clock, the fast one ten times that."""

    @staticmethod
    def lead(env: StreamExecutionEnvironment, strategy: WatermarkStrategy) -> int:
        """How far the fast source was ahead of the slow one, at most, once both were on their way."""
        slow = paced(env, "slow", 100, every_ms=10, strategy=strategy)
        fast = paced(env, "fast", 100, every_ms=1, strategy=strategy)
        seen = looked_at(slow.union(fast))
        reached = {"slow": 0, "fast": 0}
        lead = 0
        for (name, time), _, _ in seen:
            reached[name] = max(reached[name], time)
            if 200 <= reached["slow"] < 900:
                lead = max(lead, reached["fast"] - reached["slow"])
        assert len(seen) == 200
        assert never_late(seen)
        return lead

    def test_a_fast_source_waits_for_a_slow_one(self, env: StreamExecutionEnvironment) -> None:
        aligned = OWN_TIME.with_watermark_alignment(
            "group", Duration.of_millis(100), Duration.of_millis(10)
        )

        assert self.lead(env, aligned) <= 200

    def test_without_alignment_it_does_not(self, env: StreamExecutionEnvironment) -> None:
        assert self.lead(env, OWN_TIME) > 700

    def test_other_groups_are_not_waited_for(self, env: StreamExecutionEnvironment) -> None:
        def aligned(group: str) -> WatermarkStrategy:
            near, often = Duration.of_millis(100), Duration.of_millis(10)
            return OWN_TIME.with_watermark_alignment(group, near, often)

        slow = paced(env, "slow", 100, every_ms=10, strategy=aligned("one"))
        fast = paced(env, "fast", 100, every_ms=1, strategy=aligned("two"))
        order = [name for (name, _), _, _ in looked_at(slow.union(fast))]

        assert order[-80:] == ["slow"] * 80

    def test_alignment_in_the_middle_of_a_stream_is_remarked_on(
        self, env: StreamExecutionEnvironment, caplog: pytest.LogCaptureFixture
    ) -> None:
        aligned = OWN_TIME.with_watermark_alignment("group", Duration.of_millis(100))

        paced(env, "a", 1, every_ms=1).assign_timestamps_and_watermarks(aligned)

        assert "watermark alignment only works for sources" in caplog.text


def test_in_batch_mode_event_time_stands_still_until_the_end(
    env: StreamExecutionEnvironment,
) -> None:
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    source = paced(env, "a", 50, every_ms=4)

    seen = looked_at(source.assign_timestamps_and_watermarks(OWN_TIME))

    assert [time for _, time, _ in seen] == [i * 10 for i in range(50)]
    assert {watermark for _, _, watermark in seen} == {MIN_TIMESTAMP}


@pytest.mark.parametrize("place", ["source", "stream"])
def test_a_timestamp_of_none_fails_the_job_and_names_the_record(
    env: StreamExecutionEnvironment, place: str
) -> None:
    missing: Callable[[Any, int], Any] = lambda pair, _: pair[1] or None  # noqa: E731
    wrong = ASCENDING.with_timestamp_assigner(missing)
    plain = WatermarkStrategy.no_watermarks()
    stream = paced(env, "a", 3, every_ms=1, strategy=wrong if place == "source" else plain)
    if place == "stream":
        stream = stream.assign_timestamps_and_watermarks(wrong)

    with pytest.raises(JobFailed, match=r"assigner gave None for the record \('a', 0\)") as caught:
        looked_at(stream)

    assert not caught.value.failure.retryable


def test_a_strategy_that_is_none_is_refused(env: StreamExecutionEnvironment) -> None:
    wrong: Any = 5
    with pytest.raises(TypeError, match="got 5; expected a WatermarkStrategy, such as"):
        env.from_collection([1]).assign_timestamps_and_watermarks(wrong)
