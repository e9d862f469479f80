"""The checkpoints of one job in the store: written, found, read, checked, and cleaned up after a crash."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.layout import (
    METADATA,
    OWNERS,
    checkpoint_of,
    job_folder,
    metadata_location,
    metadata_of,
)
from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.checkpoint.metadata_file import FormatTooNew, MetadataFile, decode, encode
from riverrun.checkpoint.owner import Ownership
from riverrun.checkpoint.references import files_of
from riverrun.checkpoint.stop_mark import StopMark
from riverrun.storage.checkpoint_files import checkpoint_folder
from riverrun.storage.storage import FileCorrupt, FileExists, FileMissing, Storage, StorageError
from riverrun.storage.unfinished import SWEEP_AFTER_S

log = logging.getLogger(__name__)

_UNUSABLE = (FileMissing, FileCorrupt, FormatTooNew)
"""Errors that another attempt will not mend; any other may be the store's passing weakness."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A checkpoint that cannot be used."""

    location: str
    """Of the `_metadata` file."""
    reason: str


class NoUsableCheckpoint(StorageError):  # noqa: N818
    """There are checkpoints, and none of them can be used; to begin with nothing would lose state."""

    def __init__(self, folder: str, skipped: tuple[Skipped, ...]) -> None:
        super().__init__(folder, skipped)
        self.folder, self.skipped = folder, skipped

    def __str__(self) -> str:
        reasons = "".join(f"\n  {each.reason}" for each in self.skipped)
        return (
            f"checkpoints in {self.folder!r}: none of the {len(self.skipped)} can be used; repair one, or "
            f"start the job without its state{reasons}"
        )


@dataclass(frozen=True, slots=True)
class Usable:
    """The newest checkpoint that can be used, if there is any, and newer ones that cannot."""

    checkpoint: CompletedCheckpoint | None
    skipped: tuple[Skipped, ...]


