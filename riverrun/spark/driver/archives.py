"""Archives in the one form that executors unpack with permissions and links: a compressed tar file."""

from __future__ import annotations

import shutil
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import Final

from riverrun.core.errors import ProgramError

_GZIP: Final = b"\x1f\x8b"


def as_tar(archive: Path, target: Path) -> None:
    """Make ``target`` of ``archive``, a zip or a tar file; nothing if it is there.

    Raises:
        ProgramError: it is neither, or a file in it would be unpacked somewhere else.
    """
    if target.exists():
        return
    half = target.with_suffix(".part")
    if zipfile.is_zipfile(archive):
        _from_zip(archive, half)
    elif tarfile.is_tarfile(archive):
        _check_tar(archive)
        with archive.open("rb") as file:
            is_gzip = file.read(len(_GZIP)) == _GZIP
        if is_gzip:
            shutil.copyfile(archive, half)
        else:
            _from_tar(archive, half)
    else:
        raise ProgramError(f"archive {archive.name!r}: expected a zip or a tar file, got neither")
    half.replace(target)


def _from_zip(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as source, tarfile.open(target, "w:gz", compresslevel=1) as tar:
        for entry in source.infolist():
            _check_name(archive, entry.filename)
            mode = entry.external_attr >> 16
            member = tarfile.TarInfo(entry.filename.rstrip("/"))
            member.mode = stat.S_IMODE(mode) or (0o755 if entry.is_dir() else 0o644)
            if entry.is_dir():
                member.type = tarfile.DIRTYPE
                tar.addfile(member)
            elif stat.S_ISLNK(mode):
                member.type = tarfile.SYMTYPE
                member.linkname = source.read(entry).decode()
                tar.addfile(member)
            else:
                member.size = entry.file_size
                with source.open(entry) as content:
                    tar.addfile(member, content)


def _from_tar(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as source, tarfile.open(target, "w:gz", compresslevel=1) as tar:
        for member in source:
            tar.addfile(member, source.extractfile(member) if member.isfile() else None)


def _check_tar(archive: Path) -> None:
    with tarfile.open(archive) as source:
        for member in source:
            _check_name(archive, member.name)


def _check_name(archive: Path, name: str) -> None:
    if name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/"):
        raise ProgramError(
            f"archive {archive.name!r}: its file {name!r} would be unpacked outside of it; make the "
            f"archive again, with paths below its root"
        )
