"""The jobs of a cluster, in a store that outlives its leaders; a deposed leader can change nothing in it.

    <folder>/owner/<epoch>                 claims: the highest leads
    <folder>/jobs/<epoch>/<job id>         where each job stands, as the leader of that epoch knows it
    <folder>/jobs/<epoch>/_complete        all jobs of the leader before are in this folder
    <folder>/submissions/<epoch>/<job id>  what was submitted under that leader
    <folder>/artifacts/<epoch>/<job id>/<sha256>   and the files that it needs

A leader only ever writes below its own epoch, and begins by copying the entries of the leader before. So
what a deposed leader still writes is read by nobody, however late it comes. And a leader looks for later
claims *after* each change: if there is none, the change was made before any later leader began to copy,
and counts. If there is one, the change may be lost, and whoever asked for it is told (``NotLeading``).
Files that several leaders may refer to are deleted after such a look only.
"""

from __future__ import annotations

import hashlib
import logging
import math
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from riverrun.checkpoint.owner import JobTakenOver, Ownership
from riverrun.cluster.ha.stored_jobs import (
    FORMAT,
    Artifact,
    DamagedJob,
    JobEntry,
    Recovered,
    StoredJob,
)
from riverrun.core.errors import ExternalError, ProgramError
from riverrun.core.lifecycle import JobStatus
from riverrun.storage.blobs import FileRef
from riverrun.storage.digests import digest_of
from riverrun.storage.os_errors import reported
from riverrun.storage.storage import FileCorrupt, FileMissing, Storage, StorageError
from riverrun.storage.unfinished import SWEEP_AFTER_S

log = logging.getLogger(__name__)

J = TypeVar("J", JobEntry, StoredJob)

_COMPLETE: Final = "_complete"
_ENTRIES: Final = msgspec.json.Decoder(JobEntry)
_SUBMISSIONS: Final = msgspec.msgpack.Decoder(StoredJob)
_JOB_ID: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,63}")


class NotLeading(ExternalError):  # noqa: N818
    """This JobManager leads no more, or never did: another one does what it wanted to do."""

    def __init__(self, folder: str, epoch: int, later: int) -> None:
        super().__init__(folder, epoch, later)
        self.folder, self.epoch, self.later = folder, epoch, later

    def __str__(self) -> str:
        if not self.epoch:
            return (
                f"jobs in {self.folder!r}: this JobManager has not taken them over; "
                f"ask the one that leads"
            )
        return (
            f"jobs in {self.folder!r}: this JobManager led with epoch {self.epoch} and another one leads "
            f"with epoch {self.later}; ask that one"
        )


