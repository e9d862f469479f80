"""A sink whose records travel to the process that submitted the job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from riverrun.api.sink import (
    ClientChannel,
    Committable,
    Committer,
    Sink,
    SinkWriter,
    SinkWriterContext,
)

__all__ = ["ClientHandler", "CollectSink"]

ClientHandler: TypeAlias = Callable[[int, Sequence[Any]], None]
"""Called with (subtask, values)."""


class CollectSink(Sink[Any]):
    """Hands runs of records to ``handler`` in the client's process.

    The handler stays there: a copy of this sink that was sent to a worker has none.

    In a job that takes checkpoints each record reaches the handler exactly once, when the checkpoint
    that covers it is complete. Otherwise it does so at once.
    """

    def __init__(self, handler: ClientHandler | None = None) -> None:
        self._handler = handler

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        return _CommittingWriter() if context.checkpointing else _ClientWriter(context)

    def create_committer(self, context: SinkWriterContext) -> Committer | None:
        return ClientCommitter(context.to_client)

    def client_handler(self) -> ClientHandler | None:
        return self._handler

    def __getstate__(self) -> dict[str, Any]:
        return {"_handler": None}


class _ClientWriter(SinkWriter[Any]):
    def __init__(self, context: SinkWriterContext) -> None:
        self._to_client = context.to_client

    def write(self, value: Any, timestamp: int | None) -> None:
        del timestamp
        self._to_client.send([value])

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        del timestamps
        self._to_client.send(values)


# Values committed with one message, so that no message to the client grows with the checkpoint interval.
COMMIT_PIECE = 4096


class _CommittingWriter(SinkWriter[Any]):
    """Holds records back until their checkpoint is complete."""

    def __init__(self) -> None:
        self._held: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        del timestamp
        self._held.append(value)

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        del timestamps
        self._held += values

    def prepare_commit(self) -> list[Any]:
        held, self._held = self._held, []
        return [held[start : start + COMMIT_PIECE] for start in range(0, len(held), COMMIT_PIECE)]


class ClientCommitter(Committer):
    """Sends what was held back to the client, each committable once."""

    def __init__(self, to_client: ClientChannel) -> None:
        self._to_client = to_client

    def commit(self, committables: Sequence[Committable]) -> None:
        for committable in committables:
            self._to_client.send(committable.value, committable.id)
