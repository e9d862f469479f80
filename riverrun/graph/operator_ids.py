"""Operator ids that stay the same between runs, so that saved state finds its operator again.

An id comes from the user's uid, or else from the operator's place in the graph: its number in a
breadth-first walk from the sources and the ids of its inputs. Names, parallelism, chaining and
functions do not count, so that changing them loses no state. (Flink counts chained outputs too, so
there a changed parallelism may change an id. State would be lost for no gain.)
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final

from riverrun.core.errors import ProgramError
from riverrun.graph.stream_graph import StreamGraph, StreamNode

_OPERATOR_ID: Final = re.compile(r"[0-9a-f]{32}")


def operator_ids(graph: StreamGraph) -> Mapping[int, str]:
    """Node id -> operator id (32 hexadecimal characters), different for each node.

    Raises:
        ProgramError: a uid hash has another form, or two operators get the same id.
    """
    ids: dict[int, str] = {}
    owners: dict[str, StreamNode] = {}
    for position, node in enumerate(_breadth_first(graph)):
        inputs = [ids[edge.source] for edge in graph.in_edges(node.id)]
        ids[node.id] = _operator_id(node, position, inputs)
        owner = owners.setdefault(ids[node.id], node)
        if owner is not node:
            raise ProgramError(
                f"operators {owner.name!r} and {node.name!r}: both have the operator id "
                f"{ids[node.id]!r}; give each its own uid"
            )
    return ids


def id_from_uid(uid: str) -> str:
    """The operator id that belongs to a uid.

    >>> id_from_uid("spend-per-customer")
    'daf92540bdf18a11804068df1d4bd4e8'
    """
    return _digest(uid)


def _operator_id(node: StreamNode, position: int, inputs: list[str]) -> str:
    if node.uid_hash is not None:
        if not _OPERATOR_ID.fullmatch(node.uid_hash):
            raise ProgramError(
                f"operator {node.name!r}: uid hash {node.uid_hash!r} was found, expected 32 "
                f"lower-case hexadecimal characters; use uid() to give a readable id"
            )
        return node.uid_hash
    if node.uid is not None:
        return id_from_uid(node.uid)
    # The leading character keeps positions apart from uids: no uid is hashed with a NUL in front.
    return _digest("\0".join(["", str(position), *inputs]))


def _digest(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _breadth_first(graph: StreamGraph) -> Iterator[StreamNode]:
    """Every node once, after all its inputs; sources first, in program order."""
    waiting_for = {node.id: len(graph.in_edges(node.id)) for node in graph.nodes}
    ready = deque(node for node in graph.nodes if waiting_for[node.id] == 0)
    while ready:
        node = ready.popleft()
        yield node
        for edge in graph.out_edges(node.id):
            waiting_for[edge.target] -= 1
            if waiting_for[edge.target] == 0:
                ready.append(graph.node(edge.target))
