"""One file under two names: a hard link where the file system allows it, a copy elsewhere."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Final

_NO_LINK: Final = frozenset(
    {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
)
"""Answers to a hard link that mean: not here, copy instead."""


def link_or_copy(source: Path, target: Path) -> None:
    """Make ``target``, which must not exist, hold what ``source`` holds; OSError and no file otherwise.

    Afterwards neither may be changed in place, because they may be the same file. A copy is on the
    disk when this returns.
    """
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as reading, target.open("xb") as writing:
        try:
            shutil.copyfileobj(reading, writing, 1 << 20)
            writing.flush()
            os.fsync(writing.fileno())
        except BaseException:
            target.unlink(missing_ok=True)
            raise
