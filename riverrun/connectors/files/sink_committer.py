"""The committer of the file sink."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from riverrun.api.sink import Committable, Committer
from riverrun.connectors.files.output_open import open_output
from riverrun.connectors.files.output_parts import Lineage, OutputFiles
from riverrun.connectors.files.sink_state import (
    Discarded,
    EndedWriter,
    Pending,
    PendingFile,
    PendingUpload,
)

__all__ = ["FileCommitter"]

_PENDING: Final = (PendingFile, PendingUpload)


class FileCommitter(Committer):
    """Makes parts visible, then removes what nobody needs any more, then says that all is there.

    Parts are committed where they were written, also when the sink has another base path by now.
    """

    def __init__(
        self,
        base: str,
        lineage: Lineage,
        config: Mapping[str, str],
        success_file: str | None,
    ) -> None:
        self._lineage = lineage
        self._config = config
        self._success_file = success_file
        self._own_store = _bucket(base)
        self._own = open_output(base, lineage, config)
        self._others: dict[str, OutputFiles] = {}

    def commit(self, committables: Sequence[Committable]) -> None:
        values = [each.value for each in committables]
        ended = [value for value in values if isinstance(value, EndedWriter)]
        by_store: dict[str, list[Pending]] = {self._own_store: []}
        for value in values:
            if isinstance(value, _PENDING):
                by_store.setdefault(_bucket(value.target), []).append(value)
        for store, pending in by_store.items():
            self._outputs(store).commit(pending, last=bool(ended))
        for value in values:
            if isinstance(value, Discarded):
                self._discard(value)
        for writer in ended:
            self._mark(writer)

    def close(self) -> None:
        for outputs in (self._own, *self._others.values()):
            outputs.close()

    def _discard(self, discarded: Discarded) -> None:
        by_store: dict[str, tuple[list[str], list[tuple[str, str]]]] = {}
        for location in discarded.files:
            by_store.setdefault(_bucket(location), ([], []))[0].append(location)
        for upload in discarded.uploads:
            by_store.setdefault(_bucket(upload[0]), ([], []))[1].append(upload)
        for store, (files, uploads) in by_store.items():
            self._outputs(store).discard(Discarded(tuple(files), tuple(uploads)))

    def _mark(self, writer: EndedWriter) -> None:
        if self._success_file is None:
            return
        known = list(self._own.note_end(writer))
        if len(known) == writer.parallelism:
            buckets = sorted({bucket for each in known for bucket in each.buckets if bucket})
            self._own.mark_complete(buckets, self._success_file)

    def _outputs(self, bucket: str) -> OutputFiles:
        """Who commits what is in the bucket of an object store; ``""`` stands for local files."""
        if bucket == self._own_store:
            return self._own
        found = self._others.get(bucket)
        if found is None:
            base = bucket or "/"
            found = self._others[bucket] = open_output(base, self._lineage, self._config)
        return found


def _bucket(location: str) -> str:
    """The bucket of an object store that holds ``location``; empty for local files.

    >>> _bucket("s3://bucket/a/b"), _bucket("/a/b")
    ('s3://bucket', '')
    """
    scheme, separator, rest = location.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if separator else ""
