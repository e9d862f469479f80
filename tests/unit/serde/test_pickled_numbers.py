"""Pickles of ints made by arrays."""

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from riverrun.serde.pickled_numbers import pickled_ints

BORDERS = [0, 255, 256, 65535, 65536, (1 << 31) - 1, 1 << 31, (1 << 63) - 1]
NUMBERS = st.sampled_from([*BORDERS, *(-border - 1 for border in BORDERS)]) | st.integers(
    -(1 << 63), (1 << 63) - 1
)


@given(st.lists(NUMBERS, min_size=1))
def test_pickle_reads_the_same_ints(numbers: list[int]) -> None:
    found = pickle.loads(pickled_ints(np.array(numbers, np.int64)))

    assert found == numbers
    assert {type(number) for number in found} == {int}


def test_small_numbers_take_no_more_than_a_pickler_gives_them() -> None:
    numbers = list(range(256, 4096))

    assert len(pickled_ints(np.array(numbers))) <= len(pickle.dumps(numbers, 5))
