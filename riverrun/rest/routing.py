"""An operation of the REST interface as data: its path, what it takes, what it answers.

The table of all routes makes the server, the OpenAPI document and the tests against Flink's contract.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Annotated, Any, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from riverrun.core.ids import JobId
from riverrun.rest.context import RestContext
from riverrun.rest.problems import bad_request

P = TypeVar("P", bound=msgspec.Struct)
Q = TypeVar("Q", bound=msgspec.Struct)
B = TypeVar("B")

JobIdText: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
VertexIdText: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
TriggerIdText: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
Index: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class Nothing(msgspec.Struct, frozen=True):
    """No parameters."""


class OfJob(msgspec.Struct, frozen=True):
    """The path names a job."""

    jobid: JobIdText

    @property
    def job(self) -> JobId:
        """The job's id."""
        return JobId(self.jobid)


class OfVertex(OfJob, frozen=True):
    """The path names a vertex of a job."""

    vertexid: VertexIdText


class OfSubtask(OfVertex, frozen=True):
    """The path names a subtask of a vertex."""

    subtaskindex: Index


class OfTriggerAlone(msgspec.Struct, frozen=True):
    """The path names an operation that belongs to no job."""

    triggerid: TriggerIdText


class OfTrigger(OfJob, frozen=True):
    """The path names an operation that was begun on a job."""

    triggerid: TriggerIdText


@dataclass(frozen=True, slots=True)
class Call(Generic[P, Q, B]):
    """A request whose parts were checked."""

    path: P
    query: Q
    body: B
    """What the route's ``takes`` says; ``None`` where it takes nothing."""


class BodyKind(Enum):
    """How the body of a request is taken."""

    JSON = auto()
    BYTES = auto()
    """As it is: the handler gets bytes."""
    STREAM = auto()
    """Piece by piece: the handler gives a ``Receiver`` for it."""
    FILE = auto()
    """A form with a file: the handler gets an ``UploadedFile``, and the file is gone afterwards."""


class Receiver(Protocol):
    """Takes a body piece by piece."""

    def write(self, piece: bytes) -> None:
        """Take the next bytes."""

    def keep(self) -> object:
        """All of them came."""

    def discard(self) -> None:
        """No more come, or they are not wanted."""


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file that came with a form."""

    name: str
    """As the client calls it: not to be trusted."""
    path: Path


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer that is not JSON."""

    content: bytes
    media_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


Handler: TypeAlias = Callable[[RestContext, Call[Any, Any, Any]], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation.

    ``handler`` gets a checked ``Call`` and gives an object of the type ``gives``. One that may wait
    (for a store, Spark, a task) is ``slow``: it runs on a thread of its own. One that waits for long is
    a coroutine function, so that no thread is taken by it.
    """

    method: str
    path: str
    """With names in braces, as in OpenAPI; without the version."""
    handler: Handler
    gives: Any = None
    """The type of the answer's body; ``None``: no body; ``Raw``: no JSON."""
    of: type[msgspec.Struct] = Nothing
    query: type[msgspec.Struct] = Nothing
    takes: Any = None
    """The type of the request's body; ``None``: no body. With a default for every field, none is needed."""
    status: int = 200
    slow: bool = False
    body: BodyKind = BodyKind.JSON
    of_report: bool = False
    """Whether the answer follows from the report of the path's job alone: then it is kept with it."""

    @property
    def summary(self) -> str:
        """The first line of the handler's docstring."""
        return (self.handler.__doc__ or "").strip().partition("\n")[0]


_MISSING_BODY: Final = b"{}"


def checked_path(route: Route, found: Mapping[str, str]) -> Any:
    """The names in the path, as ``route`` wants them; HttpProblem 400."""
    return _converted("path", route.of, found)


def checked_query(route: Route, found: Sequence[tuple[str, str]]) -> Any:
    """The query parameters, as ``route`` wants them; unknown ones are ignored; HttpProblem 400."""
    values: dict[str, str] = {}
    for name, value in found:
        values[name] = f"{values[name]},{value}" if name in values else value
    return _converted("query", route.query, values)


def checked_body(route: Route, body: bytes) -> Any:
    """The request's body, as ``route`` wants it; HttpProblem 400."""
    if route.takes is None:
        return None
    try:
        return msgspec.json.decode(body.strip() or _MISSING_BODY, type=route.takes)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as e:
        raise bad_request(f"body of {route.method} {route.path}: {_words(e)}") from e


def _converted(part: str, kind: type[msgspec.Struct], found: Mapping[str, str]) -> Any:
    try:
        return msgspec.convert(dict(found), kind, strict=False)
    except msgspec.ValidationError as e:
        raise bad_request(f"{part}: {_words(e)}; got {dict(found)!r}") from e


def _words(error: Exception) -> str:
    return str(error).replace("`", "'")
