"""Where an operator's records come from, once the virtual transformations between are dissolved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from riverrun.core.errors import ProgramError
from riverrun.graph.partitioning import Partitioning
from riverrun.graph.transformations import (
    PartitionTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
    Upstream,
)
from riverrun.serde.type_info import TypeInformation


@dataclass(frozen=True, slots=True)
class Feed:
    """One operator whose records reach another one, and how; ``None`` where the program is silent."""

    source: Transformation
    input_index: int
    partitioning: Partitioning | None
    tag: str | None
    side_type: TypeInformation | None


@dataclass(frozen=True, slots=True)
class _Path:
    """A place on the way up from a reader, and what was met so far."""

    at: Upstream
    partitioning: Partitioning | None = None
    side: SideOutputTransformation | None = None


def feeds_of(transformation: Transformation) -> tuple[Feed, ...]:
    """Everything that feeds ``transformation``, in input order, unions from left to right.

    Seen from the reader, the first partitioning and the first tag on the way up win: those are the
    ones that the program wrote last.
    """
    return tuple(
        Feed(
            source=path.at,
            input_index=index,
            partitioning=path.partitioning,
            tag=path.side.tag if path.side else None,
            side_type=path.side.output_type if path.side else None,
        )
        for index, upstream in enumerate(transformation.inputs)
        for path in _paths_up(upstream)
        if isinstance(path.at, Transformation)
    )


def in_program_order(roots: Sequence[Transformation]) -> tuple[Transformation, ...]:
    """Each transformation that ``roots`` depend on, and they themselves, once; inputs come first.

    Raises:
        ProgramError: two transformations have the same id, or one depends on itself.
    """
    ordered: dict[int, Transformation] = {}
    entered: set[int] = set()
    # An explicit stack: a program may be deeper than Python's recursion limit.
    stack = list(reversed(roots))
    while stack:
        transformation = stack[-1]
        if _seen(ordered, transformation):
            stack.pop()
            continue
        missing = [
            feed.source for feed in feeds_of(transformation) if not _seen(ordered, feed.source)
        ]
        if not missing:
            ordered[transformation.id] = stack.pop()
        elif transformation.id in entered:
            raise ProgramError(
                f"operator {transformation.name!r}: it depends on its own output; "
                f"a program must not have loops"
            )
        else:
            entered.add(transformation.id)
            stack.extend(reversed(missing))
    return tuple(ordered.values())


def _paths_up(upstream: Upstream) -> Iterator[_Path]:
    stack = [_Path(upstream)]
    while stack:
        path = stack.pop()
        match path.at:
            case Transformation():
                yield path
            case PartitionTransformation(source, partitioning):
                stack.append(
                    replace(path, at=source, partitioning=path.partitioning or partitioning)
                )
            case SideOutputTransformation(source):
                stack.append(replace(path, at=source, side=path.side or path.at))
            case UnionTransformation(inputs):
                stack.extend(replace(path, at=source) for source in reversed(inputs))
            case _:
                assert_never(path.at)


def _seen(ordered: dict[int, Transformation], transformation: Transformation) -> bool:
    other = ordered.get(transformation.id)
    if other is not None and other is not transformation:
        raise ProgramError(
            f"operators {other.name!r} and {transformation.name!r}: both have the id "
            f"{transformation.id}; they belong to different environments and cannot be connected"
        )
    return other is not None
