"""References to frames that lie elsewhere: they come back as they were, and nothing else looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.protocol.frames import FrameError, FrameHeader, encode_frame
from riverrun.protocol.local_frames import Reference, decode_reference, is_reference
from riverrun.protocol.parts import MOST_BYTES, in_parts

REFERENCES = st.builds(
    Reference,
    st.binary(min_size=16, max_size=16),
    st.integers(0, 4095),
    st.integers(0, 2**40),
    st.integers(0, 2**31),
)


@given(REFERENCES)
def test_a_reference_comes_back(reference: Reference) -> None:
    row = reference.encoded()

    assert is_reference(row)
    assert decode_reference(memoryview(row)) == reference


@given(REFERENCES)
def test_an_arena_is_a_bare_name_whatever_the_bytes_say(reference: Reference) -> None:
    assert set(reference.arena_name) <= set("0123456789abcdef")
    assert len(reference.arena_name) == 32


@pytest.mark.parametrize("size", [0, 100, 3 * MOST_BYTES])
def test_frames_and_their_parts_are_no_references(size: int) -> None:
    frame = encode_frame(FrameHeader(1, 2, 3, 4, 5), [bytes(size)])

    assert not any(map(is_reference, in_parts(frame)))


@given(REFERENCES, st.integers(1, 32))
def test_a_row_that_is_cut_off_is_refused(reference: Reference, length: int) -> None:
    with pytest.raises(FrameError, match="same riverrun"):
        decode_reference(reference.encoded()[:length])
