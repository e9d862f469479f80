"""Stores in which a new file is made by one only, and a writer that dies in the middle blocks nobody.

``Storage.write(new=True)`` keeps the first half of that everywhere; the second half needs a store that
can create a file on condition that there is none. A folder can, and so can S3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from riverrun.core.errors import ConfigError
from riverrun.storage.open import open_storage
from riverrun.storage.storage import Storage

_S3: Final = frozenset({"s3", "s3a", "s3n"})
_BY_NATURE: Final = frozenset({"file", "memory"})


def open_exclusive_storage(location: str, config: Mapping[str, str]) -> Storage:
    """The store that holds the folder ``location``; like ``open_storage``, with the law above.

    Raises:
        ConfigError: also when the store has no such operation, or its keys are not known.
    """
    scheme = urlsplit(location).scheme if "://" in location else "file"
    if scheme in _BY_NATURE:
        return open_storage(location, config)
    if scheme in _S3:
        # Only where it is used: it loads the software for object stores.
        from riverrun.storage.s3_exclusive import open_s3  # noqa: PLC0415

        return open_s3(scheme, location, config)
    open_storage(location, config)  # an unknown scheme has a message of its own
    raise ConfigError(
        f"location {location!r}: a lease needs a store that creates a file only if there is none, and "
        f"riverrun knows no such operation of {scheme + '://'!r}; expected an absolute path that all "
        f"machines share, or s3://"
    )
