"""The beginning of a task: frames come in, elements come out, and every channel is checked."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from riverrun.graph.deployment import InEdge
from riverrun.protocol.elements import Element, EndOfInput, Records
from riverrun.protocol.frames import (
    DecodeRun,
    EncodedRun,
    FrameError,
    decode_header,
    split_elements,
)
from riverrun.serde.runs import decode_run
from riverrun.serde.type_info import TypeInformation


@dataclass(slots=True)
class InputChannel:
    """One producer subtask of one edge, as its consumer sees it."""

    index: int
    """Dense number of the channel within its task."""
    input_index: int
    decode: DecodeRun
    expected: int = 0
    ended: bool = False


class Inputs:
    """Frames in, ``(channel, element)`` out, in arrival order.

    Spark delivers a channel's frames in order, once each; the sequence numbers prove it, and a frame of
    an unknown channel, another attempt or after the end of its channel is refused.
    """

    def __init__(self, edges: tuple[InEdge, ...], attempt: int) -> None:
        self._attempt = attempt
        self._channels: dict[tuple[int, int], InputChannel] = {}
        for edge in edges:
            decode = _decoder(edge.type_info)
            for producer in edge.producers:
                channel = InputChannel(len(self._channels), edge.input_index, decode)
                self._channels[edge.edge, producer] = channel
        self._open = len(self._channels)
        # Runs wait encoded and are decoded one at a time, right before they are worked on: a frame
        # holds many runs, and values made long before their use would have left the CPU's caches.
        self._waiting: deque[tuple[InputChannel, EncodedRun | Element]] = deque()
        self._waiting_records = 0
        self.bytes_in = 0

    @property
    def channels(self) -> int:
        """How many channels end here."""
        return len(self._channels)

    @property
    def finished(self) -> bool:
        """Whether every channel ended and nothing waits."""
        return self._open == 0 and not self._waiting

    @property
    def waiting(self) -> bool:
        """Whether elements were received and not yet taken."""
        return bool(self._waiting)

    @property
    def waiting_records(self) -> int:
        """How many records were received and not yet taken."""
        return self._waiting_records

    def receive(self, frame: bytes | memoryview) -> None:
        """Check and decode one frame; its elements wait to be taken."""
        header = decode_header(frame)
        channel = self._channels.get((header.edge, header.producer))
        if channel is None or header.attempt != self._attempt % 65536:
            raise FrameError(
                f"frame of edge {header.edge}, producer {header.producer}, attempt {header.attempt}: "
                f"no such channel here in attempt {self._attempt}"
            )
        if header.sequence != channel.expected or channel.ended:
            raise FrameError(
                f"channel of edge {header.edge}, producer {header.producer}: got frame "
                f"{header.sequence}, expected {'none' if channel.ended else channel.expected}; "
                f"frames were lost or repeated"
            )
        channel.expected += 1
        self.bytes_in += len(frame)
        for element in split_elements(frame):
            if isinstance(element, EncodedRun):
                self._waiting_records += element.count
            elif isinstance(element, EndOfInput):
                channel.ended = True
                self._open -= 1
            self._waiting.append((channel, element))

    def take(self, limit: int) -> tuple[InputChannel, Element] | None:
        """The next element, or its first ``limit`` records if it is a longer run."""
        if not self._waiting:
            return None
        channel, element = self._waiting[0]
        if isinstance(element, EncodedRun):
            element = element.decode(channel.decode)
            self._waiting[0] = (channel, element)
        if not isinstance(element, Records):
            self._waiting.popleft()
            return channel, element
        values, timestamps = element.values, element.timestamps
        if len(values) <= limit:
            self._waiting.popleft()
            self._waiting_records -= len(values)
            return channel, element
        self._waiting_records -= limit
        taken = Records(values[:limit], None if timestamps is None else timestamps[:limit])
        # The rest is replaced rather than cut in place: cutting a list at its head moves all of it.
        rest = Records(values[limit:], None if timestamps is None else timestamps[limit:])
        self._waiting[0] = (channel, rest)
        return channel, taken


def _decoder(type_info: TypeInformation | None) -> DecodeRun:
    return lambda tag, data: decode_run(tag, data, type_info)
