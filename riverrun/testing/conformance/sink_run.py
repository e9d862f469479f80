"""A sink driven by hand: its writers and committers, as the tasks of a job would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from riverrun.api.sink import (
    Committable,
    Committer,
    GlobalCommitter,
    Sink,
    SinkWriter,
    SinkWriterContext,
)


class _NoClient:
    """Conforming sinks write to the outside, not to the client."""

    def send(self, values: Sequence[Any], commit: str | None = None) -> None:
        raise NotImplementedError(
            f"conformance: got {len(values)} values for the client ({commit})"
        )


@dataclass(frozen=True, slots=True)
class SavedSink:
    """A checkpoint of a sink: what is to be committed, and what its writers keep."""

    number: int
    committables: tuple[Committable, ...]
    writers: tuple[tuple[Any, ...], ...]

    def dealt(self, parallelism: int) -> list[tuple[Any, ...]]:
        """The writers' state among ``parallelism`` writers."""
        if len(self.writers) == parallelism:
            return list(self.writers)
        flat = [item for each in self.writers for item in each]
        return [tuple(flat[index::parallelism]) for index in range(parallelism)]


class SinkRun:
    """One attempt: a sink at one parallelism, from the start or from a checkpoint.

    What the checkpoint holds is committed first, as after every restart.
    """

    def __init__(self, sink: Sink[Any], parallelism: int, saved: SavedSink | None = None) -> None:
        self.parallelism = parallelism
        self._sink = sink
        dealt = [()] * parallelism if saved is None else saved.dealt(parallelism)
        contexts = [self._context(index, dealt[index]) for index in range(parallelism)]
        self._global: GlobalCommitter | None = None
        self._committers: list[Committer | None] = []
        if sink.commits_globally:
            self._global = sink.create_global_committer(self._context(0, (), parallelism=1))
        else:
            self._committers = [sink.create_committer(each) for each in contexts]
        self.pending: list[Committable] = []
        """Prepared, and part of no checkpoint that is known to be complete."""
        if saved is not None:
            self.commit(saved.committables)
        self._writers: list[SinkWriter[Any]] = []
        for context in contexts:
            writer = sink.create_writer(context)
            self._writers.append(writer)
            writer.open()

    def write(self, subtask: int, values: list[Any], timestamps: list[int] | None = None) -> None:
        """Give a run to one writer."""
        self._writers[subtask].write_run(values, timestamps)

    def flush(self, *, end_of_input: bool = False) -> None:
        """Flush all writers."""
        for writer in self._writers:
            writer.flush(end_of_input=end_of_input)

    def prepare(self, number: int) -> None:
        """Let all writers close what they wrote; after ``flush``."""
        for subtask, writer in enumerate(self._writers):
            self.pending += [
                Committable(number, subtask, place, value)
                for place, value in enumerate(writer.prepare_commit())
            ]

    def save(self, number: int) -> SavedSink:
        """The checkpoint; after ``prepare``."""
        states = tuple(tuple(writer.snapshot_state()) for writer in self._writers)
        return SavedSink(number, tuple(self.pending), states)

    def complete(self, number: int, *, only: int | None = None) -> None:
        """The checkpoint is complete: commit what it covers; ``only`` the first so many, then crash."""
        due = [each for each in self.pending if each.checkpoint <= number]
        self.pending = [each for each in self.pending if each.checkpoint > number]
        # One commit for all writers cannot be cut in half from here.
        self.commit(due if only is None or self._global is not None else due[:only])

    def commit(self, committables: Sequence[Committable]) -> None:
        """Commit, each by the committer that it is dealt to now."""
        if self._global is not None:
            for number in sorted({each.checkpoint for each in committables}):
                values = [each.value for each in committables if each.checkpoint == number]
                self._global.commit(number, values)
            return
        for index, committer in enumerate(self._committers):
            mine = [each for each in committables if each.subtask % self.parallelism == index]
            if committer is not None and mine:
                committer.commit(mine)

    def close(self) -> None:
        """End the attempt, in order or after a crash."""
        for closed in (*self._writers, *self._committers, self._global):
            if closed is not None:
                closed.close()

    def _context(
        self, subtask: int, restored: Sequence[Any], parallelism: int | None = None
    ) -> SinkWriterContext:
        return SinkWriterContext(
            subtask_index=subtask,
            parallelism=parallelism or self.parallelism,
            task_name="conformance",
            to_client=_NoClient(),
            restored=restored,
            checkpointing=True,
        )
