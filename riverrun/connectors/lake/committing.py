"""Commits to a table that others change too: each checkpoint once, tried again when somebody was faster."""

from __future__ import annotations

import random
import time
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from riverrun.api.sink import GlobalCommitter
from riverrun.core.errors import ExternalError

__all__ = ["Conflict", "TableCommitter", "said_by"]

TableT = TypeVar("TableT")

_FIRST_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 2.0


class Conflict(Exception):  # noqa: N818  (a signal between a commit and who tries it again)
    """Somebody else changed the table since it was read."""


class TableCommitter(GlobalCommitter, Generic[TableT]):
    """Adds the data files of a checkpoint in one commit that carries the checkpoint's number.

    Files are told apart by the transaction they were written for: those of the checkpoint that a job was
    started from may be an earlier job's. A transaction whose number in the table has reached the
    checkpoint is not committed again. As the number is read from the very version that the commit builds
    on, this holds also when a committer that was thought dead commits at the same time.
    """

    def __init__(self, who: str, attempts: int) -> None:
        self._who = who
        self._attempts = attempts

    @abstractmethod
    def load(self) -> TableT:
        """The table as it is now."""

    @abstractmethod
    def committed(self, table: TableT, transaction: str) -> int | None:
        """The number of the last checkpoint of a transaction in the table, if there is one."""

    @abstractmethod
    def add(self, table: TableT, checkpoint: int, files: Mapping[str, Sequence[Any]]) -> None:
        """Commit files by transaction, on top of ``table`` as it was loaded; Conflict if it has changed."""

    def gone(self) -> ExternalError:
        """The error for a table that is not there any more."""
        return ExternalError(
            f"{self._who}: the table is gone, with data files still to be committed; restore it, "
            f"or start the job anew"
        )

    def commit(self, checkpoint: int, committables: Sequence[Any]) -> None:
        by_transaction: dict[str, list[Any]] = defaultdict(list)
        for file in committables:
            by_transaction[file.transaction].append(file)
        pause = _FIRST_PAUSE_S
        conflict: Conflict | None = None
        for _ in range(self._attempts):
            table = self.load()
            due = {
                transaction: files
                for transaction, files in by_transaction.items()
                if (done := self.committed(table, transaction)) is None or done < checkpoint
            }
            if not due:
                return
            try:
                self.add(table, checkpoint, due)
            except Conflict as error:
                conflict = error
                time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311  (no secret)
                pause = min(2 * pause, _LONGEST_PAUSE_S)
            else:
                return
        raise ExternalError(
            f"{self._who}: others changed the table during each of {self._attempts} attempts to commit "
            f"checkpoint {checkpoint} ({conflict}); raise LakeSettings(commit_attempts=...), or let "
            f"fewer writers commit less often"
        )


def said_by(error: Exception | None) -> str:
    """What a table's own software said, in one line.

    >>> said_by(ValueError("no"))
    'ValueError: no'
    """
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
