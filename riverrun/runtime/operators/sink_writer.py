"""The writers of a sink with a global committer: what they prepare goes on as records, before the barrier."""

from __future__ import annotations

from typing import Any

from riverrun.api.sink import SinkWriter
from riverrun.graph.specs import SinkWriterSpec
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.operator import Operator, OperatorContext
from riverrun.runtime.operators.sink import writer_context
from riverrun.runtime.system_state import WRITER


class SinkWriterOperator(Operator):
    """Hands each run to the writer; its committables come out at each checkpoint and at the end."""

    def __init__(self, spec: SinkWriterSpec) -> None:
        self._sink = spec.sink
        self.takes_columns = spec.sink.takes_columns
        self._writer: SinkWriter[Any] | None = None
        self._emit: Emit | None = None
        self._finished = False

    def open(self, context: OperatorContext) -> None:
        self._emit = context.emit
        restored = context.states.restored_items(WRITER)
        self._writer = self._sink.create_writer(writer_context(context, restored))
        self._writer.open()
        context.states.provide(WRITER, self._writer.snapshot_state)

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        del emit
        assert self._writer is not None  # noqa: S101  (the chain opens before it processes)
        self._writer.write_run(values, timestamps)

    def finish(self, emit: Emit) -> None:
        # Now, because nothing may follow the end of input: the committer has it in its last checkpoint.
        self._prepare(emit, end_of_input=True)
        self._finished = True

    def snapshot(self, checkpoint: int, timestamp: int) -> None:
        del checkpoint, timestamp
        if self._emit is not None and not self._finished:
            self._prepare(self._emit, end_of_input=False)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def _prepare(self, emit: Emit, *, end_of_input: bool) -> None:
        assert self._writer is not None  # noqa: S101  (the chain opens before it prepares)
        self._writer.flush(end_of_input=end_of_input)
        prepared = self._writer.prepare_commit()
        if prepared:
            emit(prepared, None)
