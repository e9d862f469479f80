"""The all-round job: sequences per key through keyed, operator and broadcast state, checked on the way.

sequences -> Count (operator state) -> key_by -> Remember (keyed state) -> key_by -> Check -> sinks
                          rules -> broadcast -^
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.spark.allround.file_sink import FileSink
from tests.spark.allround.functions import (
    RULES,
    Check,
    Count,
    Remember,
)
from tests.spark.allround.sequences import SequenceSource


@dataclass(frozen=True, slots=True)
class Shape:
    """How much the job has to do."""

    keys: int = 16
    per_key: int = 600
    rules: int = 30
    rate: float = 2000.0
    """Records a second, until the gate opens."""
    slow_s: float = 0.0003
    """What the last task needs for a record, until the gate opens."""
    parallelism: int = 2


def build(env: StreamExecutionEnvironment, shape: Shape, folder: Path) -> DataStream:
    """The job in ``env``, with a file sink in ``folder``; it goes slowly until ``open_gate(folder)``."""
    env.set_parallelism(shape.parallelism)
    records = SequenceSource(shape.keys, shape.per_key, shape.rate, str(gate_of(folder)))
    sequences = env.from_source(records, WatermarkStrategy.no_watermarks(), "sequences")
    results = results_of(env, shape, folder, sequences)
    results.sink_to(FileSink(str(folder / "out"))).name("files")
    return results


def results_of(
    env: StreamExecutionEnvironment, shape: Shape, folder: Path, sequences: DataStream
) -> DataStream:
    """The middle of the job, between any source of the sequences and any sink."""
    gate = str(gate_of(folder))
    rules = SequenceSource(1, shape.rules, shape.rules / 2, gate)
    versions = env.from_source(rules, WatermarkStrategy.no_watermarks(), "rules").set_parallelism(1)
    return (
        sequences.map(Count())
        .name("count")
        .key_by(lambda record: record[0])
        .connect(versions.broadcast(RULES))
        .process(Remember())
        .name("remember")
        .key_by(lambda record: record[:2])
        .process(Check(shape.slow_s, gate))
        .name("check")
    )


def open_gate(folder: Path) -> None:
    """Let the job in ``folder`` run to its end."""
    gate_of(folder).touch()


def gate_of(folder: Path) -> Path:
    """The file that lets the job in ``folder`` run to its end."""
    return folder / "gate"
