"""The end of a stream: a sink whose operator can still be set up."""

from __future__ import annotations

from riverrun.datastream.operator_settings import OperatorSettings
from riverrun.datastream.program import Program
from riverrun.graph.transformations import Transformation

__all__ = ["DataStreamSink"]


class DataStreamSink(OperatorSettings):
    """What ``print``, ``sink_to`` and ``add_sink`` return."""

    def __init__(self, program: Program, operator: Transformation) -> None:
        self._program = program
        self._upstream = operator
