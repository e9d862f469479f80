"""Savepoints in the store: written, taken possession of, and deleted. They are read like checkpoints."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from typing import Final

import msgspec

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.layout import METADATA, folder_of, savepoint_folder
from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.checkpoint.metadata_file import MetadataFile, encode
from riverrun.checkpoint.references import files_of, relocated
from riverrun.checkpoint.savepoints import RANDOM_DIGITS
from riverrun.checkpoint.store import load_checkpoint
from riverrun.core.errors import ProgramError
from riverrun.storage.blobs import FileRef
from riverrun.storage.storage import FileExists, FileMissing, Storage, StorageError

log = logging.getLogger(__name__)

CLAIM: Final = "_claimed"
"""The file that says which job a checkpoint or savepoint belongs to since it claimed it."""
_COPIES: Final = "operator-state/finished"
"""Where state of subtasks goes that had finished and so did not write it themselves."""


class SavepointRefused(ProgramError):  # noqa: N818
    """What was asked for cannot be done with this savepoint; trying again does not help."""


class _Claim(msgspec.Struct, frozen=True):
    job: str


def new_savepoint_folder(target: str, job: str) -> str:
    """A folder that nobody has used for a savepoint; ConfigError when ``target`` is a relative path."""
    return savepoint_folder(target, job, secrets.randbits(4 * RANDOM_DIGITS))


def write_savepoint(
    storage: Storage,
    folder: str,
    metadata: CheckpointMetadata,
    read: Callable[[FileRef], bytes],
) -> tuple[str, int]:
    """Make the savepoint exist: all its files are below ``folder``, and `_metadata` comes last.

    Args:
        storage: holds ``folder``.
        folder: the savepoint's own.
        metadata: what it holds; paths are full ones, or count from ``folder``.
        read: gives the bytes of files that are elsewhere: these are copied.

    Returns:
        Location and size of `_metadata`.

    Raises:
        StorageError: it is not there, or (when the store cannot be asked) perhaps not.
    """
    elsewhere = {file.path: file for file in files_of(metadata) if _is_elsewhere(folder, file)}
    copies: dict[str, str] = {}
    for number, (path, file) in enumerate(elsewhere.items()):
        copies[path] = f"{folder}/{_COPIES}-{number}"
        storage.write(copies[path], read(file))
    whole = relocated(metadata, lambda path: copies.get(path, path))
    location = f"{folder}/{METADATA}"
    data = encode(MetadataFile(whole, 0), location)
    try:
        storage.write(location, data, new=True)
    except FileExists:
        raise
    except StorageError:
        # Some stores do as they are told and then fail to say so.
        if storage.read(location) != data:
            raise
    return location, len(data)


def discard_savepoint(storage: Storage, folder: str) -> None:
    """Delete the folder of a savepoint that does not exist."""
    storage.delete_folder(folder)


def dispose_savepoint(storage: Storage, location: str) -> CompletedCheckpoint:
    """Delete the savepoint at ``location``: its own files, and its folder when nothing else is in it.

    Raises:
        SavepointRefused: it is a checkpoint, or a job claimed it.
        StorageError: there is none, it cannot be read, or not all of it could be deleted.
    """
    savepoint = load_checkpoint(storage, location)
    folder = folder_of(savepoint.location)
    metadata = savepoint.metadata
    if not metadata.savepoint:
        raise SavepointRefused(
            f"location {folder!r}: is checkpoint {metadata.checkpoint} of job {metadata.job!r}, expected a "
            f"savepoint; checkpoints may share files, so leave it to its job, or delete the folder "
            f"of a job that is over as a whole"
        )
    owner = owner_of(storage, savepoint.location)
    if owner is not None:
        raise SavepointRefused(
            f"savepoint {folder!r}: job {owner!r} claimed it and deletes it by itself; if that job is over, "
            f"delete the file {folder + '/' + CLAIM!r} first"
        )
    delete_checkpoint(storage, savepoint)
    return savepoint


def delete_checkpoint(storage: Storage, checkpoint: CompletedCheckpoint) -> None:
    """Delete all files of ``checkpoint``, which nobody else needs; `_metadata` goes first."""
    storage.delete([checkpoint.location])
    delete_elsewhere(storage, [file.path for file in files_of(checkpoint.metadata)])
    remove_folder_if_empty(storage, folder_of(checkpoint.location))


def delete_elsewhere(storage: Storage, locations: list[str]) -> None:
    """Delete files; with a `_metadata` goes the claim on it, and its folder when that is empty then."""
    made = [each for each in locations if each.endswith(f"/{METADATA}")]
    storage.delete(made)
    storage.delete(each for each in locations if each not in made)
    for each in made:
        storage.delete([f"{folder_of(each)}/{CLAIM}"])
        remove_folder_if_empty(storage, folder_of(each))


def remove_folder_if_empty(storage: Storage, folder: str) -> None:
    """Remove ``folder`` unless there is a file in it."""
    if not storage.list(folder):
        storage.delete_folder(folder)


def claim_checkpoint(storage: Storage, metadata: str, job: str) -> None:
    """Let ``job`` own the checkpoint or savepoint with this `_metadata` file.

    Raises:
        SavepointRefused: another job does.
        StorageError: the store cannot be asked.
    """
    try:
        storage.write(_place(metadata), msgspec.json.encode(_Claim(job)), new=True)
    except FileExists:
        owner = owner_of(storage, metadata)
        if owner in (job, None):
            return
        raise SavepointRefused(
            f"location {folder_of(metadata)!r}: job {job!r} wants to claim it, but job {owner!r} did so "
            f"before, and will delete it; use claim mode NO_CLAIM, or delete the file "
            f"{_place(metadata)!r} if that job is over"
        ) from None


def owner_of(storage: Storage, metadata: str) -> str | None:
    """The job that claimed the checkpoint or savepoint with this `_metadata` file."""
    try:
        data = storage.read(_place(metadata))
    except FileMissing:
        return None
    try:
        return msgspec.json.decode(data, type=_Claim).job
    except msgspec.MsgspecError as error:
        log.warning("claim cannot be read place=%s reason=%s", _place(metadata), error)
        return None


def _place(metadata: str) -> str:
    return f"{folder_of(metadata)}/{CLAIM}"


def _is_elsewhere(folder: str, file: FileRef) -> bool:
    is_full = file.path.startswith("/") or "://" in file.path
    return is_full and not file.path.startswith(f"{folder}/")
