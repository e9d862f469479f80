"""Where the parts of a job's checkpoints are; Flink's layout.

<root>/<job id>/
    chk-<n>/_metadata    makes the checkpoint: it exists when this file does
    chk-<n>/<name>       files of this checkpoint alone
    shared/<name>        files that several checkpoints may refer to
    owner/<epoch>        who may write checkpoints: the highest epoch
"""

from __future__ import annotations

import re
from typing import Final

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
