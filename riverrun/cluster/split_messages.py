"""Where the messages between the readers of a source and its enumerator go: nobody here opens them."""

from __future__ import annotations

from riverrun.core.ids import SubtaskId, VertexId
from riverrun.protocol.control import FromEnumerator, FromReader, ToEnumerator, ToReader


def enumerator_of(vertex: VertexId) -> SubtaskId:
    """The subtask whose task has the enumerator of the source ``vertex``."""
    return SubtaskId(vertex, 0)


def passed_on(
    sender: SubtaskId, message: ToEnumerator | ToReader
) -> tuple[SubtaskId, FromReader | FromEnumerator]:
    """To whom the message goes, and as what.

    >>> passed_on(SubtaskId(VertexId("v"), 3), ToEnumerator(b"hi"))
    (SubtaskId(vertex=VertexId(value='v'), index=0), FromReader(subtask=3, payload=b'hi'))
    """
    if isinstance(message, ToEnumerator):
        return enumerator_of(sender.vertex), FromReader(sender.index, message.payload)
    return SubtaskId(sender.vertex, message.subtask), FromEnumerator(message.payload)
