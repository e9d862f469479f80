"""Where the parts of a job's checkpoints are; Flink's layout.

<root>/<job id>/
    chk-<n>/_metadata    makes the checkpoint: it exists when this file does
    chk-<n>/<name>       files of this checkpoint alone
    shared/<name>        files that several checkpoints may refer to
    owner/<epoch>        who may write checkpoints: the highest epoch
    stopped              the savepoint that the job stopped with, if it did

A savepoint has a folder of its own, with all its files, wherever it was asked for:

<target>/savepoint-<6 digits of the job id>-<12 random digits>/
    _metadata            makes the savepoint; the paths in it count from this folder
"""

from __future__ import annotations

import re
from typing import Final

from riverrun.checkpoint.savepoints import RANDOM_DIGITS
from riverrun.storage.checkpoint_files import checkpoint_folder
from riverrun.storage.open import absolute_location

METADATA: Final = "_metadata"
OWNERS: Final = "owner"

_CHECKPOINT: Final = re.compile(r"chk-([0-9]+)")


def job_folder(root: str, job: str) -> str:
    """Where the checkpoints of ``job`` are; ConfigError when ``root`` is a relative path."""
    return f"{absolute_location(root)}/{job}"


def metadata_location(folder: str, checkpoint: int) -> str:
    """The `_metadata` file of a checkpoint of the job whose folder is ``folder``."""
    return f"{checkpoint_folder(folder, checkpoint)}/{METADATA}"


def metadata_of(location: str) -> str:
    """The `_metadata` file that ``location`` means: itself, or the one in this folder.

    >>> metadata_of("/root/job/chk-7/"), metadata_of("/root/job/chk-7/_metadata")
    ('/root/job/chk-7/_metadata', '/root/job/chk-7/_metadata')
    """
    place = absolute_location(location)
    return place if place.endswith(f"/{METADATA}") else f"{place}/{METADATA}"


def job_folder_of(metadata: str) -> str:
    """The folder of the job that a `_metadata` file belongs to.

    >>> job_folder_of("/root/job/chk-7/_metadata")
    '/root/job'
    """
    return metadata.rsplit("/", 2)[0]


def folder_of(metadata: str) -> str:
    """The folder of the checkpoint or savepoint that a `_metadata` file makes.

    >>> folder_of("/root/job/chk-7/_metadata")
    '/root/job/chk-7'
    """
    return metadata.rpartition("/")[0]


def paths_begin_at(metadata: str, *, savepoint: bool) -> str:
    """The folder that the paths in a `_metadata` file count from.

    >>> paths_begin_at("/root/job/chk-7/_metadata", savepoint=False)
    '/root/job'
    >>> paths_begin_at("/root/savepoint-0123ab-456/_metadata", savepoint=True)
    '/root/savepoint-0123ab-456'
    """
    return folder_of(metadata) if savepoint else job_folder_of(metadata)


def savepoint_folder(target: str, job: str, random: int) -> str:
    """A folder for a savepoint of ``job`` below ``target``; ConfigError when that is a relative path.

    >>> savepoint_folder("/savepoints/", "0123456789abcdef", 0xC0FFEE)
    '/savepoints/savepoint-012345-000000c0ffee'
    """
    return f"{absolute_location(target)}/savepoint-{job[:6]}-{random:0{RANDOM_DIGITS}x}"


def checkpoint_of(folder: str, location: str) -> int | None:
    """The number of the checkpoint in whose folder the file is, if it is in one.

    >>> checkpoint_of("/root/job", "/root/job/chk-7/file"), checkpoint_of("/root/job", "/root/job/shared/x")
    (7, None)
    """
    first, slash, _ = location.removeprefix(f"{folder}/").partition("/")
    found = _CHECKPOINT.fullmatch(first) if slash and location.startswith(f"{folder}/") else None
    return None if found is None else int(found[1])


def inside(folder: str, path: str) -> str:
    """``path`` relative to ``folder`` if it is below it; so a folder that was moved still works.

    >>> inside("/root/job", "/root/job/shared/x"), inside("/root/job", "/root/other/shared/x")
    ('shared/x', '/root/other/shared/x')
    """
    return path.removeprefix(f"{folder}/")


def outside(folder: str, path: str) -> str:
    """The full path that ``inside`` made ``path`` of."""
    return path if path.startswith("/") or "://" in path else f"{folder}/{path}"
