"""The sink that keeps a view up to date."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from riverrun.api.sink import (
    ClientChannel,
    Committer,
    Sink,
    SinkWriter,
    SinkWriterContext,
)
from riverrun.connectors.collect import COMMIT_PIECE, ClientCommitter
from riverrun.connectors.view import Change, UpsertView
from riverrun.serde.row import Row, RowKind

__all__ = ["ViewSink"]

_RETRACTIONS = (RowKind.DELETE, RowKind.UPDATE_BEFORE)


class ViewSink(Sink[Any]):
    """Sends the last change of each key to a view in the client's process.

    Records of one key must come to one subtask. A row of kind DELETE or UPDATE_BEFORE, or a value that is
    None, deletes its key.
    """

    def __init__(
        self,
        view: UpsertView,
        key: Callable[[Any], Hashable],
        value: Callable[[Any], Any] | None = None,
    ) -> None:
        self._view: UpsertView | None = view
        self.key, self.value = key, value

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        return _ViewWriter(self, None if context.checkpointing else context.to_client)

    def create_committer(self, context: SinkWriterContext) -> Committer | None:
        return ClientCommitter(context.to_client)

    def client_handler(self) -> Callable[[int, Sequence[Any]], None] | None:
        return None if self._view is None else self._view.take

    def __getstate__(self) -> dict[str, Any]:
        return {"_view": None, "key": self.key, "value": self.value}


class _ViewWriter(SinkWriter[Any]):
    """Keeps the last change of each key: until the checkpoint, or for one run if there is a channel."""

    def __init__(self, sink: ViewSink, at_once: ClientChannel | None) -> None:
        self._key, self._value = sink.key, sink.value
        self._at_once = at_once
        self._changes: dict[Hashable, Change] = {}

    def write(self, value: Any, timestamp: int | None) -> None:
        del timestamp
        self.write_run([value], None)

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        del timestamps
        key_of, value_of, changes = self._key, self._value, self._changes
        for record in values:
            key = key_of(record)
            kept = record if value_of is None else value_of(record)
            gone = kept is None or (
                isinstance(record, Row) and record.get_row_kind() in _RETRACTIONS
            )
            changes[key] = (key,) if gone else (key, kept)
        if self._at_once is not None:
            self._at_once.send(list(changes.values()))
            changes.clear()

    def prepare_commit(self) -> list[Any]:
        held, self._changes = list(self._changes.values()), {}
        return [held[start : start + COMMIT_PIECE] for start in range(0, len(held), COMMIT_PIECE)]
