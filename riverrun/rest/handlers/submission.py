"""Jobs and files from other processes, and the values that go back to them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Final

import msgspec

from riverrun.cluster.dispatcher.gateway import Submissions
from riverrun.cluster.submission.wire import Sha256, decode_request
from riverrun.rest.bodies.submission import ArtifactThere, Submitted
from riverrun.rest.context import RestContext
from riverrun.rest.problems import HttpProblem, not_found
from riverrun.rest.routing import BodyKind, Call, Index, Nothing, OfJob, Raw, Receiver, Route

_MSGPACK: Final = "application/msgpack"
_LONGEST_S: Final = 30.0
_BATCH_BYTES: Final = 4 << 20


class OfArtifact(msgspec.Struct, frozen=True):
    """The path names a file by its digest."""

    sha256: Sha256


class After(msgspec.Struct, frozen=True):
    """How far the client came, and how long it waits for more."""

    after: Index = 0
    wait: Annotated[float, msgspec.Meta(ge=0, le=_LONGEST_S)] = 10.0
    """Seconds."""


def submit(rest: RestContext, call: Call[Nothing, Nothing, bytes]) -> Submitted:
    """Run a job that another process compiled."""
    job = _submissions(rest).submit(decode_request(call.body))
    return Submitted(jobid=str(job), job_url=f"/jobs/{job}")


def take_artifact(rest: RestContext, call: Call[OfArtifact, Nothing, None]) -> Receiver:
    """Keep a file that jobs will need."""
    return _submissions(rest).artifacts.receive(call.path.sha256)


def find_artifact(rest: RestContext, call: Call[OfArtifact, Nothing, None]) -> ArtifactThere:
    """Whether a file is there, so that it need not be sent."""
    if not _submissions(rest).artifacts.has(call.path.sha256):
        raise not_found(f"file {call.path.sha256[:12]}: is not here")
    return ArtifactThere(call.path.sha256)


async def values(rest: RestContext, call: Call[OfJob, After, None]) -> Raw:
    """Values for the job's client, in order; waits a while for the first of them.

    The answer is msgpack: whether these are the last, and the runs (number, operator, subtask, payload).
    """
    kept = _submissions(rest).values(call.path.job)
    loop, more = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        with suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(more.set)

    # No thread waits: there may be more clients than threads.
    with kept.listening(wake):
        runs, last = kept.take(call.query.after, 0.0, _BATCH_BYTES)
        if not runs and not last:
            with suppress(TimeoutError):
                await asyncio.wait_for(more.wait(), call.query.wait)
            runs, last = kept.take(call.query.after, 0.0, _BATCH_BYTES)
    return Raw(msgspec.msgpack.encode((last, runs)), _MSGPACK)


def _submissions(rest: RestContext) -> Submissions:
    if rest.submissions is None:
        raise HttpProblem(
            403,
            "this JobManager runs one program and takes no jobs; start one with river cluster start",
        )
    return rest.submissions


ROUTES: Final = (
    Route("POST", "/jobs", submit, gives=Submitted, body=BodyKind.BYTES, status=202, slow=True),
    Route(
        "PUT",
        "/artifacts/{sha256}",
        take_artifact,
        of=OfArtifact,
        body=BodyKind.STREAM,
        status=201,
    ),
    Route("GET", "/artifacts/{sha256}", find_artifact, gives=ArtifactThere, of=OfArtifact),
    Route(
        "GET",
        "/jobs/{jobid}/client-values",
        values,
        gives=Raw,
        of=OfJob,
        query=After,
    ),
)
