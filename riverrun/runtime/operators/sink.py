"""Writes records through the sink's writer."""

from __future__ import annotations

from typing import Any

from riverrun.api.sink import SinkWriter, SinkWriterContext
from riverrun.graph.specs import SinkSpec
from riverrun.runtime.operators.operator import Emit, Operator, OperatorContext


class SinkOperator(Operator):
    """Hands each run to the writer; nothing comes out."""

    def __init__(self, spec: SinkSpec) -> None:
        self._sink = spec.sink
        self._writer: SinkWriter[Any] | None = None

    def open(self, context: OperatorContext) -> None:
        self._writer = self._sink.create_writer(
            SinkWriterContext(
                subtask_index=context.subtask,
                parallelism=context.parallelism,
                task_name=context.name,
                to_client=context.to_client,
                runtime=context.runtime,
            )
        )
        self._writer.open()

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        del emit
        assert self._writer is not None  # noqa: S101  (the chain opens before it processes)
        self._writer.write_run(values, timestamps)

    def finish(self, emit: Emit) -> None:
        del emit
        assert self._writer is not None  # noqa: S101  (the chain opens before it finishes)
        self._writer.flush(end_of_input=True)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