class CheckpointStore:
    """Checkpoints of the job ``job`` below ``root``; may be used from any thread."""

    def __init__(self, storage: Storage, root: str, job: str) -> None:
        self._storage = storage
        self.folder = job_folder(root, job)
        """The job's folder: what subtasks get as the place of their files."""
        self._owner = Ownership(storage, self.folder)
        self._stop_mark = StopMark(storage, self.folder)
        self._newest = 0
        """A checkpoint that was complete while this store was the owner's: see ``delete``."""
        self._emptied: set[int] = set()

    def claim(self, epoch: int | None = None) -> int:
        """Become the one who writes checkpoints, with ``epoch`` or the next one; call it before anything else.

        What crashed writers left unfinished is swept on the way.

        Raises:
            JobTakenOver: ``epoch`` is not higher than all before.
        """
        claimed = self._owner.claim(epoch)
        try:
            self._storage.sweep(self.folder, SWEEP_AFTER_S)
        except StorageError as error:
            log.warning("unfinished files stay folder=%s reason=%s", self.folder, error)
        return claimed

    def check_owner(self) -> None:
        """JobTakenOver when somebody claimed the job after this store did."""
        self._owner.check()

    def write(self, metadata: CheckpointMetadata) -> tuple[str, int]:
        """Make the checkpoint exist: all its files are there, and `_metadata` comes last.

        Returns:
            Location and size of `_metadata`.

        Raises:
            JobTakenOver: there is a later owner. He may have found the checkpoint or not, so this
                one must not rely on it: it tells nobody that it is complete, and deletes nothing.
            StorageError: it is not there, or (when the store cannot be asked) perhaps not.
        """
        location = metadata_location(self.folder, metadata.checkpoint)
        data = encode(MetadataFile(metadata, self._owner.epoch or 0), location)
        self.check_owner()
        try:
            self._storage.write(location, data, new=True)
        except FileExists:
            raise
        except StorageError:
            # Some stores do as they are told and then fail to say so.
            if not self._holds(location, data):
                raise
        self.check_owner()
        self._newest = max(self._newest, metadata.checkpoint)
        return location, len(data)

    def mark_stopped(self, savepoint: str, checkpoint: int) -> None:
        """The job stops with ``savepoint``: nobody may resume it; JobTakenOver if it is not ours."""
        self._stop_mark.put(savepoint, checkpoint, self._owner.epoch or 0)
        self.check_owner()

    def unmark_stopped(self, savepoint: str) -> None:
        """The job did not stop with ``savepoint``."""
        self._stop_mark.remove(savepoint)

    def check_not_stopped(self) -> None:
        """JobStopped if the owner before stopped the job with a savepoint; asked after ``claim``."""
        latest = self.latest()
        self._stop_mark.check(self._owner.last_to_begin(), 0 if latest is None else latest.id)

    def begin(self) -> None:
        """The job runs from now on, after ``claim``: what owners before have said of its stop is over."""
        self._owner.begin()

    def load(self, location: str) -> CompletedCheckpoint:
        """The checkpoint whose folder or `_metadata` is at ``location``; it may be another job's.

        Raises:
            FileMissing: there is none.
            FileCorrupt: `_metadata` is cut off, damaged or something else.
            FormatTooNew: a later release wrote it.
        """
        return load_checkpoint(self._storage, location)

    def list(self) -> tuple[CompletedCheckpoint, ...]:
        """All complete checkpoints whose metadata can be read, newest first.

        The newest is the one with the highest number of the latest owner: an owner that was replaced may
        still have written one with a higher number.
        """
        readable, _ = self._read_all()
        return readable

    def latest(self) -> CompletedCheckpoint | None:
        """The first of ``list``."""
        return next(iter(self.list()), None)

    def load_latest_usable(self) -> Usable:
        """The newest checkpoint with readable metadata and all its files; older ones stand in for it.

        Raises:
            NoUsableCheckpoint: there are checkpoints, but not one that can be used.
            StorageError: the store cannot be asked now.
        """
        readable, unreadable = self._read_all()
        skipped = [*unreadable]
        for checkpoint in readable:
            try:
                self.verify(checkpoint.metadata)
            except _UNUSABLE as error:
                log.warning(
                    "checkpoint cannot be used location=%s reason=%s", checkpoint.location, error
                )
                skipped.append(Skipped(checkpoint.location, str(error)))
            else:
                self._newest = max(self._newest, checkpoint.id)
                return Usable(checkpoint, tuple(skipped))
        if skipped:
            raise NoUsableCheckpoint(self.folder, tuple(skipped))
        return Usable(None, ())

    def verify(self, metadata: CheckpointMetadata) -> None:
        """See whether every file is there with its size; raises what ``verify_checkpoint`` does."""
        verify_checkpoint(self._storage, metadata)

    def next_checkpoint(self) -> int:
        """A number that no checkpoint of the job has had, as far as the store knows; asked after ``claim``."""
        return 1 + max((self._newest, *(number for number, _ in self._in_folders())))

    def leftovers(self) -> tuple[str, ...]:
        """Files that no complete checkpoint refers to; asked after ``claim``, before the first checkpoint.

        Where some metadata cannot be read, all files that it could refer to are left alone: a later
        release may be able to read it.
        """
        locations = self._storage.list(self.folder)
        metadata = {each for each in locations if self._is_metadata(each)}
        readable, skipped = self._read_all(sorted(metadata))
        needed = metadata | {file.path for each in readable for file in files_of(each.metadata)}
        unread = {checkpoint_of(self.folder, each.location) for each in skipped}
        return tuple(
            each
            for each in locations
            if each not in needed
            and not each.startswith(f"{self.folder}/{OWNERS}/")
            and each != self._stop_mark.location
            and not (unread and checkpoint_of(self.folder, each) in {None, *unread})
        )

    def delete(self, locations: Iterable[str]) -> None:
        """Delete files that nobody needs, `_metadata` before what it refers to.

        Raises:
            JobTakenOver: the files may be the next owner's now.
        """
        self.check_owner()
        waiting = dict.fromkeys(locations)
        metadata = [each for each in waiting if each.endswith(f"/{METADATA}")]
        self._storage.delete(metadata)
        self._storage.delete(each for each in waiting if each not in metadata)
        self._drop_folders(waiting)

    def delete_all(self) -> None:
        """Delete the job's folder with all checkpoints: the job is over and nobody will go back to them.

        Raises:
            JobTakenOver: they are the next owner's.
        """
        self.check_owner()
        self._storage.delete_folder(self.folder)

    def _drop_folders(self, deleted: Iterable[str]) -> None:
        """Remove the folders of checkpoints that have no files any more.

        Some object stores keep an empty file in the place of an empty folder, and those would add up.
        To remove a folder is to remove what is in it, so it must be one that nobody writes to: one older
        than a checkpoint that was complete. Whoever takes the job over uses higher numbers than that.
        """
        self._emptied |= {
            n for each in deleted if (n := checkpoint_of(self.folder, each)) is not None
        }
        for number in sorted(n for n in self._emptied if n < self._newest):
            folder = checkpoint_folder(self.folder, number)
            if not self._storage.list(folder):
                self._storage.delete_folder(folder)
            self._emptied.discard(number)

    def _holds(self, location: str, data: bytes) -> bool:
        try:
            return self._storage.read(location) == data
        except StorageError as error:
            log.warning(
                "could not see whether it was written location=%s reason=%s", location, error
            )
            return False

    def _read_all(
        self, locations: Iterable[str] | None = None
    ) -> tuple[tuple[CompletedCheckpoint, ...], tuple[Skipped, ...]]:
        """The readable checkpoints, newest first, and the others."""
        readable = []
        skipped = []
        if locations is None:
            locations = [each for _, each in self._in_folders() if self._is_metadata(each)]
        for location in locations:
            try:
                data = self._storage.read(location)
                file = decode(data, location)
            except _UNUSABLE as error:
                log.warning("checkpoint cannot be read location=%s reason=%s", location, error)
                skipped.append(Skipped(location, str(error)))
            else:
                checkpoint = CompletedCheckpoint(file.metadata, location, len(data))
                readable.append((file.epoch, checkpoint.id, checkpoint))
        readable.sort(key=lambda each: each[:2], reverse=True)
        return tuple(checkpoint for *_, checkpoint in readable), tuple(skipped)

    def _in_folders(self) -> Iterator[tuple[int, str]]:
        for location in self._storage.list(self.folder):
            number = checkpoint_of(self.folder, location)
            if number is not None:
                yield number, location

    def _is_metadata(self, location: str) -> bool:
        number = checkpoint_of(self.folder, location)
        return number is not None and location == metadata_location(self.folder, number)


