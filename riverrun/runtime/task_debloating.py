"""Debloating in a task: its channels and outputs on one side, what ``debloating`` decides on the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from riverrun.core.clock import Clock
from riverrun.graph.deployment import InEdge
from riverrun.metrics.groups import MetricGroup
from riverrun.protocol.control import ChannelAllowance, RecordsAllowed, SendUntil
from riverrun.runtime.debloating import UNLIMITED, Grant, InputDebloater
from riverrun.runtime.inputs import InputChannel, Inputs
from riverrun.runtime.output import EdgeOutput
from riverrun.runtime.settings import TaskSettings


class TaskDebloating:
    """Measures what the task takes in, tells its producers, and keeps to what its consumers told it.

    What was sent and is not done counts as in flight wherever it is, also where a barrier holds it back: the
    producer is past that barrier then, so nothing that a checkpoint waits for waits for the producer. Control
    elements are not counted and never wait for room.
    """

    def __init__(
        self,
        edges: Sequence[InEdge],
        inputs: Inputs,
        outputs: Sequence[EdgeOutput],
        debloater: InputDebloater,
        clock: Clock,
    ) -> None:
        self._channels = [(edge.edge, producer) for edge in edges for producer in edge.producers]
        self._inputs = inputs
        self._outputs = outputs
        self._debloater = debloater
        self._clock = clock
        self._outgoing: list[RecordsAllowed] = []

    @staticmethod
    def of(
        settings: TaskSettings,
        edges: Sequence[InEdge],
        inputs: Inputs,
        outputs: Sequence[EdgeOutput],
        clock: Clock,
    ) -> TaskDebloating | None:
        """What a task with these settings needs; ``None`` where nothing is debloated."""
        if settings.debloat is None:
            return None
        debloater = InputDebloater(
            inputs.channels,
            settings.debloat,
            frame_bytes=settings.frame_bytes,
            now=clock.monotonic(),
        )
        return TaskDebloating(edges, inputs, outputs, debloater, clock)

    @property
    def room(self) -> int:
        """How many records the task may take in hand; not above 0: a consumer has to catch up first."""
        return min((output.room for output in self._outputs), default=UNLIMITED)

    def granted(self, order: SendUntil) -> None:
        """A consumer says how far the task may send."""
        for output in self._outputs:
            if output.edge.edge == order.edge:
                output.granted(order.consumer, order.until, order.frame_bytes)

    def send_what_is_waited_for(self) -> None:
        """A consumer gives room for what it has done: it must get all that there is."""
        for output in self._outputs:
            if output.room <= 0:
                output.flush()

    def received(self, records: int, size: int) -> None:
        """A frame was taken in."""
        self._debloater.arrived(self._clock.monotonic(), records, size)

    def worked(self, channel: InputChannel, records: int) -> None:
        """Records of ``channel`` went through the chain."""
        # What was restored was sent in another attempt: its channel does not count it in this one.
        self._debloater.worked(None if self._inputs.took_restored else channel.index, records)

    def turned(self, *, worked: bool) -> None:
        """A turn is over."""
        if not self._channels:
            return
        now = self._clock.monotonic()
        if not worked and not self._inputs.waiting:
            self._debloater.starves(now)
        self._tell(self._debloater.look(now))

    def release(self) -> None:
        """The task ends: whoever still sends to it need not wait."""
        self._tell(self._debloater.release())

    def take(self) -> list[RecordsAllowed]:
        """What the producers have to be told."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def register_metrics(self, group: MetricGroup, queued: Callable[[], int]) -> None:
        """Offer Flink's two figures; ``queued`` counts the frames that wait in front of the task."""
        if self._channels:
            inputs, debloater = self._inputs, self._debloater
            group.gauge("debloatedBufferSize", lambda: debloater.frame_bytes)
            group.gauge(
                "estimatedTimeToConsumeBuffersMs",
                lambda: debloater.time_for(inputs.waiting_records, queued()),
            )

    def _tell(self, grants: list[Grant]) -> None:
        if grants:
            allowances = tuple(
                ChannelAllowance(*self._channels[channel], until, frame_bytes)
                for channel, until, frame_bytes in grants
            )
            self._outgoing.append(RecordsAllowed(allowances))
