"""Frames: what one producer subtask sends to one consumer subtask in one row of an exchange.

A frame is a header (attempt, edge, producer, consumer, sequence number) and a list of elements, each a
tag, a length and its bytes. Numbers are little-endian. An empty row is a filler, not a frame: it only
makes Spark hand over the row before it, and the receiver drops it.

    header   B version | H attempt | I edge | I producer | I consumer | Q sequence
    element  B tag | I length | bytes
    Records  B codec | B has_timestamps | I count | [q timestamp] * count | run
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from riverrun.core.errors import InternalError
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
from riverrun.serde.columns import TimeColumn

VERSION: Final = 1
FILLER: Final = b""
WIDE_BYTES: Final = 1 << 18
"""A frame of this size or more is not put together before that is needed."""

_HEADER: Final = struct.Struct("<BHIIIQ")
_ELEMENT: Final = struct.Struct("<BI")
_RECORDS: Final = struct.Struct("<BBI")
_LONG: Final = struct.Struct("<q")
_BARRIER: Final = struct.Struct("<qq")
_MARKER: Final = struct.Struct("<dI")
_ATTEMPTS: Final = 1 << 16

_TAG_RECORDS, _TAG_WATERMARK, _TAG_STATUS, _TAG_BARRIER, _TAG_LATENCY, _TAG_END = range(1, 7)
_TAG_CLOSED: Final = 7

DecodeRun: TypeAlias = Callable[[int, memoryview], list[Any]]
"""Turns (codec tag, bytes of a run) into its values."""


class FrameError(InternalError):
    """Bytes that are not a frame of this job, or frames that arrive out of order."""


@dataclass(frozen=True, slots=True)
class FrameHeader:
    """Where a frame comes from, where it goes, and which one it is on that channel."""

    attempt: int
    edge: int
    producer: int
    consumer: int
    sequence: int


def encode_frame(header: FrameHeader, elements: Iterable[bytes | memoryview]) -> bytes:
    """A frame of already encoded ``elements``."""
    head = _HEADER.pack(
        VERSION,
        header.attempt % _ATTEMPTS,
        header.edge,
        header.producer,
        header.consumer,
        header.sequence,
    )
    return b"".join((head, *elements))


class WideFrame:
    """A large frame in pieces: its header and encoded elements, one after the other."""

    __slots__ = ("_size", "pieces")

    def __init__(self, pieces: list[bytes | memoryview]) -> None:
        self.pieces = pieces
        self._size = sum(map(len, pieces))

    def __len__(self) -> int:
        return self._size

    def joined(self) -> bytes:
        """The frame."""
        return b"".join(self.pieces)


def wide_frame(
    header: FrameHeader, elements: list[bytes | memoryview], size: int
) -> bytes | WideFrame:
    """As ``encode_frame``, but elements of ``size`` bytes are left in pieces if that is large."""
    if size < WIDE_BYTES:
        return encode_frame(header, elements)
    return WideFrame([encode_frame(header, ()), *elements])


def decode_header(frame: bytes | memoryview) -> FrameHeader:
    """The header alone, which is all a relay needs."""
    if len(frame) < _HEADER.size:
        raise FrameError(f"frame of {len(frame)} bytes: expected at least {_HEADER.size}")
    version, attempt, edge, producer, consumer, sequence = _HEADER.unpack_from(frame)
    if version != VERSION:
        raise FrameError(
            f"frame of version {version}: expected {VERSION}; "
            f"all processes of a job must run the same riverrun"
        )
    return FrameHeader(attempt, edge, producer, consumer, sequence)


def encode_records(
    codec_tag: int, count: int, run: bytes | memoryview, timestamps: Sequence[int] | None
) -> list[bytes | memoryview]:
    """The pieces of a Records element around an encoded run (joined by ``encode_frame``)."""
    times = None if timestamps is None else times_as_bytes(timestamps)
    return [*records_head(codec_tag, count, len(run), times), run]


def records_head(codec_tag: int, count: int, size: int, times: bytes | None) -> tuple[bytes, ...]:
    """What comes before an encoded run of ``size`` bytes in a Records element; ``times`` are encoded too."""
    return (
        _ELEMENT.pack(_TAG_RECORDS, _RECORDS.size + len(times or b"") + size),
        _RECORDS.pack(codec_tag, times is not None, count),
        times or b"",
    )


def times_as_bytes(timestamps: Sequence[int]) -> bytes:
    """The timestamps of a run as its element has them."""
    if isinstance(timestamps, TimeColumn):
        return timestamps.tobytes()
    return array("q", timestamps).tobytes()


def encode_control(element: Element) -> bytes:
    """Any element but Records as bytes.

    >>> encode_control(EndOfInput()).hex()
    '0600000000'
    """
    match element:
        case Watermark(time):
            return _tagged(_TAG_WATERMARK, _LONG.pack(time))
        case WatermarkStatus(idle):
            return _tagged(_TAG_STATUS, bytes((idle,)))
        case Barrier(checkpoint, timestamp, options):
            return _tagged(_TAG_BARRIER, _BARRIER.pack(checkpoint, timestamp) + options)
        case LatencyMarker(emitted_ms, source, subtask):
            return _tagged(_TAG_LATENCY, _MARKER.pack(emitted_ms, subtask) + source.encode())
        case EndOfInput():
            return _tagged(_TAG_END, b"")
        case EndOfChannel():
            return _tagged(_TAG_CLOSED, b"")
        case Records():
            raise FrameError("a run of records needs its codec: use encode_records")


@dataclass(slots=True)
class EncodedRun:
    """A Records element whose values are still bytes of the frame."""

    count: int
    timestamps: list[int] | None
    """A TimeColumn."""
    codec_tag: int
    data: memoryview

    def decode(self, decode_run: DecodeRun) -> Records:
        """The run itself."""
        values = decode_run(self.codec_tag, self.data)
        if len(values) != self.count:
            raise FrameError(f"run of {len(values)} values: its header says {self.count}")
        return Records(values, self.timestamps)


def encoded_element(element: EncodedRun | Element) -> bytes:
    """Any element but a decoded run as bytes; ``split_encoded`` and ``decode_element`` give it back."""
    if isinstance(element, EncodedRun):
        pieces = encode_records(element.codec_tag, element.count, element.data, element.timestamps)
        return b"".join(pieces)
    return encode_control(element)


def decode_element(data: bytes | memoryview) -> EncodedRun | Element:
    """The one element that ``data`` holds."""
    (element,) = split_encoded(data)
    return element


def decode_elements(frame: bytes | memoryview, decode_run: DecodeRun) -> list[Element]:
    """The elements of a frame, in order."""
    return [
        element.decode(decode_run) if isinstance(element, EncodedRun) else element
        for element in split_elements(frame)
    ]


def split_elements(frame: bytes | memoryview) -> list[EncodedRun | Element]:
    """The elements of a frame, in order, runs not decoded yet."""
    return split_encoded(memoryview(frame)[_HEADER.size :])


def split_encoded(data: bytes | memoryview) -> list[EncodedRun | Element]:
    """The elements of encoded elements one after the other: a frame without its header."""
    view = memoryview(data)
    position, end = 0, len(view)
    elements: list[EncodedRun | Element] = []
    while position < end:
        tag, length = _ELEMENT.unpack_from(view, position)
        position += _ELEMENT.size
        if position + length > end:
            raise FrameError(
                f"element of {length} bytes in a frame that ends {end - position} later"
            )
        elements.append(_decode(tag, view[position : position + length]))
        position += length
    return elements


def _tagged(tag: int, body: bytes) -> bytes:
    return _ELEMENT.pack(tag, len(body)) + body


def _decode(tag: int, body: memoryview) -> EncodedRun | Element:  # noqa: PLR0911  (one for each tag)
    if tag == _TAG_RECORDS:
        return _encoded_run(body)
    if tag == _TAG_WATERMARK:
        return Watermark(_LONG.unpack(body)[0])
    if tag == _TAG_STATUS:
        return WatermarkStatus(bool(body[0]))
    if tag == _TAG_BARRIER:
        checkpoint, timestamp = _BARRIER.unpack_from(body)
        return Barrier(checkpoint, timestamp, bytes(body[_BARRIER.size :]))
    if tag == _TAG_LATENCY:
        emitted_ms, subtask = _MARKER.unpack_from(body)
        return LatencyMarker(emitted_ms, bytes(body[_MARKER.size :]).decode(), subtask)
    if tag == _TAG_END:
        return EndOfInput()
    if tag == _TAG_CLOSED:
        return EndOfChannel()
    raise FrameError(f"element tag {tag}: expected 1 to 7")


def _encoded_run(body: memoryview) -> EncodedRun:
    codec_tag, has_timestamps, count = _RECORDS.unpack_from(body)
    position = _RECORDS.size
    timestamps: list[int] | None = None
    if has_timestamps:
        timestamps = TimeColumn.from_bytes(bytes(body[position : position + 8 * count]))
        position += 8 * count
    return EncodedRun(count, timestamps, codec_tag, body[position:])
