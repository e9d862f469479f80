"""Files put into one zip: the same files give the same bytes, so that they are sent once."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_SKIPPED: Final = frozenset({"__pycache__"})


def pack(files: Mapping[str, Path], target: Path) -> None:
    """Write the zip; path inside it -> file."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name].read_bytes())


def files_below(root: Path, base: Path) -> dict[str, Path]:
    """``root`` and what is in it, by the paths from ``base``; what Python compiled is left out."""
    if root.is_file():
        return {str(root.relative_to(base)): root}
    return {
        str(path.relative_to(base)): path
        for path in sorted(root.rglob("*"))
        if path.is_file() and not _SKIPPED.intersection(path.parts)
    }


def modules_in(place: Path) -> dict[str, Path]:
    """What can be imported from ``place``, a .py file or a folder of modules: all that is in it."""
    if not place.is_dir():
        return {place.name: place}
    found: dict[str, Path] = {}
    for child in sorted(place.iterdir()):
        found.update(files_below(child, place))
    return found


def sha256_of(path: Path) -> str:
    """The digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
