"""What savepoints and checkpoints hold: their states, how these are spread, and the values of a key."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Final, TypeAlias

import msgspec

from riverrun.checkpoint.layout import METADATA
from riverrun.core.ids import JobId
from riverrun.rest.bodies.states import (
    EntryList,
    KeyGroups,
    KeyList,
    KeyValues,
    SnapshotList,
    SnapshotStates,
)
from riverrun.rest.context import RestContext, Snapshots
from riverrun.rest.problems import HttpProblem
from riverrun.rest.routing import Call, Index, Nothing, Route

_MOST: Final = 1000

Location: TypeAlias = Annotated[
    str, msgspec.Meta(pattern=r"^(/|[a-z][a-z0-9]*://)[^\x00-\x1f\x7f]*$", max_length=4000)
]
Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=4000)]
Limit: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=_MOST)]


class Below(msgspec.Struct, frozen=True):
    """An absolute path of a folder, or a location such as `s3://bucket/folder`."""

    path: Location


class OfSnapshot(msgspec.Struct, frozen=True):
    """A savepoint or checkpoint: its folder or its `_metadata`."""

    path: Location


class OfState(OfSnapshot, frozen=True):
    """A state of an operator, which is given by its uid, name or id."""

    operator: Name
    state: Name


class OfKey(OfState, frozen=True, rename="kebab"):
    """A key as text: as Python or JSON writes it; a key that is text needs no quotes.

    Where the text may mean several keys, the key group tells which one.
    """

    key: Annotated[str, msgspec.Meta(max_length=20_000)]
    key_group: Index | None = None


class FirstKeys(OfState, frozen=True, rename="kebab"):
    """How many keys, and of which key group; without one, of all."""

    limit: Limit = 50
    key_group: Index | None = None


class FirstEntries(OfState, frozen=True):
    """How many entries."""

    limit: Limit = 50


def below(rest: RestContext, call: Call[Nothing, Below, None]) -> SnapshotList:
    """The savepoints and checkpoints below a folder, newest first."""
    if rest.submissions is None:
        raise _not_ours(call.query.path)
    return _reader(rest).below(call.query.path)


def states(rest: RestContext, call: Call[Nothing, OfSnapshot, None]) -> SnapshotStates:
    """The operators of a savepoint or checkpoint, with their states and sizes."""
    return _reader_of(rest, call.query).states(call.query.path)


def key_groups(rest: RestContext, call: Call[Nothing, OfState, None]) -> KeyGroups:
    """How the entries and bytes of a keyed state are spread over key groups and subtasks."""
    asked = call.query
    return _reader_of(rest, asked).key_groups(asked.path, asked.operator, asked.state)


def keys(rest: RestContext, call: Call[Nothing, FirstKeys, None]) -> KeyList:
    """The first keys of a keyed state, or of one of its key groups."""
    asked = call.query
    return _reader_of(rest, asked).keys(
        asked.path, asked.operator, asked.state, asked.key_group, asked.limit
    )


def lookup(rest: RestContext, call: Call[Nothing, OfKey, None]) -> KeyValues:
    """What a keyed state holds for one key, and which key group and subtask the key belongs to."""
    asked = call.query
    return _reader_of(rest, asked).lookup(
        asked.path, asked.operator, asked.state, asked.key, asked.key_group
    )


def entries(rest: RestContext, call: Call[Nothing, FirstEntries, None]) -> EntryList:
    """The first entries of a state that has no keys: of lists, broadcast state, positions of sources."""
    asked = call.query
    return _reader_of(rest, asked).entries(asked.path, asked.operator, asked.state, asked.limit)


def _reader(rest: RestContext) -> Snapshots:
    if rest.snapshots is None:
        raise HttpProblem(
            HTTPStatus.FORBIDDEN, "this JobManager does not read snapshots for others"
        )
    return rest.snapshots


def _reader_of(rest: RestContext, asked: OfSnapshot) -> Snapshots:
    """Whoever may send jobs may let anything be read: values are unpickled, which runs code.

    Where nobody may, only what the JobManager's own jobs wrote is read.
    """
    if rest.submissions is None and _folder(asked.path) not in _own(rest):
        raise _not_ours(asked.path)
    return _reader(rest)


def _own(rest: RestContext) -> set[str]:
    found = set()
    for job in rest.dispatcher.jobs():
        checkpoints = rest.dispatcher.job(JobId(job.id)).checkpoints
        if checkpoints is not None:
            latest = checkpoints.latest
            known = [*checkpoints.history, latest.completed, latest.savepoint, latest.restored]
            paths = [each.external_path for each in known if each is not None]
            found |= {_folder(path) for path in paths if path is not None}
    return found


def _folder(path: str) -> str:
    return path.rstrip("/").removesuffix(f"/{METADATA}")


def _not_ours(path: str) -> HttpProblem:
    return HttpProblem(
        HTTPStatus.FORBIDDEN,
        f"path {path!r}: this JobManager takes no jobs of others, so it reads only checkpoints and "
        f"savepoints that its own jobs took; use 'river state' for any other",
    )


ROUTES: Final = (
    Route("GET", "/snapshots", below, gives=SnapshotList, query=Below, slow=True),
    Route("GET", "/snapshots/states", states, gives=SnapshotStates, query=OfSnapshot, slow=True),
    Route("GET", "/snapshots/key-groups", key_groups, gives=KeyGroups, query=OfState, slow=True),
    Route("GET", "/snapshots/keys", keys, gives=KeyList, query=FirstKeys, slow=True),
    Route("GET", "/snapshots/lookup", lookup, gives=KeyValues, query=OfKey, slow=True),
    Route("GET", "/snapshots/entries", entries, gives=EntryList, query=FirstEntries, slow=True),
)
