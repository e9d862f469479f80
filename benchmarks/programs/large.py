"""``large`` on riverrun: records of a megabyte through an exchange with keys."""

from typing import Final

from benchmarks.blobs import SIZE, blob, number_of, size_of
from benchmarks.programs.program import Program
from riverrun import DataStream, StreamExecutionEnvironment, WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource


def large(environment: StreamExecutionEnvironment, records: int) -> DataStream:
    """How large each is on the other side."""
    source = DataGeneratorSource(blob, records)
    blobs = environment.from_source(source, WatermarkStrategy.no_watermarks(), "blobs")
    return blobs.key_by(number_of).map(size_of)


def expected(records: int) -> list[int]:
    """They all have the same size."""
    return [SIZE] * records


LARGE_PROGRAM: Final = Program(large, expected)
