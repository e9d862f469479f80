"""Whether an operator can go on with what another kept on its own account: see ``graph.operator_shapes``."""

from __future__ import annotations

from typing import Final

from riverrun.checkpoint.saved_operators import RestoreRefused, SavedOperator
from riverrun.graph.deployment import ChainedOperator
from riverrun.graph.operator_shapes import SESSIONS
from riverrun.graph.sealed import shape_of_operator

_BY_WINDOW: Final = ("all records", "reduce", "aggregate")
"""Contents that each window may keep for itself."""
_SLICES: Final = "_window.slices"
"""The state in which windows share what they have in common."""


def check_shape(operator: ChainedOperator, saved: SavedOperator) -> None:
    """Refuse an operator that cannot go on with what another kept under its uid.

    Raises:
        RestoreRefused: contents would be lost or counted wrongly.
    """
    was, now = saved.shape, shape_of_operator(operator)
    names = {meta.name for keyed in saved.keyed if keyed.parts for meta in keyed.states}
    if was == now or not was or not names or _goes_on(was, now, shared=_SLICES in names):
        return
    raise RestoreRefused(
        f"operator {operator.name!r} (uid {operator.uid!r}): the checkpoint holds what it kept as "
        f"({was}), and in the program it is ({now or 'an operator of another kind'}), which cannot take "
        f"that over; leave it as it was, or give it another uid and leave the state out with "
        f"--allowNonRestoredState (windows that are open can be emptied first: stop with drain)"
    )


def _goes_on(was: str, now: str, *, shared: bool) -> bool:
    before, after = was.split("; "), now.split("; ")
    if len(before) != len(after) or before[1:2] != after[1:2] or before[1:2] == []:
        return False
    sessions = [each[0] == SESSIONS for each in (before, after)]
    return before[1] in _BY_WINDOW and sessions[0] == sessions[1] and not shared
