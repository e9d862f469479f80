"""The folder of a savepoint: all its files, and at last `_metadata`, which makes it one."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from riverrun.checkpoint.layout import METADATA
from riverrun.checkpoint.metadata import CheckpointMetadata, OperatorInfo, VertexInfo
from riverrun.checkpoint.savepoint_store import remove_folder_if_empty, write_savepoint
from riverrun.graph.key_groups import group_range
from riverrun.protocol.snapshots import (
    KeyedPart,
    KeyedSnapshot,
    OperatorSnapshot,
    OperatorStatePart,
    StateMeta,
    SubtaskSnapshot,
)
from riverrun.state.parquet.snapshot import FOLDER, NAME, SnapshotFacts
from riverrun.state_processor.writing.bootstrapping import Place, run_bootstrap
from riverrun.state_processor.writing.drafts import KeptKeyed, KeyedDraft, OperatorDraft, remade
from riverrun.state_processor.writing.keyed_files import Layout, settled, write_sorted
from riverrun.state_processor.writing.list_files import write_list
from riverrun.state_processor.writing.refusals import WriteRefused
from riverrun.storage.blobs import Blob, FileRef
from riverrun.storage.savepoint_files import SavepointFiles
from riverrun.storage.snapshot_files import SavedFiles
from riverrun.storage.storage import FileCorrupt, FileExists, Storage, StorageError

log = logging.getLogger(__name__)


class Head(msgspec.Struct, frozen=True):
    """Whose savepoint it is."""

    checkpoint: int
    job: str
    job_name: str


class Assembly:
    """Writes one savepoint; used once."""

    def __init__(self, storage: Storage, folder: str, config: dict[str, str]) -> None:
        self._storage = storage
        self._folder = folder
        self._config = config

    def write(self, head: Head, operators: Sequence[OperatorDraft]) -> None:
        """Make the savepoint exist, or leave nothing behind.

        Raises:
            WriteRefused: something is in the folder already.
            ProgramError: a state cannot be written as it was asked for.
            StorageError: the store, or the local disk, did not do what it was asked for.
        """
        there = self._storage.list(self._folder)
        if there:
            raise WriteRefused(
                f"folder {self._folder!r}: {there[0]!r} is in it, expected a folder that is empty or not "
                f"there; write to another folder, or delete this one"
            )
        with tempfile.TemporaryDirectory(prefix="riverrun-writer-") as made:
            scratch = Path(made)
            files = SavepointFiles(self._storage, self._folder, scratch)
            try:
                self._write(head, operators, files, scratch)
            except FileExists:
                raise  # Another writer was faster: all that is there may be his.
            except BaseException:
                self._discard(files)
                raise

    def _write(
        self, head: Head, operators: Sequence[OperatorDraft], files: SavepointFiles, scratch: Path
    ) -> None:
        written = [
            OperatorFiles(draft, files, scratch, self._config).write() for draft in operators
        ]
        metadata = CheckpointMetadata(
            checkpoint=head.checkpoint,
            job=head.job,
            job_name=head.job_name,
            timestamp_ms=time.time_ns() // 1_000_000,
            vertices=tuple(_vertex(draft) for draft in operators),
            subtasks=tuple(subtask for subtasks in written for subtask in subtasks),
            savepoint=True,
            riverrun_version=_release(),
        )
        write_savepoint(self._storage, self._folder, metadata, _nothing_elsewhere)

    def _discard(self, files: SavepointFiles) -> None:
        try:
            # It first: what is there without the rest must not look like a savepoint.
            self._storage.delete([f"{self._folder}/{METADATA}"])
            files.discard()
            remove_folder_if_empty(self._storage, self._folder)
        except StorageError as error:
            log.warning("files of no savepoint stay folder=%s reason=%s", self._folder, error)


class OperatorFiles:
    """Writes the state of one operator."""

    def __init__(
        self, draft: OperatorDraft, files: SavepointFiles, scratch: Path, config: dict[str, str]
    ) -> None:
        self._draft = draft
        self._files = files
        self._scratch = scratch
        self._config = config
        self._layout = Layout(
            draft.name, draft.operator_id, draft.parallelism, draft.max_parallelism
        )
        self._metas: dict[str, StateMeta] = {}
        self._keyed: dict[int, list[KeyedPart]] = {}
        self._lists: dict[int, list[OperatorStatePart]] = {}

    def write(self) -> tuple[SubtaskSnapshot, ...]:
        """Write everything; what each subtask has of it."""
        draft = self._draft
        if draft.bootstrap is not None:
            place = Place(draft.label, self._layout, self._files, self._scratch, self._config)
            made = run_bootstrap(draft.bootstrap, place)
            for meta, parts in made.keyed:
                self._add_keyed(meta, parts.items())
            self._add_lists(made.lists)
        for name, state in draft.keyed.items():
            self._add_keyed(state.meta, self._written(name, state))
        for (_, how), lists in draft.lists.items():
            self._add_lists(write_list(lists, how, self._layout, self._files, self._keep))
        return tuple(map(self._snapshot, range(draft.parallelism)))

    def _written(self, name: str, state: KeyedDraft) -> Iterable[tuple[int, KeyedPart]]:
        layout = self._layout
        if isinstance(state, KeptKeyed) and state.fits(layout.parallelism, layout.max_parallelism):
            files = state.savepoint.files
            folder = f"{FOLDER}/{layout.operator_id}"
            return [
                (subtask, self._linked(part, files, self._files.name_for(folder, name, subtask)))
                for subtask, part in state.parts()
            ]
        made = remade(state, self._draft.label)
        rows = settled(made.target, made.entries(), layout.max_parallelism, self._scratch)
        return write_sorted(made.meta, rows, layout, self._files).items()

    def _snapshot(self, subtask: int) -> SubtaskSnapshot:
        draft = self._draft
        keyed = None
        if self._metas:
            first, last = group_range(subtask, draft.parallelism, draft.max_parallelism)
            parts = tuple(self._keyed.get(subtask, ()))
            keyed = KeyedSnapshot(
                backend=NAME,
                first_group=first,
                last_group=last,
                states=tuple(self._metas.values()),
                parts=parts,
                meta=msgspec.msgpack.encode(SnapshotFacts(draft.max_parallelism)),
                full_bytes=sum(part.blob.size for part in parts),
            )
        lists = tuple(self._lists.get(subtask, ()))
        has_state = keyed is not None or lists
        operators = (OperatorSnapshot(draft.operator_id, keyed, lists),) if has_state else ()
        return SubtaskSnapshot(
            draft.operator_id, subtask, operators, finished=subtask in draft.finished
        )

    def _add_keyed(self, meta: StateMeta, parts: Iterable[tuple[int, KeyedPart]]) -> None:
        self._metas[meta.name] = meta
        for subtask, part in parts:
            self._keyed.setdefault(subtask, []).append(part)

    def _add_lists(self, parts: dict[int, list[OperatorStatePart]]) -> None:
        for subtask, some in parts.items():
            self._lists.setdefault(subtask, []).extend(some)

    def _linked(self, part: KeyedPart, files: SavedFiles, name: str) -> KeyedPart:
        return msgspec.structs.replace(part, blob=self._keep(part.blob, files, name))

    def _keep(self, blob: Blob, files: SavedFiles, name: str) -> FileRef:
        """Keep a file of another savepoint under a name in this one: by a link, where that is possible.

        Raises:
            FileCorrupt: it is not what it was when that savepoint was taken.
        """
        if isinstance(blob, FileRef) and blob.path.startswith("/"):
            kept = self._files.keep(Path(blob.path), name)
            if (kept.size, kept.digest) != (blob.size, blob.digest):
                raise FileCorrupt(
                    f"file {blob.path!r}: expected {blob.size} bytes with digest {blob.digest}, found "
                    f"{kept.size} with {kept.digest}; it was changed or damaged after it was written, "
                    f"so use another copy of the savepoint"
                )
            return kept
        path = self._scratch / "fetched"
        files.fetch(blob, path)
        try:
            return self._files.keep(path, name)
        finally:
            path.unlink()


def _vertex(draft: OperatorDraft) -> VertexInfo:
    """Each operator stands alone: how they were chained is of no matter to a restore."""
    info = OperatorInfo(draft.operator_id, draft.name, draft.uid)
    return VertexInfo(
        draft.operator_id, draft.name, draft.parallelism, draft.max_parallelism, (info,)
    )


def _nothing_elsewhere(file: FileRef) -> bytes:
    raise AssertionError(f"file {file.path!r} is not in the folder of the savepoint")


def _release() -> str:
    try:
        return version("riverrun")
    except PackageNotFoundError:  # run from a source tree
        return ""
