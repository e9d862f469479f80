"""What a client sends to run a job: nothing in it is unpickled by the JobManager."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from riverrun.core.errors import ProgramError

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
FileName = Annotated[str, msgspec.Meta(pattern=r"^[\w][\w.+-]{0,199}$")]


class MalformedSubmission(ProgramError):  # noqa: N818
    """Bytes that are no submission."""


class SentFile(msgspec.Struct, frozen=True):
    """A file that was uploaded before."""

    name: FileName
    sha256: Sha256


class SentCode(msgspec.Struct, frozen=True, kw_only=True):
    """What the job's functions import: see ``graph.program_code``."""

    search_path: tuple[str, ...] = ()
    files: tuple[SentFile, ...] = ()
    archives: tuple[SentFile, ...] = ()
    """Each named as it is found by the job's functions."""
    data: tuple[SentFile, ...] = ()
    programs: tuple[str, ...] = ()
    """Names of those ``data`` that can be executed."""
    python: str | None = None

    def sent_files(self) -> dict[str, SentFile]:
        """All files by their digests."""
        return {file.sha256: file for file in (*self.files, *self.archives, *self.data)}


class SubmitRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A job to run."""

    job: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
    name: str
    graph: bytes
    """See ``graph.sealed``."""
    config: dict[str, str]
    client_operators: tuple[str, ...] = ()
    """Ids of operators whose values the client wants."""
    print_operators: tuple[str, ...] = ()
    """Those of them whose values are lines of text, which stay readable without the client."""
    restore_from: str | None = None
    allow_non_restored: bool = False
    resume: bool = False
    code: SentCode = SentCode()
    attached: bool = True
    """Whether the client stays and takes the values."""
    version: str = ""
    """Of the client's riverrun."""
    python_version: str = ""
    """Of the client: functions are sent as the byte code of this version."""


_DECODER: Final = msgspec.msgpack.Decoder(SubmitRequest)


def encode_request(request: SubmitRequest) -> bytes:
    """The request as bytes."""
    return msgspec.msgpack.encode(request)


def decode_request(data: bytes) -> SubmitRequest:
    """What ``encode_request`` was given; MalformedSubmission for anything else."""
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as e:
        raise MalformedSubmission(
            f"submission: expected what a riverrun client sends, got {len(data)} bytes ({e}); "
            f"use the same version of riverrun on both sides"
        ) from e
