"""Finding operators and states by what people call them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from riverrun.checkpoint.saved_operators import SavedOperator
from riverrun.core.errors import ProgramError


class NotInSavepoint(ProgramError):  # noqa: N818
    """A name that nothing in the savepoint or checkpoint has."""

    def __init__(self, place: str, what: str, name: str, known: tuple[str, ...]) -> None:
        super().__init__(place, what, name, known)
        self.place, self.what, self.name, self.known = place, what, name, known

    def __str__(self) -> str:
        if not self.known:
            return f"{self.place}: it has no {self.what} {self.name!r}, nor any other"
        near = difflib.get_close_matches(self.name, self.known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        shown = ", ".join(map(repr, self.known))
        return f"{self.place}: it has no {self.what} {self.name!r}; {hint}there are {shown}"


class AmbiguousName(ProgramError):  # noqa: N818
    """A name that several operators have."""

    def __init__(self, place: str, name: str, ids: tuple[str, ...]) -> None:
        super().__init__(place, name, ids)
        self.place, self.name, self.ids = place, name, ids

    def __str__(self) -> str:
        return (
            f"{self.place}: {len(self.ids)} operators have the name {self.name!r}; give the uid or id of "
            f"one of them: {', '.join(map(repr, self.ids))}"
        )


def find_operator(operators: Mapping[str, SavedOperator], name: str, place: str) -> SavedOperator:
    """The operator with this uid, id, beginning of an id (at least 6 digits), or name, in this order.

    Raises:
        NotInSavepoint: there is none.
        AmbiguousName: there are several.
    """
    everything = list(operators.values())
    for found in (
        [each for each in everything if each.uid == name],
        [each for each in everything if each.operator_id == name],
        [each for each in everything if each.name == name],
        [each for each in everything if len(name) >= 6 and each.operator_id.startswith(name)],  # noqa: PLR2004
    ):
        if len(found) > 1:
            raise AmbiguousName(place, name, tuple(each.uid or each.operator_id for each in found))
        if found:
            return found[0]
    known = tuple(dict.fromkeys(each.uid or each.name for each in everything))
    raise NotInSavepoint(place, "operator", name, known)
