"""Parts in S3, or what speaks like it: multipart uploads, which are completed when they are committed.

An upload is invisible until then, belongs to no process, and is found again by its id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from xml.sax.saxutils import escape

from riverrun.connectors.files.output_parts import (
    ENDED,
    STAGING,
    Lineage,
    OutputFiles,
    PartFile,
    gone_back,
    lost,
)
from riverrun.connectors.files.output_s3_requests import S3Refused, S3Requests
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
from riverrun.storage.storage import FileMissing, StorageError

PART_BYTES: Final = 8 << 20
"""What is uploaded at once and held in memory for each open file; the store wants 5 MiB at least."""
_GONE: Final = frozenset({"NoSuchUpload", "NoSuchKey", "NotFound"})
_WRITER: Final = re.compile(r"-(?P<sink>[0-9a-f]{12})-(?P<subtask>[0-9a-f]{4,})-[0-9a-f]{8}-\d+")


class S3Part(PartFile):
    """Bytes gather in memory until they are enough for a part of the upload."""

    def __init__(self, requests: S3Requests, target: str, part_bytes: int) -> None:
        self._requests = requests
        self._target = target
        self._part_bytes = part_bytes
        self._buffer = bytearray()
        self._etags: list[str] = []
        self._position = 0
        begun = requests.send("POST", target, {"uploads": ""}, operation="writing")
        self.upload_id = begun.xml().findtext("UploadId") or ""

    @property
    def location(self) -> str:
        return self._target

    @property
    def target(self) -> str:
        return self._target

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._buffer += view
        self._position += len(view)
        while len(self._buffer) >= self._part_bytes:
            self._upload(bytes(self._buffer[: self._part_bytes]))
            del self._buffer[: self._part_bytes]
        return len(view)

    def tell(self) -> int:
        return self._position

    def persist(self) -> None:
        raise NotImplementedError("parts in object stores end at every checkpoint")

    def finish(self) -> PendingUpload:
        if self._buffer or not self._etags:
            self._upload(bytes(self._buffer))
            self._buffer.clear()
        return PendingUpload(self._target, self.upload_id, tuple(self._etags), self._position)

    def discard(self) -> None:
        try:
            abort(self._requests, self._target, self.upload_id)
        except StorageError:
            return  # the next attempt finds it among the leftovers

    def abandon(self) -> None:
        self._buffer.clear()

    def _upload(self, data: bytes) -> None:
        number = len(self._etags) + 1
        query = {"partNumber": str(number), "uploadId": self.upload_id}
        answer = self._requests.send("PUT", self._target, query, data, operation="writing")
        self._etags.append(answer.headers.get("etag", ""))


class S3Output(OutputFiles):
    """Uploads to the bucket of ``base``."""

    keeps_open = False

    def __init__(
        self,
        base: str,
        lineage: Lineage,
        config: Mapping[str, str],
        part_bytes: int = PART_BYTES,
    ) -> None:
        self._base = base
        self._lineage = lineage
        self._part_bytes = part_bytes
        self._store = FileStore(config)
        self._requests = S3Requests.to(base, config)
        self._sink_folder = f"{base}/{STAGING}/{lineage.sink}"
        self._folder = f"{self._sink_folder}/{lineage.subtask}"

    def check(self) -> None:
        # An upload that is begun and forgotten needs the right to write, and leaves nothing.
        probe = S3Part(self._requests, f"{self._folder}/.probe", self._part_bytes)
        abort(self._requests, probe.target, probe.upload_id)

    def open(self, bucket: str, name: str, *, held: bool = False) -> S3Part:
        target = f"{self._folder}/.{name}.inprogress" if held else self._target(bucket, name)
        return S3Part(self._requests, target, self._part_bytes)

    def resume(self, part: OpenPart, name: str) -> PartFile | None:
        del name
        raise gone_back(part.staged)

    def hold(self, bucket: str, pending: Pending) -> HeldPart:
        assert isinstance(pending, PendingUpload)  # noqa: S101  (this class made it)
        self.commit([pending])
        return HeldPart(bucket, pending.target, pending.size)

    def adopt(self, held: HeldPart, name: str) -> HeldPart:
        own = f"{self._folder}/.{name}.inprogress"
        system, path = self._store.system(held.staged)
        try:
            with self._store.reported("going on with", held.staged):
                system.copy_file(path, own.partition("://")[2])
        except FileMissing:
            raise gone_back(held.staged) from None
        return HeldPart(held.bucket, own, held.size, held.waited)

    def promote(self, held: HeldPart, name: str) -> None:
        del held, name  # an object has one name: it is copied by the merge

    def leftovers(self) -> Discarded:
        uploads = tuple(
            (location, upload_id)
            for location, upload_id in self._uploads()
            if self._is_inherited(location)
        )
        staged = (each.location for each in self._staged())
        return Discarded(tuple(each for each in staged if self._is_inherited(each)), uploads)

    def commit(self, pending: Sequence[Pending], *, last: bool = False) -> None:
        del last
        for each in pending:
            if isinstance(each, PendingFile):
                raise lost(each.target, each.staged)
            self._complete(each)

    def _complete(self, pending: PendingUpload) -> None:
        parts = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{escape(etag)}</ETag></Part>"
            for number, etag in enumerate(pending.etags, 1)
        )
        body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
        query = {"uploadId": pending.upload_id}
        try:
            self._requests.send("POST", pending.target, query, body, operation="committing")
        except S3Refused as refusal:
            # Nobody else has this name: a file of this size there is the one.
            found = self._store.info(pending.target)
            if found is not None and found.size == pending.size:
                return
            if refusal.code not in _GONE:
                raise
            raise lost(pending.target, f"upload {pending.upload_id}") from refusal

    def discard(self, discarded: Discarded) -> None:
        for location in discarded.files:
            self._store.delete(location)
        for location, upload_id in discarded.uploads:
            abort(self._requests, location, upload_id)

    def note_end(self, ended: EndedWriter) -> Iterable[EndedWriter]:
        folder = f"{self._sink_folder}/{ENDED}"
        note = f"{folder}/{ended.parallelism}-{ended.subtask}"
        self._put(note, json.dumps(ended.buckets).encode())
        found = []
        for each in self._staged(ENDED):
            parallelism, _, subtask = each.location.rpartition("/")[2].partition("-")
            if parallelism == str(ended.parallelism):
                with suppress(FileMissing):  # another saw all of them, and has marked the end
                    with self._store.open(each.location) as stream:
                        buckets = tuple(json.loads(stream.read()))
                    found.append(EndedWriter(int(subtask), ended.parallelism, buckets))
        return found

    def mark_complete(self, buckets: Iterable[str], name: str) -> None:
        for bucket in ("", *buckets):
            self._put(self._target(bucket, name), b"")
        for note in self._staged(ENDED):
            self._store.delete(note.location)

    def close(self) -> None:
        self._requests.close()

    def _target(self, bucket: str, name: str) -> str:
        return f"{self._base}/{bucket}/{name}" if bucket else f"{self._base}/{name}"

    def _put(self, location: str, data: bytes) -> None:
        self._requests.send("PUT", location, body=data, operation="writing")

    def _staged(self, below: str = "") -> list[Any]:
        folder = f"{self._sink_folder}/{below}".rstrip("/")
        try:
            return self._store.files(folder, hidden=True)
        except FileMissing:
            return []

    def _is_inherited(self, location: str) -> bool:
        named = _WRITER.search(location.rpartition("/")[2])
        return (
            named is not None
            and named["sink"] == self._lineage.sink
            and self._lineage.inherits(int(named["subtask"], 16))
        )

    def _uploads(self) -> Iterator[tuple[str, str]]:
        """Location and id of every upload below the base path that is not complete."""
        scheme, _, path = self._base.partition("://")
        bucket, _, prefix = path.partition("/")
        query = {"uploads": "", "prefix": f"{prefix}/" if prefix else ""}
        while True:
            root = f"{scheme}://{bucket}"
            listed = self._requests.send("GET", root, query, operation="listing uploads of").xml()
            for upload in listed.iter("Upload"):
                key, upload_id = upload.findtext("Key"), upload.findtext("UploadId")
                if key and upload_id:
                    yield f"{root}/{key}", upload_id
            if listed.findtext("IsTruncated") != "true":
                return
            query["key-marker"] = listed.findtext("NextKeyMarker") or ""
            query["upload-id-marker"] = listed.findtext("NextUploadIdMarker") or ""


def abort(requests: S3Requests, location: str, upload_id: str) -> None:
    """Forget the upload; fine when it is complete or gone."""
    try:
        requests.send("DELETE", location, {"uploadId": upload_id}, operation="clearing away")
    except S3Refused as refusal:
        if refusal.code not in _GONE:
            raise