class JobStore:
    """The jobs of one cluster. All methods wait for the store; they may be called from any thread.

    Methods that change something raise NotLeading when a later leader has claimed the jobs, and
    StorageError when the store fails; whether the change counts is then not known.
    """

    def __init__(self, storage: Storage, folder: str, now: Callable[[], int]) -> None:
        """``now``: milliseconds since the epoch."""
        self._storage = storage
        self._folder = folder
        self._now = now
        self._ownership = Ownership(storage, folder)
        self._entries: dict[str, JobEntry] = {}
        self._lock = threading.RLock()

    def highest_epoch(self) -> int:
        """The highest epoch that anybody has claimed the jobs with; a new leader needs a higher one."""
        names = (each.rpartition("/")[2] for each in self._storage.list(f"{self._folder}/owner"))
        epochs = (int(name) for name in names if name.isdecimal())
        return max(epochs, default=0)

    def take_over(self, epoch: int) -> Recovered:
        """Lead with ``epoch`` from now on, and get what the leader before has left.

        What is damaged is reported, left where it is, and reported again to the next leader.

        Raises:
            NotLeading: there is a leader with this epoch or a higher one.
        """
        with self._lock:
            try:
                self._ownership.claim(epoch)
            except JobTakenOver as error:
                raise NotLeading(self._folder, epoch, error.later) from error
            self._entries = {}
            found = self._copy(epoch)
            self._storage.write(self._entry_place(epoch, _COMPLETE), b"")
            self._still_leading()
            recovered = self._recovered(found)
            self._forget_older(epoch)
        return recovered

    def add(self, job: StoredJob, files: Mapping[str, Path] | None = None) -> None:
        """Keep a new job; when this returns, it will be run by this leader or the next.

        Args:
            job: as it was submitted.
            files: its artifacts on this machine, by their SHA-256; they are kept too.

        Raises:
            ProgramError: the job's id cannot be the name of a file.
        """
        if _JOB_ID.fullmatch(job.job_id) is None:
            raise ProgramError(
                f"job id {job.job_id!r}: expected letters and digits, 64 at most, such as "
                f"'0123456789abcdef0123456789abcdef'"
            )
        with self._lock:
            epoch = self._epoch()
            kept = tuple(self._kept(epoch, job.job_id, each, files or {}) for each in job.artifacts)
            data = msgspec.msgpack.encode(msgspec.structs.replace(job, artifacts=kept))
            place = f"{self._folder}/submissions/{epoch}/{job.job_id}"
            self._storage.write(place, data)
            self._keep(
                JobEntry(
                    job_id=job.job_id,
                    name=job.name,
                    status=JobStatus.INITIALIZING,
                    submitted=job.submitted,
                    changed=self._now(),
                    submission=FileRef(place, len(data), digest_of(data)),
                    files=tuple(sorted({each.location for each in kept if each.location})),
                )
            )

    def fetch(self, artifact: Artifact, target: Path) -> None:
        """Copy a kept artifact to ``target``, which must not exist.

        Raises:
            FileCorrupt: it is not what it was.
        """
        self._storage.download(artifact.location, target)
        with reported("reading", str(target)), target.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != artifact.sha256:
            target.unlink()
            raise FileCorrupt(
                f"file {artifact.name!r} in {artifact.location!r}: expected SHA-256 {artifact.sha256}, found "
                f"{found}; it was damaged or changed, so submit the job again"
            )

    def mark(self, job_id: str, status: JobStatus) -> None:
        """Note where a job stands; not for jobs that have ended, nor for those that are not here."""
        with self._lock:
            entry = self._entries.get(job_id)
            if entry is None or entry.submission is None or entry.status is status:
                return
            self._keep(msgspec.structs.replace(entry, status=status, changed=self._now()))

    def finish(self, job_id: str, status: JobStatus, result: bytes = b"") -> None:
        """Note that a job has ended: nobody will run it again. Its submission is forgotten."""
        with self._lock:
            entry = self._entries.get(job_id)
            if entry is None or entry.submission is None:
                return
            ended = msgspec.structs.replace(
                entry,
                status=status,
                changed=self._now(),
                submission=None,
                files=(),
                result=result,
            )
            self._keep(ended)
            self._delete_quietly(_files_of(entry))

    def remove(self, job_id: str) -> None:
        """Forget a job, damaged ones too; nothing is left of it."""
        with self._lock:
            epoch = self._epoch()
            self._storage.delete([self._entry_place(epoch, job_id)])
            self._still_leading()
            entry = self._entries.pop(job_id, None)
            if entry is not None:
                self._delete_quietly(_files_of(entry))

    def entries(self) -> tuple[JobEntry, ...]:
        """All jobs that this leader knows, oldest first."""
        with self._lock:
            return _in_order(self._entries.values())

    def check(self) -> None:
        """NotLeading unless this is the latest leader, at the moment at which the store answers."""
        self._epoch()
        self._still_leading()

    def _kept(
        self, epoch: int, job_id: str, artifact: Artifact, files: Mapping[str, Path]
    ) -> Artifact:
        path = files.get(artifact.sha256)
        if path is None:
            return artifact
        place = f"{self._folder}/artifacts/{epoch}/{job_id}/{artifact.sha256}"
        self._storage.upload(path, place)
        return msgspec.structs.replace(artifact, location=place)

    def _keep(self, entry: JobEntry) -> None:
        data = msgspec.json.format(msgspec.json.encode(entry))
        self._storage.write(self._entry_place(self._epoch(), entry.job_id), data)
        self._still_leading()
        self._entries[entry.job_id] = entry

    def _epoch(self) -> int:
        if self._ownership.epoch is None:
            raise NotLeading(self._folder, 0, 0)
        return self._ownership.epoch

    def _still_leading(self) -> None:
        try:
            self._ownership.check()
        except JobTakenOver as error:
            raise NotLeading(self._folder, error.epoch, error.later) from error

    def _copy(self, epoch: int) -> Mapping[str, bytes]:
        """Copy all entries of the leader before, as they are; job id -> entry."""
        before = self._latest_complete(epoch)
        if before is None:
            return {}
        copied: dict[str, bytes] = {}
        for location in self._storage.list(f"{self._folder}/jobs/{before}"):
            name = location.rpartition("/")[2]
            if name == _COMPLETE:
                continue
            try:
                data = self._storage.read(location)
            except FileMissing:
                continue  # Removed before it was deposed, or a later leader is at work: see the check.
            self._storage.write(self._entry_place(epoch, name), data)
            copied[name] = data
        return copied

    def _latest_complete(self, epoch: int) -> int | None:
        complete = (
            location.split("/")[-2]
            for location in self._storage.list(f"{self._folder}/jobs")
            if location.endswith(f"/{_COMPLETE}")
        )
        return max((int(e) for e in complete if e.isdecimal() and int(e) < epoch), default=None)

    def _recovered(self, found: Mapping[str, bytes]) -> Recovered:
        jobs: list[StoredJob] = []
        damaged: list[DamagedJob] = []
        for name, data in found.items():
            entry: JobEntry | None = None
            try:
                entry = _decoded_entry(name, data)
                self._entries[name] = entry
                if entry.submission is not None:
                    jobs.append(self._submitted(name, entry.submission))
            except (FileCorrupt, FileMissing) as error:
                log.error("job cannot be recovered job=%s reason=%s", name, error)  # noqa: TRY400  (no bug of ours)
                known = entry.name if entry is not None else ""
                damaged.append(DamagedJob(job_id=name, name=known, reason=str(error)))
        jobs.sort(key=lambda job: (job.submitted, job.job_id))
        return Recovered(
            jobs=tuple(jobs),
            entries={job.job_id: self._entries[job.job_id] for job in jobs},
            ended=tuple(e for e in _in_order(self._entries.values()) if e.submission is None),
            damaged=tuple(damaged),
        )

    def _submitted(self, name: str, ref: FileRef) -> StoredJob:
        data = self._storage.read(ref.path)
        _check_content(data, ref)
        return _checked(name, f"submission {ref.path!r}", data, _SUBMISSIONS.decode)

    def _forget_older(self, epoch: int) -> None:
        """Delete what only leaders before this one refer to; no later leader copies from them any more."""
        try:
            needed = {file for entry in self._entries.values() for file in _files_of(entry)}
            for part in ("jobs", "submissions", "artifacts"):
                root = f"{self._folder}/{part}/"
                files = set(self._storage.list(root.rstrip("/"))) - needed
                self._storage.delete(each for each in files if _epoch_of(each, root) < epoch)
            self._storage.sweep(self._folder, SWEEP_AFTER_S)
        except StorageError as error:
            log.warning("files of earlier leaders stay, which does no harm reason=%s", error)

    def _delete_quietly(self, locations: Iterable[str]) -> None:
        try:
            self._storage.delete(locations)
        except StorageError as error:
            log.warning("files of a job stay until the next leader reason=%s", error)

    def _entry_place(self, epoch: int, name: str) -> str:
        return f"{self._folder}/jobs/{epoch}/{name}"


