"""``chain`` on riverrun: a hundred operators in one task."""

from typing import Final

from benchmarks.programs.program import Program
from benchmarks.steps import FUNCTIONS, STEPS, number
from riverrun import DataStream, StreamExecutionEnvironment, WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource


def chain(environment: StreamExecutionEnvironment, records: int) -> DataStream:
    """The numbers after all steps."""
    source = DataGeneratorSource(number, records)
    numbers = environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    for function in FUNCTIONS:
        numbers = numbers.map(function)
    return numbers


def expected(records: int) -> list[int]:
    """One more for each step."""
    return [number(index) + STEPS for index in range(records)]


CHAIN_PROGRAM: Final = Program(chain, expected)
