"""What is different between two savepoints or checkpoints, state by state and entry by entry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from riverrun.core.errors import ProgramError
from riverrun.state_processor.comparison import Told, Verb, changes
from riverrun.state_processor.savepoint import Savepoint
from riverrun.state_processor.table import StateTable


@dataclass(slots=True)
class StateDifference:
    """How much is different in one state."""

    operator: str
    state: str
    kind: str
    before: bool
    """Whether the state is in the first of the two."""
    after: bool
    added: int = 0
    removed: int = 0
    changed: int = 0
    same: int = 0

    @property
    def is_different(self) -> bool:
        """Whether anything is."""
        return bool(self.added or self.removed or self.changed) or self.before != self.after


def differences(
    first: Savepoint,
    second: Savepoint,
    operator: str | None = None,
    state: str | None = None,
    tell: Told | None = None,
) -> Iterator[StateDifference]:
    """Compare two savepoints: each state, or those of one operator, or one.

    Args:
        first: the earlier one.
        second: the later one.
        operator: uid, name or id.
        state: the name of a state of that operator.
        tell: is called with each difference as it is found.

    Raises:
        NotInSavepoint: neither has the operator or the state.
        StorageError: a file is missing or damaged.
    """
    for label, before, after in _operators(first, second, operator):
        names = dict.fromkeys(
            [
                *(first.state_names(before) if before else ()),
                *(second.state_names(after) if after else ()),
            ]
        )
        if state is not None and state not in names:
            # Says which states there are.
            (first if before else second).state(before or after or label, state)
        for name in names if state is None else [state]:
            tables = (_table(first, before, name), _table(second, after, name))
            yield _compared(label, name, *tables, tell)


def _operators(
    first: Savepoint, second: Savepoint, wanted: str | None
) -> Iterator[tuple[str, str | None, str | None]]:
    """What to call each operator, and its id in both, where it is."""
    if wanted is not None:
        found = [_id_in(each, wanted) for each in (first, second)]
        if found == [None, None]:
            first.find(wanted)
        yield wanted, found[0], found[1]
        return
    for operator in dict.fromkeys([*first.saved, *second.saved]):
        saved = first.saved.get(operator) or second.saved[operator]
        yield (
            saved.uid or saved.name,
            operator if operator in first.saved else None,
            operator if operator in second.saved else None,
        )


def _id_in(savepoint: Savepoint, name: str) -> str | None:
    try:
        return savepoint.find(name).operator_id
    except ProgramError:
        return None


def _table(savepoint: Savepoint, operator: str | None, state: str) -> StateTable | None:
    if operator is None or state not in savepoint.state_names(operator):
        return None
    return savepoint.state(operator, state)


def _compared(
    operator: str,
    state: str,
    before: StateTable | None,
    after: StateTable | None,
    tell: Told | None,
) -> StateDifference:
    kinds = dict.fromkeys(str(each.kind) for each in (before, after) if each is not None)
    found = StateDifference(
        operator, state, ", then ".join(kinds), before is not None, after is not None
    )
    for each in changes(before, after):
        if each is None:
            found.same += 1
            continue
        match each.verb:
            case Verb.ADDED:
                found.added += 1
            case Verb.REMOVED:
                found.removed += 1
            case Verb.CHANGED:
                found.changed += 1
        if tell is not None:
            tell(each)
    return found