def _files_of(entry: JobEntry) -> tuple[str, ...]:
    submission = () if entry.submission is None else (entry.submission.path,)
    return (*submission, *entry.files)


def _epoch_of(location: str, root: str) -> int | float:
    part = location.removeprefix(root).partition("/")[0]
    return int(part) if part.isdecimal() else math.inf


def _in_order(entries: Iterable[JobEntry]) -> tuple[JobEntry, ...]:
    return tuple(sorted(entries, key=lambda entry: (entry.submitted, entry.job_id)))


def _decoded_entry(name: str, data: bytes) -> JobEntry:
    return _checked(name, f"entry of job {name!r}", data, _ENTRIES.decode)


def _checked(name: str, what: str, data: bytes, decode: Callable[[bytes], J]) -> J:
    """What ``data`` holds; FileCorrupt unless it is about the job ``name`` and of a format that is known."""
    try:
        found = decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FileCorrupt(
            f"{what}: it cannot be read ({error}); it was damaged or changed, so remove the job and "
            f"submit it again"
        ) from error
    if found.format > FORMAT:
        raise FileCorrupt(
            f"{what}: expected format {FORMAT} at most, found {found.format}; it was written by a newer "
            f"riverrun, so use that one"
        )
    if found.job_id != name:
        raise FileCorrupt(
            f"{what}: expected job {name!r}, found {found.job_id!r}; somebody moved the file, so move it back"
        )
    return found


def _check_content(data: bytes, ref: FileRef) -> None:
    if len(data) != ref.size or digest_of(data) != ref.digest:
        raise FileCorrupt(
            f"submission {ref.path!r}: expected {ref.size} bytes with digest {ref.digest}, found "
            f"{len(data)} with {digest_of(data)}; it was damaged or changed, so remove the job and submit "
            f"it again"
        )
