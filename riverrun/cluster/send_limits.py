"""Where it goes what tasks say about room for records: to the subtask at the other end of each channel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from riverrun.core.ids import SubtaskId, VertexId
from riverrun.graph.deployment import Deployment, TaskDeployment
from riverrun.protocol.control import RecordsAllowed, SendUntil


class SendLimits:
    """Knows which vertex sends over each edge of an attempt.

    >>> from riverrun.protocol.control import ChannelAllowance
    >>> limits = SendLimits({7: VertexId("source")})
    >>> said = RecordsAllowed((ChannelAllowance(7, 2, until=100, frame_bytes=512),))
    >>> [(task, limit)] = limits.passed_on(SubtaskId(VertexId("map"), 1), said)
    >>> task.index, limit
    (2, SendUntil(edge=7, consumer=1, until=100, frame_bytes=512))
    """

    def __init__(self, senders: Mapping[int, VertexId]) -> None:
        self._senders = senders

    @staticmethod
    def of(layers: Iterable[Iterable[Deployment]]) -> SendLimits:
        """What the tasks of an attempt send over; relays only carry it."""
        return SendLimits(
            {
                edge.edge: task.vertex
                for layer in layers
                for task in layer
                if isinstance(task, TaskDeployment)
                for edge in task.outputs
            }
        )

    def passed_on(
        self, consumer: SubtaskId, message: RecordsAllowed
    ) -> Iterator[tuple[SubtaskId, SendUntil]]:
        """To whom each part of the message goes, and as what."""
        for each in message.channels:
            producer = SubtaskId(self._senders[each.edge], each.producer)
            yield producer, SendUntil(each.edge, consumer.index, each.until, each.frame_bytes)
