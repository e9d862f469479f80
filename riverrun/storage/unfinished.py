"""Names of files that a writer has not finished: no listing shows them, and they are swept when old.

A writer that dies leaves such a file behind, and nothing else: the file it wanted is not there.
"""

from __future__ import annotations

import hashlib
import uuid
from typing import Final

_MARK: Final = ".riverrun-unfinished-"

SWEEP_AFTER_S: Final = 3600.0
"""After an hour without a byte a writer is taken for dead."""


def unfinished_name(final: str) -> str:
    """A fresh name beside ``final``, for what is not yet ``final``."""
    return f"{unfinished_names_begin(final)}{uuid.uuid4().hex}"


def unfinished_names_begin(final: str) -> str:
    """What every ``unfinished_name`` of ``final``, and of no other file, begins with."""
    folder, slash, name = final.rpartition("/")
    # A digest, because a name may be as long as the file system allows and this one must fit too.
    digest = hashlib.blake2b(name.encode(errors="surrogateescape"), digest_size=16).hexdigest()
    return f"{folder}{slash}{_MARK}{digest}-"


def is_unfinished(location: str) -> bool:
    """Whether the name is one of ours for a file that is not finished.

    >>> is_unfinished(unfinished_name("/checkpoints/chk-1/_metadata"))
    True
    >>> is_unfinished("/checkpoints/chk-1/_metadata")
    False
    """
    return location.rpartition("/")[2].startswith(_MARK)
