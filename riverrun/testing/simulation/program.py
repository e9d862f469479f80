"""The program under test: built and compiled once, run many times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from riverrun.connectors.collect import CollectSink
from riverrun.core.configuration import Configuration
from riverrun.core.errors import ProgramError
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.program import Program
from riverrun.local.copies import ProgramCopies

Build: TypeAlias = Callable[[StreamExecutionEnvironment], DataStream]
"""Defines a program and gives the stream whose records are its result."""


class _Marked:
    """Tells the sink of the result from the program's own sinks."""

    def __call__(self, subtask: int, values: Sequence[Any]) -> None:
        """Never called: every run collects for itself."""


class SimulatedProgram:
    """What ``build`` made of an environment with ``config``.

    Raises:
        ProgramError: the program cannot run, or it has no result.
    """

    def __init__(self, build: Build, config: Mapping[str, str]) -> None:
        program = Program(Configuration({"riverrun.master": "in-process", **config}))
        stream = build(StreamExecutionEnvironment(program))
        if not isinstance(stream, DataStream):
            program.close()
            raise ProgramError(
                f"simulate: build gave {stream!r}; expected the DataStream whose records are compared "
                f"with those of the undisturbed run: return it instead of executing the program"
            )
        marked = _Marked()
        stream.sink_to(CollectSink(marked)).name("Result")
        compiled = program.show()
        self.copies = ProgramCopies(compiled.job_graph)
        self.tasks = sum(vertex.parallelism for vertex in compiled.job_graph.vertices)
        """How many tasks there are."""
        self.config = program.config.to_dict()
        """What the program set itself."""
        self.result_id = next(
            operator for operator, each in compiled.client_handlers.items() if each is marked
        )
        """Id of the operator whose records are the result."""
