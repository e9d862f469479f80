"""The lease as numbered files of a store in which a file can be created by one only.

    <folder>/00000000000000000041     the lease as it was
    <folder>/00000000000000000042     the lease as it is: the highest number counts

To replace version 42 is to create file 43. Older files are deleted, but not the newest few: a listing
that runs while files come and go would otherwise miss them all.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from riverrun.cluster.ha.lease import Found, Lease, LeaseConflict, decode_lease, encode_lease
from riverrun.storage.storage import FileExists, FileMissing, Storage, StorageError

log = logging.getLogger(__name__)

_KEPT: Final = 8
_DIGITS: Final = 20
_LOOKS: Final = 5


class FileLease:
    """A lease in a folder. ``storage`` must give a new file to one of those who want it."""

    def __init__(self, storage: Storage, folder: str, *, duration_ms: int) -> None:
        """``duration_ms``: for how long a file that nobody can read is respected."""
        self._storage = storage
        self._folder = folder
        self._duration_ms = duration_ms

    def read(self) -> Found:
        for _ in range(_LOOKS):
            highest = max(self._numbers(), default=None)
            if highest is None:
                return Found(None, None)
            location = self._place(highest)
            try:
                data = self._storage.read(location)
            except FileMissing:
                continue  # There are so many newer ones by now that it was deleted.
            lease = decode_lease(data, where=location, duration_ms=self._duration_ms)
            return Found(lease, str(highest))
        raise LeaseConflict(
            f"lease in {self._folder!r}: it was replaced again and again while it was read; "
            f"does something else write or delete files there?"
        )

    def write(self, lease: Lease, replaced: str | None) -> str:
        number = int(replaced or 0) + 1
        try:
            self._storage.write(self._place(number), encode_lease(lease), new=True)
        except FileExists as error:
            raise self._replaced_by_another(number) from error
        numbers = self._numbers()
        # Who was away for long may create a file that was there already and has been deleted.
        if max(numbers, default=number) > number:
            raise self._replaced_by_another(number)
        self._forget(numbers, number)
        return str(number)

    def close(self) -> None:
        """Nothing is open."""

    def _replaced_by_another(self, number: int) -> LeaseConflict:
        return LeaseConflict(
            f"lease in {self._folder!r}: version {number - 1} has been replaced by another JobManager"
        )

    def _numbers(self) -> Sequence[int]:
        names = (each.rpartition("/")[2] for each in self._storage.list(self._folder))
        return [int(name) for name in names if name.isdecimal()]

    def _forget(self, numbers: Sequence[int], newest: int) -> None:
        old = [self._place(number) for number in numbers if number <= newest - _KEPT]
        if not old:
            return
        try:
            self._storage.delete(old)
        except StorageError as error:
            log.warning("old leases stay, which does no harm reason=%s", error)

    def _place(self, number: int) -> str:
        return f"{self._folder}/{number:0{_DIGITS}d}"
