"""Counts of different values: exact while they are few, close when they are many."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.hyperloglog import HyperLogLog

MANY = [600, 3_000, 10_000, 20_000, 60_000, 100_000]


def sketch_of(count: int, seed: int) -> HyperLogLog:
    made = HyperLogLog()
    made.add_all(np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64))
    return made


@pytest.mark.parametrize("count", MANY)
def test_estimates_are_within_the_error_that_is_promised(count: int) -> None:
    errors = [sketch_of(count, seed).estimate() / count - 1 for seed in range(12)]

    # The mean of 12 runs has a standard error of 1.6 % / sqrt(12): four of these, and four of one run's.
    assert abs(float(np.mean(errors))) < 4 * 0.0163 / np.sqrt(12)
    assert max(map(abs, errors)) < 4 * 0.0163


@given(hashes=st.lists(st.integers(0, 2**64 - 1), max_size=300))
@settings(max_examples=30, deadline=None)
def test_few_values_are_counted_exactly(hashes: list[int]) -> None:
    one_by_one, together = HyperLogLog(), HyperLogLog()
    for value_hash in [*hashes, *hashes]:
        one_by_one.add(value_hash)
    together.add_all(np.array(hashes, np.uint64))

    assert one_by_one.estimate() == together.estimate() == len(set(hashes))


@given(left=st.integers(0, 1500), right=st.integers(0, 1500), shared=st.integers(0, 1500))
@settings(max_examples=25, deadline=None)
def test_merging_is_the_same_as_counting_together(left: int, right: int, shared: int) -> None:
    hashes = np.random.default_rng(1).integers(0, 2**64, left + right + shared, dtype=np.uint64)
    first, second, together = HyperLogLog(), HyperLogLog(), HyperLogLog()
    first.add_all(hashes[: left + shared])
    second.add_all(hashes[left:])
    together.add_all(hashes)
    before = second.to_bytes()

    first.merge(second)

    assert first.to_bytes() == together.to_bytes()
    assert second.to_bytes() == before


@pytest.mark.parametrize("count", [0, 1, 512, 513, 5000])
def test_bytes_give_it_back(count: int) -> None:
    sketch = sketch_of(count, seed=3)
    for again in (HyperLogLog.from_bytes(sketch.to_bytes()), pickle.loads(pickle.dumps(sketch))):
        assert again.to_bytes() == sketch.to_bytes()
        again.add(12345)
        assert again.to_bytes() != sketch.to_bytes()
    assert len(sketch.to_bytes()) <= 4097


@pytest.mark.parametrize("data", [b"", b"x123", b"d123"])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="expected what to_bytes wrote"):
        HyperLogLog.from_bytes(data)


def test_registers_take_values_one_by_one_too() -> None:
    hashes = np.random.default_rng(5).integers(0, 2**64, 700, dtype=np.uint64)
    one_by_one, together = HyperLogLog(), HyperLogLog()
    together.add_all(hashes)
    for value_hash in hashes.tolist():
        one_by_one.add(value_hash)
    assert one_by_one.to_bytes() == together.to_bytes()
