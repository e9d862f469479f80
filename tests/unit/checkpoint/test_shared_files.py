"""No file is given up while somebody may need it, and every file is given up once nobody can."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from riverrun.checkpoint.shared_files import SharedFiles

NAMES = st.sampled_from([f"f{n}" for n in range(12)])
NUMBERS = st.integers(1, 6)


def test_a_file_goes_with_the_last_checkpoint_that_needs_it() -> None:
    files = SharedFiles()
    files.register(1, ["a", "b"])
    files.register(2, ["b", "c"])

    assert files.unregister(1) == ("a",)
    assert files.needed() == {"b", "c"}
    assert files.unregister(2) == ("b", "c")
    assert files.checkpoints() == ()


def test_files_of_a_checkpoint_may_become_known_one_after_the_other() -> None:
    files = SharedFiles()
    files.register(1, ["a"])
    files.register(1, ["b"])

    assert files.unregister(1) == ("a", "b")


def test_a_file_waits_for_those_in_flight_that_may_refer_to_it() -> None:
    files = SharedFiles()
    files.register(1, ["a", "b"])
    files.begin(2)
    files.begin(3)
    files.register(2, ["c"])
    assert files.end(2) == ()
    assert files.unregister(1) == ()
    assert files.waiting() == {"a", "b"}

    files.register(3, ["a"])

    assert files.end(3) == ("b",)
    assert files.needed() == {"a", "c"}


def test_one_that_begins_later_holds_up_nothing() -> None:
    files = SharedFiles()
    files.register(1, ["a"])
    files.begin(2)
    files.unregister(1)
    files.begin(3)

    assert files.end(2) == ("a",)


def test_an_aborted_checkpoint_takes_its_own_files_with_it() -> None:
    files = SharedFiles()
    files.register(1, ["a"])
    files.begin(2)
    files.register(2, ["a", "new"])

    assert files.unregister(2) == ("new",)
    assert files.needed() == {"a"}


@pytest.mark.parametrize("checkpoint", [1, 99])
def test_what_is_unknown_needs_nothing(checkpoint: int) -> None:
    files = SharedFiles()

    assert files.end(checkpoint) == files.unregister(checkpoint) == ()


@dataclass
class Model:
    """What is needed and since when, without any bookkeeping that could be wrong: a list of all that happened."""

    needs: dict[int, set[str]] = field(default_factory=dict)
    begun: dict[int, int] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    """When a file lost the last checkpoint that needed it."""
    moment: int = 0

    def needed(self) -> set[str]:
        return set().union(*self.needs.values())

    def free(self) -> set[str]:
        return {
            name
            for name, moment in self.lost.items()
            if not any(begun < moment for begun in self.begun.values())
        }


class AnyHistory(RuleBasedStateMachine):
    """The registry against the model."""

    @initialize()
    def start(self) -> None:
        self.files = SharedFiles()
        self.model = Model()

    def freed(self, names: tuple[str, ...]) -> None:
        assert len(names) == len(set(names))
        assert set(names) == self.model.free()
        for name in names:
            del self.model.lost[name]

    @rule(checkpoint=NUMBERS)
    def begin(self, checkpoint: int) -> None:
        self.model.moment += 1
        self.files.begin(checkpoint)
        self.model.begun.setdefault(checkpoint, self.model.moment)

    @rule(checkpoint=NUMBERS, names=st.sets(NAMES, max_size=5))
    def register(self, checkpoint: int, names: set[str]) -> None:
        self.model.moment += 1
        self.files.register(checkpoint, names)
        self.model.needs.setdefault(checkpoint, set()).update(names)
        for name in names:
            self.model.lost.pop(name, None)

    @rule(checkpoint=NUMBERS)
    def end(self, checkpoint: int) -> None:
        self.model.moment += 1
        self.model.begun.pop(checkpoint, None)
        self.freed(self.files.end(checkpoint))

    @rule(checkpoint=NUMBERS)
    def unregister(self, checkpoint: int) -> None:
        self.model.moment += 1
        self.model.begun.pop(checkpoint, None)
        before = self.model.needed()
        self.model.needs.pop(checkpoint, None)
        for name in before - self.model.needed():
            self.model.lost[name] = self.model.moment
        self.freed(self.files.unregister(checkpoint))

    @rule()
    def restart(self) -> None:
        """The JobMaster is another one: what waited is found as a leftover, what is retained is registered."""
        self.files = SharedFiles()
        for checkpoint, names in self.model.needs.items():
            self.files.register(checkpoint, names)
        self.model.begun.clear()
        self.model.lost.clear()

    @invariant()
    def it_knows_what_is_needed(self) -> None:
        assert self.files.needed() == self.model.needed()
        assert self.files.waiting() == set(self.model.lost)
        assert not self.files.needed() & self.files.waiting()


TestAnyHistory = AnyHistory.TestCase
