"""The beginning of a task: frames come in, elements come out, and every channel is checked."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from riverrun.graph.deployment import InEdge
from riverrun.protocol.elements import (
    Barrier,
    Element,
    EndOfChannel,
    EndOfInput,
    LatencyMarker,
    Records,
    Watermark,
    WatermarkStatus,
)
from riverrun.protocol.frames import (
    DecodeRun,
    EncodedRun,
    FrameError,
    decode_header,
    encoded_element,
    split_elements,
)
from riverrun.runtime.deferred import Deferred, OpenSpill
from riverrun.runtime.restored_channels import RestoredRun
from riverrun.serde.runs import RunCodec, codec_for, decode_run
from riverrun.serde.type_info import TypeInformation

Waiting: TypeAlias = "EncodedRun | Element"

_NOT_KEPT: Final = (
    Barrier,
    LatencyMarker,
    EndOfInput,
    EndOfChannel,
    Watermark,
    WatermarkStatus,
)


@dataclass(slots=True)
class InputChannel:
    """One producer subtask of one edge, as its consumer sees it."""

    index: int
    """Dense number of the channel within its task."""
    input_index: int
    edge: int
    producer: int
    decode: DecodeRun
    codec: RunCodec
    expected: int = 0
    over: bool = False
    """Whether the last record was received."""
    ended: bool = False
    """Whether nothing at all follows."""
    doubtful: bool = False
    """Whether what comes from it may count for some keys already; never so for what frames bring."""


class Inputs:
    """Frames in, ``(channel, element)`` out, in arrival order but for channels that are held back.

    Spark delivers a channel's frames in order, once each; the sequence numbers prove it, and a frame of
    an unknown channel, another attempt or after the end of its channel is refused. With ``columns`` runs
    that came as columns stay so.
    """

    def __init__(
        self,
        edges: tuple[InEdge, ...],
        attempt: int,
        *,
        memory_bytes: int,
        open_spill: OpenSpill,
        columns: bool = False,
    ) -> None:
        self._attempt = attempt
        self._memory_bytes, self._open_spill = memory_bytes, open_spill
        self._channels: dict[tuple[int, int], InputChannel] = {}
        for edge in edges:
            decode, codec = _decoder(edge.type_info, columns=columns), codec_for(edge.type_info)
            for producer in edge.producers:
                channel = InputChannel(
                    len(self._channels), edge.input_index, edge.edge, producer, decode, codec
                )
                self._channels[edge.edge, producer] = channel
        self._by_index = list(self._channels.values())
        self._over = 0
        self._ended = 0
        # Runs wait encoded and are decoded one at a time, right before they are worked on: a frame
        # holds many runs, and values made long before their use would have left the CPU's caches.
        self._waiting: deque[tuple[InputChannel, Waiting]] = deque()
        self._waiting_records = 0
        self._rest: tuple[InputChannel, Records] | None = None
        """What is left of a run that is being taken piece by piece."""
        self._restored: Deferred | None = None
        """What was in flight when the job was saved and is not taken yet; it goes before all else."""
        self._takes_restored = False
        """Whether the element taken last was of these."""
        self._released: Deferred | None = None
        self._deferred: Deferred | None = None
        self.deferred_bytes = 0
        """Bytes held back since this was last set to 0."""
        self.bytes_in = 0

    @property
    def channels(self) -> int:
        """How many channels end here."""
        return len(self._channels)

    @property
    def finished(self) -> bool:
        """Whether the last record of every channel was taken."""
        return self._over == len(self._channels)

    @property
    def ended(self) -> bool:
        """Whether the end of every channel was taken: its producer is done."""
        return self._ended == len(self._channels)

    @property
    def waiting(self) -> bool:
        """Whether elements were received and not yet taken or held back."""
        if self._rest is not None or self._waiting:
            return True
        return bool(self._released) or bool(self._restored)

    @property
    def restoring(self) -> bool:
        """Whether something of what was in flight when the job was saved is not taken yet."""
        return bool(self._restored) or (self._rest is not None and self._takes_restored)

    @property
    def barrier_next(self) -> bool:
        """Whether what waits in the first place is a barrier."""
        if self._rest is not None or self._released or self._restored or not self._waiting:
            return False
        return isinstance(self._waiting[0][1], Barrier)

    @property
    def took_restored(self) -> bool:
        """Whether what was taken last had been in flight when the job was saved."""
        return self._takes_restored

    @property
    def waiting_records(self) -> int:
        """How many records were received and not yet taken."""
        queues = (self._restored, self._released, self._deferred)
        held = sum(queue.records for queue in queues if queue is not None)
        rest = 0 if self._rest is None else len(self._rest[1].values)
        return self._waiting_records + held + rest

    def receive(self, frame: bytes | memoryview) -> Iterator[tuple[InputChannel, Waiting]]:
        """Check one frame and give its elements one by one; the caller hands each to ``append``."""
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
            if channel.over and not isinstance(element, Barrier | EndOfChannel | LatencyMarker):
                raise FrameError(
                    f"channel of edge {header.edge}, producer {header.producer}: got "
                    f"{type(element).__name__} after the end of its records"
                )
            if isinstance(element, EndOfInput):
                channel.over = True
            elif isinstance(element, EndOfChannel):
                channel.ended = True
            yield channel, element

    def append(self, channel: InputChannel, element: Waiting) -> None:
        """Let an element wait for its turn."""
        if isinstance(element, EncodedRun):
            self._waiting_records += element.count
        self._waiting.append((channel, element))

    def take(self, limit: int, blocked: set[int]) -> tuple[InputChannel, Element] | None:
        """The next element of a channel that is not blocked, at most ``limit`` records of a run."""
        if self._rest is None:
            entry = self._next(blocked)
            if entry is None:
                return None
            channel, element = entry
            if isinstance(element, EncodedRun):
                element = element.decode(channel.decode)
            if not isinstance(element, Records):
                if isinstance(element, EndOfInput):
                    self._over += 1
                elif isinstance(element, EndOfChannel):
                    self._ended += 1
                return channel, element
        else:
            channel, element = self._rest
            self._rest = None
        values, timestamps = element.values, element.timestamps
        if len(values) <= limit:
            return channel, element
        taken = Records(values[:limit], None if timestamps is None else timestamps[:limit])
        # The rest is replaced rather than cut in place: cutting a list at its head moves all of it.
        rest = Records(values[limit:], None if timestamps is None else timestamps[limit:])
        self._rest = (channel, rest)
        return channel, taken

    def release(self) -> None:
        """Let the elements that were held back go before everything that came after them."""
        deferred, self._deferred = self._deferred, None
        if deferred is None:
            return
        if self._released is not None:
            # What was released earlier and not taken yet came later than what was held back since.
            while self._released:
                deferred.append(*self._released.popleft())
            self._released.close()
        self._released = deferred

    def overtake(self, checkpoint: int, past: frozenset[int]) -> tuple[ChannelLogs, list[int]]:
        """What waits before the barrier of ``checkpoint``, and the channels whose barrier was found.

        Channels in ``past`` are beyond the barrier.
        """
        logs = ChannelLogs()
        # Nothing of this is behind a barrier: none was taken yet, and this comes before all that arrived.
        for channel, element in self._all_restored():
            logs.add_restored(channel, element)
        beyond = set(past)
        found: list[int] = []
        for channel, element in self._all_waiting():
            if channel.index in beyond:
                continue
            if isinstance(element, Barrier) and element.checkpoint == checkpoint:
                beyond.add(channel.index)
                found.append(channel.index)
            else:
                logs.add(channel, element)
        return logs, found

    def restore(self, runs: Iterable[RestoredRun]) -> None:
        """Put what was in flight before everything that will come; what memory cannot hold goes to a file."""
        self._restored = Deferred(self._memory_bytes, self._open_spill)
        doubtful: dict[int, int] = {}
        for edge, producer, run, in_doubt in runs:
            index = self._channels[edge, producer].index
            if in_doubt and index not in doubtful:
                doubtful[index] = len(self._by_index)
                beside = replace(self._by_index[index], index=len(self._by_index), doubtful=True)
                self._by_index.append(beside)
            self._restored.append(doubtful[index] if in_doubt else index, run)

    def close(self) -> None:
        """Give spill files back."""
        for queue in (self._restored, self._released, self._deferred):
            if queue is not None:
                queue.close()

    def _next(self, blocked: set[int]) -> tuple[InputChannel, Waiting] | None:
        while True:
            self._takes_restored = bool(self._restored)
            if self._restored is not None:
                if not self._restored:
                    self._restored.close()
                    self._restored = None
                    continue
                index, element = self._restored.popleft()
                channel = self._by_index[index]
            elif self._released is not None:
                if not self._released:
                    self._released.close()
                    self._released = None
                    continue
                index, element = self._released.popleft()
                channel = self._by_index[index]
            elif self._waiting:
                channel, element = self._waiting.popleft()
                if isinstance(element, EncodedRun):
                    self._waiting_records -= element.count
            else:
                return None
            if channel.index not in blocked:
                return channel, element
            self._defer(channel, element)

    def _all_restored(self) -> Iterator[tuple[InputChannel, Waiting]]:
        if self._rest is not None and self._takes_restored:
            yield self._rest
        for index, element in self._restored or ():
            yield self._by_index[index], element

    def _all_waiting(self) -> Iterator[tuple[InputChannel, Waiting]]:
        if self._rest is not None and not self._takes_restored:
            yield self._rest
        for queue in (self._deferred, self._released):
            for index, element in queue or ():
                yield self._by_index[index], element
        yield from self._waiting

    def _defer(self, channel: InputChannel, element: Waiting) -> None:
        if self._deferred is None:
            self._deferred = Deferred(self._memory_bytes, self._open_spill)
        self.deferred_bytes += self._deferred.append(channel.index, element)


class ChannelLogs:
    """Channel state of one unaligned checkpoint while it is gathered: encoded elements by channel.

    What had been restored and not taken yet stays in its order and before all else: after a rescale a
    producer may go on with the keys of another one, so that order between channels matters there.
    """

    def __init__(self) -> None:
        self._restored: list[tuple[InputChannel, list[bytes]]] = []
        self._pieces: dict[int, tuple[InputChannel, list[bytes]]] = {}
        self.size = 0

    def add(self, channel: InputChannel, element: Waiting) -> None:
        """Keep ``element`` if it is a run: nothing else is in force after a restore.

        Event time begins anew then, at the sources: a watermark or a status of before would be wrong
        for what they send next.
        """
        if not isinstance(element, _NOT_KEPT):
            _, pieces = self._pieces.setdefault(channel.index, (channel, []))
            pieces.append(self._encoded(channel, element))

    def add_restored(self, channel: InputChannel, element: Waiting) -> None:
        """Keep a run of those that the task itself started with; before ``add``, in their order."""
        if not self._restored or self._restored[-1][0] is not channel:
            self._restored.append((channel, []))
        self._restored[-1][1].append(self._encoded(channel, element))

    def channels(self) -> list[tuple[InputChannel, bytes]]:
        """Each channel that had something in flight, in the order in which it must be taken in."""
        pieces = [*self._restored, *self._pieces.values()]
        return [(channel, b"".join(data)) for channel, data in pieces]

    def _encoded(self, channel: InputChannel, element: Waiting) -> bytes:
        if isinstance(element, Records):
            element = _encoded(channel, element)
        data = encoded_element(element)
        self.size += len(data)
        return data


def _encoded(channel: InputChannel, run: Records) -> EncodedRun:
    data = channel.codec.encode(run.values)
    return EncodedRun(len(run.values), run.timestamps, channel.codec.tag, memoryview(data))


def _decoder(type_info: TypeInformation | None, *, columns: bool) -> DecodeRun:
    return lambda tag, data: decode_run(tag, data, type_info, columns=columns)
