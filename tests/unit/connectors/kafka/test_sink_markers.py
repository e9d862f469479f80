"""Markers: which epochs are written, in any order, by any subtask."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.kafka.marker_committed import KEPT_LINEAGES, Committed
from riverrun.connectors.kafka.sink_messages import Epoch


def epoch(lineage: str, number: int) -> Epoch:
    return Epoch(lineage, number, 1, ())


epochs = st.builds(epoch, st.sampled_from(["first", "second", "third"]), st.integers(1, 8))


@given(st.lists(st.lists(epochs, min_size=1, max_size=3), max_size=10), epochs)
def test_a_marker_includes_exactly_what_was_committed(
    commits: list[list[Epoch]], asked: Epoch
) -> None:
    committed = Committed()
    for each in commits:
        committed = Committed.decode(committed.with_epochs(each).encode(3, 17))

    assert committed.includes(asked) == any(asked in each for each in commits)


@given(st.permutations(range(1, 9)))
def test_numbers_in_any_order_end_as_one_number(order: list[int]) -> None:
    committed = Committed()
    for number in order:
        committed = committed.with_epochs([epoch("lineage", number)])

    assert committed.lineages == {"lineage": (8, frozenset())}


def test_the_lineages_that_committed_last_are_kept() -> None:
    committed = Committed().with_epochs([epoch("old", 1), epoch("older but back", 1)])
    for number in range(KEPT_LINEAGES - 1):
        committed = committed.with_epochs([epoch(f"lineage {number}", 1)])
    committed = committed.with_epochs([epoch("older but back", 2), epoch("new", 1)])

    assert len(committed.lineages) == KEPT_LINEAGES
    assert not committed.includes(epoch("old", 1))
    assert committed.includes(epoch("older but back", 2))
    assert committed.includes(epoch("new", 1))


def test_a_marker_can_be_read_by_people() -> None:
    marker = Committed().with_epochs([epoch("abc", 1), epoch("abc", 3)]).encode(2, 17)

    assert marker == b'{"subtask":2,"checkpoint":17,"committed":[["abc",1,[3]]]}'
