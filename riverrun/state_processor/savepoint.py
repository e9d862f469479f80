"""A savepoint or checkpoint that is open for reading."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.layout import folder_of
from riverrun.checkpoint.references import files_of
from riverrun.checkpoint.saved_operators import SavedOperator, saved_operators
from riverrun.checkpoint.store import load_checkpoint
from riverrun.protocol.snapshots import Redistribution, StateMeta
from riverrun.state.schema import schema_from
from riverrun.state_processor.facts import OperatorFacts, SavepointFacts, StateFacts
from riverrun.state_processor.kinds import keyed_kind, operator_kind
from riverrun.state_processor.names import NotInSavepoint, find_operator
from riverrun.state_processor.sizes import items_size, keyed_sizes
from riverrun.state_processor.sources import ItemSource, KeyedSource, merged_meta
from riverrun.state_processor.table import StateTable
from riverrun.storage.blobs import FileRef, InlineBlob
from riverrun.storage.checkpoint_files import SavedCheckpointFiles
from riverrun.storage.open import open_storage
from riverrun.storage.snapshot_files import SavedFiles
from riverrun.storage.storage import Storage


class Savepoint:
    """Everything that a savepoint or a retained checkpoint holds; nothing in it is ever changed."""

    def __init__(
        self, checkpoint: CompletedCheckpoint, storage: Storage, config: Mapping[str, str]
    ) -> None:
        """Users call ``read``."""
        self.checkpoint = checkpoint
        """The content of `_metadata`, with full paths."""
        self.storage = storage
        """The store that holds it."""
        self.config = config
        """What the store was opened with."""

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], config: Mapping[str, str] | None = None
    ) -> Savepoint:
        """Open a savepoint, or a checkpoint of any backend.

        Args:
            path: its folder or its `_metadata` file; a local path, or a location such as
                ``s3://bucket/folder``.
            config: options of the store, such as those below ``s3.``.

        Raises:
            StorageError: there is none, or it is damaged, or of a later release.
        """
        given = os.fspath(path)
        location = given if "://" in given else str(Path(given).absolute())
        options = dict(config or {})
        storage = open_storage(location, options)
        return cls(load_checkpoint(storage, location), storage, options)

    @property
    def location(self) -> str:
        """Its folder."""
        return folder_of(self.checkpoint.location)

    @property
    def files(self) -> SavedFiles:
        """Reads its files; sizes and digests are checked."""
        return SavedCheckpointFiles(self.storage)

    @cached_property
    def saved(self) -> Mapping[str, SavedOperator]:
        """The operators by their ids, with references to their state as the subtasks wrote it."""
        return saved_operators(self.checkpoint.metadata)

    def find(self, operator: str) -> SavedOperator:
        """The operator with this uid, id or name.

        Raises:
            NotInSavepoint: there is none; the message has the nearest name.
            AmbiguousName: several operators have the name.
        """
        return find_operator(self.saved, operator, self.describe())

    def describe(self) -> str:
        """The savepoint in a message."""
        what = "savepoint" if self.checkpoint.metadata.savepoint else "checkpoint"
        return f"{what} {self.location!r}"

    @cached_property
    def metadata(self) -> SavepointFacts:
        """Which job it is of, and when it was taken."""
        found = self.checkpoint.metadata
        channels = (each for subtask in found.subtasks for each in subtask.channels)
        files = {file.path: file.size for file in files_of(found)}
        return SavepointFacts(
            job_id=found.job,
            job_name=found.job_name,
            checkpoint=found.checkpoint,
            savepoint=found.savepoint,
            taken=datetime.fromtimestamp(found.timestamp_ms / 1000, UTC),
            format_version=found.format_version,
            riverrun_version=found.riverrun_version,
            vertices=tuple(vertex.name for vertex in found.vertices),
            bytes=self.checkpoint.size + sum(files.values()),
            in_flight_bytes=sum(each.blob.size for each in channels),
        )

    @cached_property
    def operators(self) -> tuple[OperatorFacts, ...]:
        """The operators of the program, sources first, with their states.

        Raises:
            StorageError: a file that says how large a state is is missing or damaged.
        """
        return tuple(map(self._facts, self.saved.values()))

    def state_names(self, operator: str) -> tuple[str, ...]:
        """The states of an operator, keyed ones first."""
        return tuple(self._sources(self.find(operator)))

    def state(self, operator: str, state: str) -> StateTable:
        """One state as a table.

        Args:
            operator: uid, name or id of the operator.
            state: the name that its descriptor gave it, or one of riverrun's own names.

        Raises:
            NotInSavepoint: there is no such operator or state; the message has the nearest name.
            AmbiguousName: several operators have the name.
        """
        found = self.find(operator)
        sources = self._sources(found)
        if state not in sources:
            place = f"{self.describe()}: {found.describe()}"
            raise NotInSavepoint(place, "state", state, tuple(sources))
        return StateTable(found.uid or found.name, found.max_parallelism, sources[state])

    def _sources(self, operator: SavedOperator) -> Mapping[str, KeyedSource | ItemSource]:
        place, name, files = self.checkpoint.location, operator.name, self.files
        metas: dict[str, list[StateMeta]] = {}
        for snapshot in operator.keyed:
            for meta in snapshot.states:
                metas.setdefault(meta.name, []).append(meta)
        every = range(operator.max_parallelism)
        sources: dict[str, KeyedSource | ItemSource] = {}
        for state, found in metas.items():
            meta = merged_meta(found)
            kind = keyed_kind(meta)
            sources[state] = KeyedSource(place, name, meta, kind, operator.keyed, files, every)
        for (state, how), parts in operator.lists.items():
            kind = operator_kind(parts[0][1])
            meta = merged_meta([part.meta for _, part in parts])
            written = parts
            if how is Redistribution.BROADCAST:
                written = [each for each in parts if each[1].items][:1]
            # A keyed state may have the same name: the two are apart in the program, too.
            known = state if state not in sources else f"{state} ({kind})"
            sources[known] = ItemSource(place, name, meta, kind, written, files)
        return sources

    def _facts(self, operator: SavedOperator) -> OperatorFacts:
        keyed = keyed_sizes(operator.keyed, self.storage, self.files)
        states = []
        for name, source in self._sources(operator).items():
            if isinstance(source, KeyedSource):
                size = keyed[source.meta.name]
            else:
                size = items_size([part for _, part in source.written])
            schema = schema_from(source.meta)
            types = {"key": schema.key, "map_key": schema.map_key, "value": schema.value}
            states.append(
                StateFacts(
                    name=name,
                    kind=source.kind,
                    types={role: each for role, each in types.items() if each is not None},
                    namespaced=source.meta.namespaced,
                    ttl=source.meta.ttl,
                    rows=size.rows,
                    bytes=size.bytes,
                )
            )
        blobs = [part.blob for snapshot in operator.keyed for part in snapshot.parts]
        blobs += [part.blob for parts in operator.lists.values() for _, part in parts]
        # Several parts may be in one file.
        files = {blob.path: blob.size for blob in blobs if isinstance(blob, FileRef)}
        inline = sum(blob.size for blob in blobs if isinstance(blob, InlineBlob))
        return OperatorFacts(
            uid=operator.uid,
            operator_id=operator.operator_id,
            name=operator.name,
            vertex=operator.vertex,
            parallelism=operator.parallelism,
            max_parallelism=operator.max_parallelism,
            bytes=inline + sum(files.values()),
            states=tuple(states),
        )
