from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.protocol.wire import FrameDecoder, MessageTooLarge, frame


@given(
    payloads=st.lists(st.binary(max_size=300), max_size=20),
    cuts=st.lists(st.integers(min_value=1, max_value=97), min_size=1, max_size=50),
)
def test_any_chopping_of_the_stream_gives_the_same_payloads(
    payloads: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(frame(payload) for payload in payloads)
    decoder = FrameDecoder()
    seen: list[bytes] = []

    position = turn = 0
    while position < len(stream):
        size = cuts[turn % len(cuts)]
        decoder.feed(stream[position : position + size])
        while (payload := decoder.next_payload()) is not None:
            seen.append(payload)
        position, turn = position + size, turn + 1

    assert seen == payloads
    assert decoder.buffered == 0


@given(payload=st.binary(max_size=50), missing=st.integers(min_value=1, max_value=54))
def test_an_incomplete_message_gives_nothing_yet(payload: bytes, missing: int) -> None:
    stream = frame(payload)
    decoder = FrameDecoder()

    decoder.feed(stream[: max(0, len(stream) - missing)])

    assert decoder.next_payload() is None


def test_a_length_over_the_limit_is_refused_before_its_payload_arrives() -> None:
    decoder = FrameDecoder(limit_bytes=100)
    decoder.feed((101).to_bytes(4, "big"))

    with pytest.raises(MessageTooLarge, match="101 bytes, at most 100"):
        decoder.next_payload()


def test_a_payload_over_the_limit_is_not_sent() -> None:
    with pytest.raises(MessageTooLarge):
        frame(b"12345", limit_bytes=4)


def test_the_limit_can_grow_between_two_messages_that_arrived_together() -> None:
    decoder = FrameDecoder(limit_bytes=2)
    decoder.feed(frame(b"ab") + frame(b"abcdef"))

    first = decoder.next_payload()
    decoder.limit_bytes = 100

    assert (first, decoder.next_payload()) == (b"ab", b"abcdef")