def load_checkpoint(storage: Storage, location: str) -> CompletedCheckpoint:
    """The checkpoint whose folder or `_metadata` is at ``location``; raises what ``CheckpointStore.load`` does."""
    place = metadata_of(location)
    try:
        data = storage.read(place)
    except FileMissing as error:
        raise FileMissing(_no_checkpoint(storage, location)) from error
    return CompletedCheckpoint(decode(data, place).metadata, place, len(data))


def verify_checkpoint(storage: Storage, metadata: CheckpointMetadata) -> None:
    """See whether every file is there with its size; digests are checked when files are read.

    Raises:
        FileMissing: a file is not there.
        FileCorrupt: a file has another size.
    """
    sizes: dict[str, int] = {}
    files = {file.path: file for file in files_of(metadata)}
    for folder in {path.rpartition("/")[0] for path in files}:
        sizes.update(storage.sizes(folder))
    what = "savepoint" if metadata.savepoint else "checkpoint"
    for path, file in sorted(files.items()):
        needed = f"{what} {metadata.checkpoint} of job {metadata.job!r} needs it"
        if path not in sizes:
            raise FileMissing(f"file {path!r}: it is not there, and {needed}; use another {what}")
        if sizes[path] != file.size:
            raise FileCorrupt(
                f"file {path!r}: expected {file.size} bytes, found {sizes[path]}, and {needed}; "
                f"use another {what}"
            )


def _no_checkpoint(storage: Storage, location: str) -> str:
    """Why there is no checkpoint at ``location``, and where there are some."""
    folder = metadata_of(location).rpartition("/")[0]
    below = storage.list(folder)
    complete = [each.rpartition("/")[0] for each in below if each.endswith(f"/{METADATA}")]
    if complete:
        return (
            f"location {location!r}: it is neither a checkpoint nor a savepoint but holds some; give one "
            f"of {complete!r}"
        )
    if below:
        return (
            f"location {location!r}: it has no {METADATA!r} file, so it is no checkpoint or savepoint, or "
            f"one that was never complete; use another one"
        )
    return (
        f"location {location!r}: there is no checkpoint or savepoint; was it deleted, or is the path "
        f"another one?"
    )
