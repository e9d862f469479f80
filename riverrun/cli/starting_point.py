"""Where a job starts: the options of ``river run`` about checkpoints, and the checkpoints they mean."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.layout import METADATA, job_folder, job_folder_of
from riverrun.checkpoint.store import load_checkpoint
from riverrun.core import options
from riverrun.core.errors import ConfigError
from riverrun.storage.open import absolute_location, open_storage
from riverrun.storage.storage import FileMissing


def checkpoint_to_start_from(path: str, *, is_here: bool = True) -> str:
    """The full location that ``path`` means, once it is sure that a checkpoint is there.

    A location in an object store is taken as it is: only the program may know how to reach it. So is one for
    a JobManager, which may be on another machine: not ``is_here``.

    Raises:
        StorageError: there is no complete checkpoint, or it cannot be read.
    """
    if "://" in path:
        return path
    location = os.path.abspath(path)  # noqa: PTH100  (keeps links as they were written)
    if is_here:
        load_checkpoint(open_storage(location, {}), location)
    return location


def job_to_resume(config: Mapping[str, str]) -> str:
    """The id of the one job that left checkpoints in the folder that ``config`` names.

    Raises:
        ConfigError: no folder is named, or several jobs have checkpoints there.
        FileMissing: nobody has.
    """
    root = options.CHECKPOINT_DIR.get(config)
    if root is None:
        raise ConfigError(
            f"--resume: says neither which job nor where its checkpoints are; add --job-id HEX, or "
            f"-D {options.CHECKPOINT_DIR.key}=FOLDER if only one job has checkpoints there"
        )
    newest: dict[str, CompletedCheckpoint] = {}
    for checkpoint in complete_checkpoints(root, config):
        if job_folder_of(checkpoint.location) == job_folder(root, checkpoint.metadata.job):
            newest[checkpoint.metadata.job] = checkpoint
    match list(newest):
        case [job]:
            return job
        case []:
            raise FileMissing(
                f"--resume: no job has a complete checkpoint in {root!r}, so there is nothing to go on "
                f"from; is it another folder, or did the job end and take its checkpoints with it?"
            )
        case _:
            jobs = "".join(f"\n  --job-id {_described(each)}" for each in newest.values())
            raise ConfigError(
                f"--resume: {len(newest)} jobs have checkpoints in {root!r}; say which:{jobs}"
            )


def complete_checkpoints(folder: str, config: Mapping[str, str]) -> list[CompletedCheckpoint]:
    """All complete checkpoints at any depth below ``folder``, oldest first.

    Raises:
        StorageError: the store cannot be read, or one of the checkpoints cannot.
    """
    storage = open_storage(folder, config)
    found = [
        load_checkpoint(storage, location)
        for location in storage.list(absolute_location(folder))
        if location.endswith(f"/{METADATA}")
    ]
    return sorted(found, key=lambda each: (each.metadata.timestamp_ms, each.id))


def taken_at(checkpoint: CompletedCheckpoint) -> str:
    """When the checkpoint was taken, for people."""
    at = datetime.fromtimestamp(checkpoint.metadata.timestamp_ms / 1000, UTC)
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def _described(checkpoint: CompletedCheckpoint) -> str:
    metadata = checkpoint.metadata
    return f"{metadata.job}  {metadata.job_name!r}, checkpoint {checkpoint.id} of {taken_at(checkpoint)}"
