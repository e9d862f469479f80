"""Parts in a folder of this machine, or of a file system that all machines have mounted."""

from __future__ import annotations

import json
import logging
import os
import shutil
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from riverrun.connectors.files.output_parts import (
    ENDED,
    STAGING,
    Lineage,
    OutputFiles,
    PartFile,
    gone_back,
    lost,
)
from riverrun.connectors.files.paths import FileStore
from riverrun.connectors.files.sink_state import (
    Discarded,
    EndedWriter,
    HeldPart,
    OpenPart,
    Pending,
    PendingFile,
    PendingUpload,
)
from riverrun.storage.storage import StorageError

log = logging.getLogger(__name__)

_BUFFER: Final = 1 << 18
_CHUNK: Final = 1 << 20
_COMMITTED: Final = ".committed"
"""A file of this name beside a staged one says that its rename was begun: see ``LocalOutput.commit``."""
_FOLDER_TRIES: Final = 10

_reported: Final = FileStore().reported


class LocalPart(PartFile):
    """A file that is made, never found: it belongs to this process alone."""

    def __init__(self, path: Path, target: str) -> None:
        self._path = path
        self._target = target
        with _reported("writing", str(path)):
            self._file = _created(path)
        self._position = 0

    @property
    def location(self) -> str:
        return str(self._path)

    @property
    def target(self) -> str:
        return self._target

    def write(self, data: Any) -> int:
        with _reported("writing", self.location):
            written: int = self._file.write(data)
        self._position += written
        return written

    def tell(self) -> int:
        return self._position

    def persist(self) -> None:
        with _reported("writing", self.location):
            self._file.flush()
            os.fsync(self._file.fileno())

    def finish(self) -> PendingFile:
        self.persist()
        with _reported("closing", self.location):
            self._file.close()
        return PendingFile(self.location, self.target, self._position)

    def discard(self) -> None:
        self.abandon()
        with suppress(OSError):
            self._path.unlink()

    def abandon(self) -> None:
        with suppress(OSError):  # what is still in the buffer may not fit on the disk
            self._file.close()


