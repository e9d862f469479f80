"""A job with a sink that commits globally, step by step, so that it can break off at each of them."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riverrun.api.sink import ClientChannel, Sink, SinkWriter, SinkWriterContext


class Nobody(ClientChannel):
    def send(self, values: Sequence[Any], commit: str | None = None) -> None:
        raise AssertionError(f"nobody listens to {values!r}")


def context(
    subtask: int = 0, parallelism: int = 1, config: Mapping[str, str] | None = None
) -> SinkWriterContext:
    return SinkWriterContext(
        subtask,
        parallelism,
        "sink",
        Nobody(),
        checkpointing=True,
        operator_id="abc",
        config=config or {},
    )


class Crash(Exception):  # noqa: N818
    """The job breaks off here."""


@dataclass(frozen=True)
class Checkpoint:
    number: int
    position: int
    prepared: bytes


class StepwiseJob:
    """Reads ``records`` in pieces of ``piece``, a checkpoint after each.

    Args:
        crashes: at which steps it breaks off, counted over all attempts.
        parallelism: of the attempts in turn; the last one goes for all that follow.
    """

    def __init__(
        self,
        sink: Sink[Any],
        records: Sequence[Any],
        *,
        crashes: Sequence[int] = (),
        parallelism: Sequence[int] = (2,),
        piece: int = 10,
        config: Mapping[str, str] | None = None,
    ) -> None:
        self._sink = pickle.loads(pickle.dumps(sink))
        self._records = records
        self._crashes = set(crashes)
        self._parallelism = parallelism
        self._piece = piece
        self._config = config
        self._steps = itertools.count()
        self._number = 0
        self._latest = Checkpoint(0, 0, pickle.dumps([]))
        self.crashed = 0

    def run(self) -> None:
        while True:
            attempt = min(self.crashed, len(self._parallelism) - 1)
            writers: list[SinkWriter[Any]] = []
            try:
                self._attempt(self._parallelism[attempt], writers)
            except Crash:
                self.crashed += 1
            else:
                return
            finally:
                for writer in writers:
                    writer.close()

    def _attempt(self, parallelism: int, writers: list[SinkWriter[Any]]) -> None:
        committer = self._sink.create_global_committer(context(config=self._config))
        try:
            self._commit(committer)
            for subtask in range(parallelism):
                writer = self._sink.create_writer(context(subtask, parallelism, self._config))
                writers.append(writer)
                writer.open()
                self._step()
            for start in range(self._latest.position, len(self._records), self._piece):
                self._epoch(writers, self._records[start : start + self._piece])
                self._commit(committer)
        finally:
            committer.close()

    def _epoch(self, writers: Sequence[SinkWriter[Any]], records: Sequence[Any]) -> None:
        prepared: list[Any] = []
        for subtask, writer in enumerate(writers):
            writer.write_run(list(records[subtask :: len(writers)]), None)
            self._step()
        self._number += 1
        for writer in writers:
            writer.flush(end_of_input=False)
            prepared += writer.prepare_commit()
            self._step()
        position = self._latest.position + len(records)
        self._latest = Checkpoint(self._number, position, pickle.dumps(prepared))
        self._step()

    def _commit(self, committer: Any) -> None:
        prepared = pickle.loads(self._latest.prepared)
        if prepared:
            committer.commit(self._latest.number, prepared)
        self._step()

    def _step(self) -> None:
        step = next(self._steps)
        if step in self._crashes:
            raise Crash(step)
