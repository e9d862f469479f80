"""Sources with an enumerator under every fault: each split is read exactly once, whoever has it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from riverrun.api.source import Source
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.runtime.enumerator import EnumeratorHost
from riverrun.testing.simulate import SimulationFailed, Variety, simulate
from riverrun.testing.simulation.program import Build
from tests.unit.testing.discovering_sources import PushedNumbers, QueuedNumbers
from tests.unit.testing.simulated_programs import Count

SOURCES: dict[str, Source[int]] = {
    "queued": QueuedNumbers(splits=6, size=4),
    "pushed": PushedNumbers(splits=5, size=5),
}


def counted(source: Source[int]) -> Build:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        return numbers.key_by(lambda value: value % 3).process(Count())

    return build


def counted_by_two(source: Source[int]) -> Build:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        env.set_parallelism(2)
        return counted(source)(env)

    return build


@pytest.mark.parametrize("name", SOURCES)
def test_every_split_is_read_once_under_every_fault(name: str) -> None:
    report = simulate(counted_by_two(SOURCES[name]), seeds=range(80))

    assert report.attempts > 160
    assert report.checkpoints > 80
    assert all(report.faults.values()), report.faults


@pytest.mark.parametrize("name", SOURCES)
def test_every_split_is_read_once_across_rescales_and_stops(name: str) -> None:
    variety = Variety(rescales=3, savepoints=2, stops=1, parallelism=(1, 2, 3))
    report = simulate(counted(SOURCES[name]), seeds=range(40), variety=variety)

    assert report.rescales > 5
    assert report.jobs > report.runs


@pytest.mark.parametrize("name", SOURCES)
def test_at_least_once_loses_nothing(name: str) -> None:
    simulate(
        counted_by_two(SOURCES[name]), seeds=range(20), variety=Variety(modes=("at-least-once",))
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_every_split_is_read_once_in_very_many_runs(name: str) -> None:
    simulate(counted_by_two(SOURCES[name]), seeds=range(10_000, 12_000))
    variety = replace(Variety(), rescales=3, savepoints=2, stops=1, parallelism=(1, 2, 3))
    simulate(counted(SOURCES[name]), seeds=range(20_000, 21_000), variety=variety)


def test_an_enumerator_that_is_saved_too_late_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = EnumeratorHost.cut

    def cut_late(host: EnumeratorHost, checkpoint: int) -> None:
        host._last_prepared = checkpoint - 1
        host.prepare(checkpoint)  # what it assigned since the trigger is in nobody's part
        host._outgoing.pop()
        cut(host, checkpoint)

    monkeypatch.setattr(EnumeratorHost, "cut", cut_late)

    with pytest.raises(SimulationFailed, match=r"values? (too few|missing)"):
        simulate(counted_by_two(SOURCES["queued"]), seeds=range(300))
