"""A savepoint or checkpoint that is open for reading."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.layout import folder_of
from riverrun.checkpoint.saved_operators import SavedOperator, saved_operators
from riverrun.checkpoint.store import load_checkpoint
from riverrun.state_processor.facts import OperatorFacts, SavepointFacts
from riverrun.state_processor.names import find_operator
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

    @property
    def metadata(self) -> SavepointFacts:
        """Which job it is of, and when it was taken."""
        raise NotImplementedError

    @property
    def operators(self) -> tuple[OperatorFacts, ...]:
        """The operators of the program, sources first, with their states."""
        raise NotImplementedError
