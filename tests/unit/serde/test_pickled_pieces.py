"""Pickles in pieces: the same values come back, and large payloads are not copied."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.serde.pickled_runs import PickleRunCodec, UnpicklableValue

LARGE = 300_000
VALUES = st.one_of(
    st.integers(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.sampled_from(
        [b"x" * LARGE, "y" * LARGE, bytearray(LARGE), [b"__main__"], (1, b"z" * 70_000)]
    ),
)


@given(st.lists(VALUES, min_size=1, max_size=30))
def test_the_values_come_back(values: list[Any]) -> None:
    codec = PickleRunCodec()

    assert codec.decode(b"".join(codec.encode_pieces(values))) == values


def test_a_large_payload_is_a_piece_itself() -> None:
    payload = b"p" * LARGE

    assert any(piece is payload for piece in PickleRunCodec().encode_pieces([(1, payload)]))


def test_what_may_change_later_is_copied() -> None:
    payload = bytearray(LARGE)
    pieces = PickleRunCodec().encode_pieces([payload])
    payload[:] = b"c" * LARGE

    assert PickleRunCodec().decode(b"".join(pieces)) == [bytearray(LARGE)]


@pytest.mark.parametrize("count", [1, 40])
def test_a_class_of_the_script_travels_by_value_beside_a_large_payload(count: int) -> None:
    script: dict[str, Any] = {"__name__": "__main__"}
    exec("class Own:\n    field = 7", script)
    values = [(b"x" * LARGE, script["Own"])] * count
    data = b"".join(PickleRunCodec().encode_pieces(values))

    assert pickle.loads(data)[0][1].field == 7


def test_what_has_no_pickle_is_named() -> None:
    with pytest.raises(UnpicklableValue, match="record 1"):
        PickleRunCodec().encode_pieces([1, (n for n in "ab")])
