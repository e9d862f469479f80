"""The end of a stream: a sink whose operator can still be set up."""

from __future__ import annotations

from typing import Self

from riverrun.datastream.operator_settings import OperatorSettings
from riverrun.datastream.program import Program
from riverrun.graph.transformations import Transformation

__all__ = ["DataStreamSink"]


class DataStreamSink(OperatorSettings):
    """What ``print``, ``sink_to`` and ``add_sink`` return.

    A sink with a global committer is two operators. Settings are those of its writers; the committer has
    their name and uid with an addition.
    """

    def __init__(
        self, program: Program, operator: Transformation, committer: Transformation | None = None
    ) -> None:
        self._program = program
        self._upstream = operator
        self._committer = committer

    def name(self, name: str) -> Self:
        if self._committer is None:
            return super().name(name)
        self._committer.name = f"{name}: Committer"
        return super().name(f"{name}: Writer")

    def uid(self, uid: str) -> Self:
        if self._committer is not None:
            self._committer.uid = f"{uid}: committer"
        return super().uid(uid)