class LocalOutput(OutputFiles):
    """Hidden files, committed by their rename."""

    keeps_open = True

    def __init__(self, base: str, lineage: Lineage) -> None:
        self._base = Path(base)
        self._lineage = lineage
        self._sink_folder = self._base / STAGING / lineage.sink
        self._folder = self._sink_folder / str(lineage.subtask)
        self._notes: list[Path] = []

    def check(self) -> None:
        with _reported("writing to", str(self._base)):
            in_the_way = self._base.exists() and not self._base.is_dir()
        if in_the_way:
            raise StorageError(
                f"file sink {str(self._base)!r}: there is a file in the place of the folder; remove it, or "
                f"name another base path"
            )
        probe = LocalPart(self._folder / f".probe-{uuid.uuid4().hex}", "")
        try:
            probe.write(b"?")
            probe.persist()
        finally:
            probe.discard()

    def open(self, bucket: str, name: str, *, held: bool = False) -> LocalPart:
        del held
        return LocalPart(self._folder / f".{name}.inprogress", str(self._base / bucket / name))

    def resume(self, part: OpenPart, name: str) -> LocalPart | None:
        staged = Path(part.staged)
        try:
            source = staged.open("rb")
        except FileNotFoundError:
            if Path(part.target).exists():
                log.warning(
                    "a part of the checkpoint is visible already, with records that came after it: "
                    "the job went back in time and will write these again part=%s",
                    part.target,
                )
                return None
            raise gone_back(part.staged) from None
        # A copy: a process of an earlier attempt that nobody could end may still write to the file.
        with source, _reported("going on with", part.staged):
            size = os.fstat(source.fileno()).st_size
            if size < part.length:
                raise gone_back(part.staged, f"it has {size} bytes of {part.length}")
            resumed = self.open(part.bucket, name)
            try:
                left = part.length
                while left and (chunk := source.read(min(left, _CHUNK))):
                    resumed.write(chunk)
                    left -= len(chunk)
            except BaseException:
                resumed.discard()
                raise
        return resumed

    def hold(self, bucket: str, pending: Pending) -> HeldPart:
        assert isinstance(pending, PendingFile)  # noqa: S101  (this class made it)
        return HeldPart(bucket, pending.staged, pending.size)

    def adopt(self, held: HeldPart, name: str) -> HeldPart:
        own = self._folder / f".{name}.inprogress"
        with _reported("going on with", held.staged):
            try:
                _in_folder(own, lambda: _link_or_copy(held.staged, own))
            except FileNotFoundError:
                raise gone_back(held.staged) from None
        return HeldPart(held.bucket, str(own), held.size, held.waited)

    def promote(self, held: HeldPart, name: str) -> PendingFile:
        return PendingFile(held.staged, str(self._base / held.bucket / name), held.size)

    def leftovers(self) -> Discarded:
        with _reported("listing", str(self._sink_folder)):
            return Discarded(
                tuple(
                    entry.path
                    for folder in _entries(self._sink_folder)
                    if self._owns(folder.name)
                    for entry in _entries(Path(folder.path))
                )
            )

    def commit(self, pending: Sequence[Pending], *, last: bool = False) -> None:
        # Notes of the commit before: a checkpoint after it is complete, so nobody asks for it again.
        for note in self._notes:
            note.unlink(missing_ok=True)
        self._notes.clear()
        folders = set()
        for each in pending:
            if isinstance(each, PendingUpload):
                raise lost(each.target, f"upload {each.upload_id} of another store")
            with _reported("committing", each.target):
                self._rename(each, noted=not last)
            folders.add(Path(each.target).parent)
        for folder in folders:
            with _reported("committing", str(folder)):
                _persist_folder(folder)

    def _rename(self, pending: PendingFile, *, noted: bool) -> None:
        staged, target = Path(pending.staged), Path(pending.target)
        note = Path(pending.staged + _COMMITTED)
        if not staged.exists():
            # Who reads the output may have moved it on since; the note says that it was there.
            if target.exists() or note.exists():
                return
            raise lost(pending.target, pending.staged)
        if noted:
            _in_folder(note, note.touch)
            self._notes.append(note)
        try:
            _in_folder(target, lambda: staged.rename(target))
        except FileNotFoundError:
            if staged.exists() or not target.exists():
                raise
            # A process of the attempt before was faster.

    def discard(self, discarded: Discarded) -> None:
        for location in discarded.files:
            with _reported("deleting", location):
                Path(location).unlink(missing_ok=True)

    def note_end(self, ended: EndedWriter) -> Iterable[EndedWriter]:
        folder = self._sink_folder / ENDED
        note = folder / f"{ended.parallelism}-{ended.subtask}"
        temporary = folder / f".{note.name}-{uuid.uuid4().hex}"
        with _reported("writing", str(note)):
            _in_folder(temporary, lambda: temporary.write_text(json.dumps(ended.buckets)))
            temporary.replace(note)
            found = []
            for entry in _entries(folder):
                parallelism, _, subtask = entry.name.partition("-")
                if parallelism == str(ended.parallelism):
                    with suppress(
                        FileNotFoundError
                    ):  # another saw all of them, and has marked the end
                        buckets = tuple(json.loads(Path(entry.path).read_text()))
                        found.append(EndedWriter(int(subtask), ended.parallelism, buckets))
        return found

    def mark_complete(self, buckets: Iterable[str], name: str) -> None:
        for bucket in ("", *buckets):
            marker = self._base / bucket / name
            with _reported("writing", str(marker)):
                _in_folder(marker, marker.touch)
        shutil.rmtree(self._sink_folder / ENDED, ignore_errors=True)

    def close(self) -> None:
        # Notes stay: the commit may be asked for again.
        inherited = [
            Path(each.path) for each in _entries(self._sink_folder) if self._owns(each.name)
        ]
        for folder in (*inherited, self._sink_folder, self._base / STAGING):
            with suppress(OSError):
                folder.rmdir()

    def _owns(self, folder: str) -> bool:
        return folder.isdigit() and self._lineage.inherits(int(folder))


def _created(path: Path) -> Any:
    opened: list[Any] = []
    _in_folder(path, lambda: opened.append(path.open("xb", buffering=_BUFFER)))
    return opened[0]


def _in_folder(path: Path, make: Any) -> None:
    """Call ``make``, with the folder of ``path`` there; others remove it when it is empty."""
    for again in reversed(range(_FOLDER_TRIES)):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            make()
        except FileNotFoundError:
            if path.parent.exists() or not again:
                raise
        else:
            return


def _link_or_copy(source: str, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without links
        shutil.copyfile(source, target)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []


def _persist_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
