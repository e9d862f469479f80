"""The cache of lookups: what it keeps, for how long, and how much."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.base.lookup_cache import LookupCache
from riverrun.core.clock import ManualClock


def cache(
    rows: int, ttl: int | None = None, *, missing: bool = True
) -> tuple[LookupCache, ManualClock]:
    clock = ManualClock()
    return LookupCache(rows, ttl, keep_missing=missing, clock=clock), clock


def test_a_key_is_believed_until_its_time_is_over() -> None:
    kept, clock = cache(10, 100)
    kept.put("a", [1])

    clock.advance(99)
    assert kept.get("a") == [1]
    clock.advance(1)
    assert kept.get("a") is None
    assert len(kept) == 0


def test_that_there_is_nothing_is_kept_if_it_is_said_so() -> None:
    kept, _ = cache(10)
    other, _ = cache(10, missing=False)
    for each in (kept, other):
        each.put("a", [])

    assert kept.get("a") == []
    assert other.get("a") is None


def test_those_asked_for_last_stay() -> None:
    kept, _ = cache(2)
    kept.put("a", [1])
    kept.put("b", [1])
    kept.get("a")
    kept.put("c", [1])

    assert [kept.get(key) for key in "abc"] == [[1], None, [1]]


@given(
    st.integers(0, 6),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.booleans()), max_size=40),
)
def test_there_are_never_more_rows_than_allowed(
    rows: int, calls: list[tuple[int, int, bool]]
) -> None:
    kept, _ = cache(rows)
    newest: dict[int, list[int]] = {}
    for key, number, asks in calls:
        if asks:
            assert kept.get(key) in (None, newest.get(key))
        else:
            newest[key] = [number] * number
            kept.put(key, newest[key])
        held = [found for key in newest if (found := kept.get(key)) is not None]
        assert sum(max(1, len(each)) for each in held) <= rows
