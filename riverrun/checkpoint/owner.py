"""Which JobMaster may write a job's checkpoints: the one with the highest epoch, and no other."""

from __future__ import annotations

import logging
import os
import socket
from typing import Final

import msgspec

from riverrun.checkpoint.layout import OWNERS
from riverrun.core.errors import ExternalError
from riverrun.storage.storage import FileExists, Storage, StorageError

log = logging.getLogger(__name__)

_BEGAN: Final = "began-"


class JobTakenOver(ExternalError):  # noqa: N818
    """Another JobMaster has taken the job's checkpoints over: this one must not go on."""

    def __init__(self, folder: str, epoch: int, later: int) -> None:
        super().__init__(folder, epoch, later)
        self.folder, self.epoch, self.later = folder, epoch, later

    def __str__(self) -> str:
        return (
            f"checkpoints in {self.folder!r}: this JobMaster has epoch {self.epoch} and another one "
            f"took the job over with epoch {self.later}; only one may run a job, so this one ends"
        )


class Ownership:
    """The claim of one JobMaster on the folder of a job.

    Claims are files that must be new, so no two have the same epoch. A claim does not stop its
    predecessor in the middle of something, so the predecessor looks for later claims before and
    after what must not count once there is one.
    """

    def __init__(self, storage: Storage, folder: str) -> None:
        self._storage = storage
        self._folder = folder
        self.epoch: int | None = None
        """``None``: nothing was claimed, and nothing is checked."""

    def claim(self, epoch: int | None = None) -> int:
        """Take the job over, with ``epoch`` or with the next one.

        Raises:
            JobTakenOver: ``epoch`` is not higher than all before.
        """
        highest = self._highest()
        wanted = highest + 1 if epoch is None else epoch
        if wanted <= highest:
            raise JobTakenOver(self._folder, wanted, highest)
        # The second look: a later owner removes older claims, so one of them may be made twice.
        while not self._written(wanted) or self._highest() > wanted:
            highest = max(wanted, self._highest())
            if epoch is not None:
                raise JobTakenOver(self._folder, wanted, highest)
            wanted = highest + 1
        self.epoch = wanted
        self._forget_older(wanted)
        return wanted

    def check(self) -> None:
        """JobTakenOver when there is a later claim than this one's."""
        if self.epoch is None:
            return
        highest = self._highest()
        if highest > self.epoch:
            raise JobTakenOver(self._folder, self.epoch, highest)

    def last_to_begin(self) -> int:
        """The epoch of the last owner before this one who began to run the job; 0: nobody did."""
        return max((each for each in self._begun() if each != self.epoch), default=0)

    def begin(self) -> None:
        """Say that this owner runs the job from now on: nothing that owners before it say counts any more.

        Between a claim and this an owner may die without having done anything.

        Raises:
            JobTakenOver: there is a later owner.
        """
        if self.epoch is None:
            return
        self._storage.write(self._beginning(self.epoch), b"")
        self.check()
        try:
            self._storage.delete(
                self._beginning(each) for each in self._begun() if each < self.epoch
            )
        except StorageError as error:
            log.warning("beginnings of earlier owners stay, which does no harm reason=%s", error)

    def _begun(self) -> list[int]:
        names = (each.rpartition("/")[2] for each in self._storage.list(self._place()))
        return [int(n[len(_BEGAN) :]) for n in names if n.startswith(_BEGAN)]

    def _beginning(self, epoch: int) -> str:
        return f"{self._place()}/{_BEGAN}{epoch}"

    def _highest(self) -> int:
        return max(self._epochs(), default=0)

    def _epochs(self) -> list[int]:
        names = (each.rpartition("/")[2] for each in self._storage.list(self._place()))
        return [int(name) for name in names if name.isdecimal()]

    def _written(self, epoch: int) -> bool:
        who = msgspec.json.encode(
            {"epoch": epoch, "host": socket.gethostname(), "pid": os.getpid()}
        )
        try:
            self._storage.write(self._place(epoch), who, new=True)
        except FileExists:
            return False
        return True

    def _forget_older(self, epoch: int) -> None:
        try:
            self._storage.delete(self._place(each) for each in self._epochs() if each < epoch)
        except StorageError as error:
            log.warning("claims of earlier owners stay, which does no harm reason=%s", error)

    def _place(self, epoch: int | None = None) -> str:
        folder = f"{self._folder}/{OWNERS}"
        return folder if epoch is None else f"{folder}/{epoch}"
