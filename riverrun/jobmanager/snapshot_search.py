"""Finds savepoints and checkpoints below a folder, without walking through a whole disk."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from riverrun.checkpoint.layout import METADATA
from riverrun.storage.local import LocalStorage, local_path
from riverrun.storage.open import absolute_location, open_storage

_DEPTH: Final = 4
"""Folders between the given one and a `_metadata`: the root of checkpoints, a job, a checkpoint, and one more."""
_MOST_FOLDERS: Final = 5000


class FoundPlaces:
    """Where there is a `_metadata` below a folder."""

    def __init__(self) -> None:
        self.places: list[str] = []
        self.complete = True


def places_below(folder: str, config: Mapping[str, str]) -> FoundPlaces:
    """The `_metadata` files below ``folder``; of local files, only those that are not far down.

    Raises:
        StorageError: the store does not answer.
        ConfigError: there is no such store.
    """
    place = absolute_location(folder)
    storage = open_storage(place, config)
    found = FoundPlaces()
    if isinstance(storage, LocalStorage):
        found.places = list(_local(local_path(place), found))
    else:
        found.places = [each for each in storage.list(place) if each.endswith(f"/{METADATA}")]
    return found


def _local(root: Path, found: FoundPlaces) -> Iterator[str]:
    for seen, (folder, inner, files) in enumerate(os.walk(root)):
        if seen == _MOST_FOLDERS:
            found.complete = False
            return
        if METADATA in files:
            inner.clear()
            yield f"{folder}/{METADATA}"
        elif len(Path(folder).parts) - len(root.parts) >= _DEPTH:
            found.complete = found.complete and not inner
            inner.clear()
