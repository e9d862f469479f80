"""What a request is answered with when it is not answered: a status code and words, in Flink's shape."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import msgspec

from riverrun.cluster.dispatcher.gateway import JobIsKnown, JobIsOver, UnknownJob
from riverrun.cluster.submission.artifacts import ArtifactTooLarge
from riverrun.core.errors import CheckpointFailed, ExternalError, ProgramError, RiverrunError


class HttpProblem(RiverrunError):  # noqa: N818
    """A request that cannot be answered: the status code says whose fault it is."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status = int(status)
        self.message = message

    def __str__(self) -> str:
        return self.message


class UnknownProgram(ProgramError):  # noqa: N818
    """No program with this id was uploaded."""


class ErrorBody(msgspec.Struct, frozen=True):
    """The body of every answer that is no success."""

    errors: tuple[str, ...]


_STATUS: Final = (
    (UnknownJob, HTTPStatus.NOT_FOUND),
    (UnknownProgram, HTTPStatus.NOT_FOUND),
    (JobIsOver, HTTPStatus.CONFLICT),
    (JobIsKnown, HTTPStatus.CONFLICT),
    (ArtifactTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (CheckpointFailed, HTTPStatus.CONFLICT),
    (ProgramError, HTTPStatus.BAD_REQUEST),
    (ExternalError, HTTPStatus.SERVICE_UNAVAILABLE),
)


def problem_of(error: Exception) -> HttpProblem:
    """The answer to a request that ended in ``error``.

    >>> problem_of(UnknownJob("job '77': there is none")).status
    404
    """
    if isinstance(error, HttpProblem):
        return error
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return HttpProblem(status, str(error))
    name = type(error).__name__
    return HttpProblem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        f"{name}: the JobManager could not answer; its log says why",
    )


def bad_request(message: str) -> HttpProblem:
    """The request is not what it should be."""
    return HttpProblem(HTTPStatus.BAD_REQUEST, message)


def not_found(message: str) -> HttpProblem:
    """What was asked for is not there."""
    return HttpProblem(HTTPStatus.NOT_FOUND, message)
