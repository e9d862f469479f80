"""Sinks: runs go to the writer; what it prepared at a checkpoint is committed when that is complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from riverrun.api.sink import Committable, Committer, SinkWriter, SinkWriterContext
from riverrun.graph.specs import SinkSpec
from riverrun.runtime.emit import Emit
from riverrun.runtime.operators.operator import Operator, OperatorContext
from riverrun.runtime.system_state import COMMITTABLES, WRITER

_AFTER_THE_LAST: Final = 1 << 62
"""Stands for the checkpoint of what is committed at the end of a job that takes none."""


class SinkOperator(Operator):
    """Hands each run to the writer; nothing comes out."""

    def __init__(self, spec: SinkSpec) -> None:
        self._sink = spec.sink
        self.takes_columns = spec.sink.takes_columns
        self._writer: SinkWriter[Any] | None = None
        self._committer: Committer | None = None
        self._prepared: list[Committable] = []
        """Part of a checkpoint that is not known to be complete."""
        self._final_checkpoint = False
        self._subtask = 0

    def open(self, context: OperatorContext) -> None:
        self._final_checkpoint = context.final_checkpoint
        self._subtask = context.subtask
        states = context.states
        place = writer_context(context, states.restored_items(WRITER))
        self._committer = self._sink.create_committer(place)
        # The checkpoint they are part of is complete, or nobody would restore it.
        self._commit(states.restored_items(COMMITTABLES))
        self._writer = self._sink.create_writer(place)
        self._writer.open()
        states.provide(COMMITTABLES, lambda: self._prepared)
        states.provide(WRITER, self._writer.snapshot_state)

    def recommit(self, context: OperatorContext) -> None:
        """For a sink that had finished: commit what its last checkpoint prepared, write nothing."""
        self._committer = self._sink.create_committer(writer_context(context, ()))
        self._commit(context.states.restored_items(COMMITTABLES))

    def process(self, values: list[Any], timestamps: list[int] | None, emit: Emit) -> None:
        del emit
        assert self._writer is not None  # noqa: S101  (the chain opens before it processes)
        self._writer.write_run(values, timestamps)

    def finish(self, emit: Emit) -> None:
        del emit
        assert self._writer is not None  # noqa: S101  (the chain opens before it finishes)
        self._writer.flush(end_of_input=True)
        if not self._final_checkpoint:
            self._prepare(_AFTER_THE_LAST)
            self._commit_up_to(_AFTER_THE_LAST)

    def snapshot(self, checkpoint: int, timestamp: int) -> None:
        del timestamp
        if self._writer is not None:
            self._writer.flush(end_of_input=False)
            self._prepare(checkpoint)

    def checkpoint_completed(self, checkpoint: int) -> None:
        self._commit_up_to(checkpoint)

    def close(self) -> None:
        try:
            if self._writer is not None:
                self._writer.close()
        finally:
            if self._committer is not None:
                self._committer.close()

    def _prepare(self, checkpoint: int) -> None:
        assert self._writer is not None  # noqa: S101  (asked by the caller)
        # What an aborted checkpoint prepared stays prepared: the next one that completes covers it.
        self._prepared += [
            Committable(checkpoint, self._subtask, number, value)
            for number, value in enumerate(self._writer.prepare_commit())
        ]

    def _commit_up_to(self, checkpoint: int) -> None:
        due = [each for each in self._prepared if each.checkpoint <= checkpoint]
        self._prepared = [each for each in self._prepared if each.checkpoint > checkpoint]
        self._commit(due)

    def _commit(self, committables: list[Committable]) -> None:
        if committables and self._committer is not None:
            self._committer.commit(committables)


def writer_context(context: OperatorContext, restored: Sequence[Any]) -> SinkWriterContext:
    """What a sink's writer or committer gets."""
    return SinkWriterContext(
        subtask_index=context.subtask,
        parallelism=context.parallelism,
        task_name=context.name,
        to_client=context.to_client,
        runtime=context.runtime,
        restored=restored,
        checkpointing=context.checkpointing,
        operator_id=context.operator_id,
        config=context.config,
    )
