"""The operators of a savepoint that is being put together, found by what people call them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from riverrun.graph.operator_ids import id_from_uid
from riverrun.state_processor.names import AmbiguousName, NotInSavepoint
from riverrun.state_processor.writing.drafts import KeyedDraft, OperatorDraft
from riverrun.state_processor.writing.refusals import WriteRefused

_PARALLELISM: Final = 4
"""Of new operators: into so many files each of their states goes."""


class DraftedOperators:
    """The operators by their ids."""

    def __init__(self, operators: Iterable[OperatorDraft], max_parallelism: int) -> None:
        self._operators = {draft.operator_id: draft for draft in operators}
        self.max_parallelism = max_parallelism
        """Of operators that are added."""

    def __iter__(self) -> Iterator[OperatorDraft]:
        return iter(self._operators.values())

    def for_new_state(self, uid: str, name: str) -> OperatorDraft:
        """The operator, which is added if need be.

        Raises:
            WriteRefused: it has such a state, or a function that makes all its state.
        """
        draft = self._with_uid(uid)
        if draft is None:
            return self.added(uid)
        if draft.bootstrap is not None:
            raise WriteRefused(
                f"operator {uid!r}: its state is made by a bootstrap function; let that make the state "
                f"{name!r}, too"
            )
        if name in draft.keyed or name in draft.list_names():
            raise WriteRefused(
                f"operator {uid!r}: it has a state {name!r} already; take remove_state({uid!r}, {name!r}) "
                f"first to replace it, or transform_keyed_state to change it"
            )
        return draft

    def added(self, uid: str) -> OperatorDraft:
        """A new operator."""
        groups = self.max_parallelism
        draft = OperatorDraft(id_from_uid(uid), uid, uid, min(_PARALLELISM, groups), groups)
        self._operators[draft.operator_id] = draft
        return draft

    def placed(self, draft: OperatorDraft, uid: str) -> None:
        """Take in an operator under a uid that is free."""
        draft.uid, draft.operator_id = uid, id_from_uid(uid)
        self._operators[draft.operator_id] = draft

    def removed(self, uid: str) -> OperatorDraft:
        """Leave out an operator; NotInSavepoint when there is none."""
        return self._operators.pop(self.find(uid).operator_id)

    def check_free(self, uid: str) -> None:
        """WriteRefused when an operator has the uid."""
        if self._with_uid(uid) is not None:
            raise WriteRefused(
                f"operator {uid!r}: it is in the savepoint already; remove_operator({uid!r}) first, or take "
                f"another uid"
            )

    def find(self, uid: str) -> OperatorDraft:
        """The operator with this uid, id, or (without a uid) name.

        Raises:
            NotInSavepoint: there is none; the message has the nearest.
            AmbiguousName: several have the name.
        """
        found = self._with_uid(uid) or self._operators.get(uid)
        if found is not None:
            return found
        same = [draft for draft in self if draft.uid is None and draft.name == uid]
        if len(same) == 1:
            return same[0]
        place = "the savepoint to be written"
        if same:
            raise AmbiguousName(place, uid, tuple(draft.operator_id for draft in same))
        known = tuple(draft.label for draft in self._operators.values())
        raise NotInSavepoint(place, "operator", uid, known)

    def _with_uid(self, uid: str) -> OperatorDraft | None:
        # Its id may be another one than its uid stands for: programs can choose it.
        known = self._operators.get(id_from_uid(uid))
        return known or next((draft for draft in self if draft.uid == uid), None)


def keyed_state(draft: OperatorDraft, name: str) -> KeyedDraft:
    """A keyed state of an operator; NotInSavepoint, with the nearest, when it has none of this name."""
    if name not in draft.keyed:
        place = f"operator {draft.label!r}"
        raise NotInSavepoint(place, "keyed state", name, tuple(draft.keyed))
    return draft.keyed[name]
