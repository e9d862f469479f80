"""Frames carry their elements unchanged, and refuse what is no frame."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.protocol.elements import (
    Barrier,
    Element,
    EndOfInput,
    LatencyMarker,
    Records,
    Watermark,
    WatermarkStatus,
)
from riverrun.protocol.frames import (
    FrameError,
    FrameHeader,
    decode_elements,
    decode_header,
    encode_control,
    encode_frame,
    encode_records,
)

LONG = st.integers(-(2**63), 2**63 - 1)
HEADERS = st.builds(
    FrameHeader,
    st.integers(0, 2**16 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1),
)


@st.composite
def runs(draw: st.DrawFn) -> Records:
    values = draw(st.lists(st.integers() | st.text() | st.none()))
    timed = draw(st.booleans())
    times = draw(st.lists(LONG, min_size=len(values), max_size=len(values))) if timed else None
    return Records(values, times)


CONTROL: st.SearchStrategy[Element] = st.one_of(
    st.builds(Watermark, LONG),
    st.builds(WatermarkStatus, st.booleans()),
    st.builds(Barrier, LONG, LONG, st.binary()),
    st.builds(LatencyMarker, st.floats(allow_nan=False), st.text(), st.integers(0, 1000)),
    st.just(EndOfInput()),
)


def encoded(element: Element) -> list[Any]:
    if isinstance(element, Records):
        run = pickle.dumps(element.values)
        return encode_records(0, len(element.values), run, element.timestamps)
    return [encode_control(element)]


def unpickle(tag: int, data: memoryview) -> list[Any]:
    assert tag == 0
    values: list[Any] = pickle.loads(data)
    return values


@given(HEADERS, st.lists(runs() | CONTROL))
def test_a_frame_gives_back_its_header_and_elements(
    header: FrameHeader, elements: list[Element]
) -> None:
    frame = encode_frame(header, [part for each in elements for part in encoded(each)])

    assert decode_header(frame) == header
    assert decode_elements(frame, unpickle) == elements


def test_bytes_that_are_too_short_are_refused() -> None:
    with pytest.raises(FrameError, match="expected at least"):
        decode_header(b"\x01\x02")


def test_a_frame_of_another_version_is_refused() -> None:
    frame = bytearray(encode_frame(FrameHeader(0, 0, 0, 0, 0), []))
    frame[0] = 99

    with pytest.raises(FrameError, match="version 99"):
        decode_header(bytes(frame))


def test_a_frame_cut_short_is_refused() -> None:
    frame = encode_frame(FrameHeader(0, 0, 0, 0, 0), [encode_control(Watermark(5))])

    with pytest.raises(FrameError, match="ends"):
        decode_elements(frame[:-3], unpickle)


def test_a_run_whose_count_is_wrong_is_refused() -> None:
    parts = encode_records(0, 3, pickle.dumps([1, 2]), None)

    with pytest.raises(FrameError, match="its header says 3"):
        decode_elements(encode_frame(FrameHeader(0, 0, 0, 0, 0), parts), unpickle)
