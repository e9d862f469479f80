"""Event time that a task makes waits until what was in flight when the job was saved has come through.

After a rescale a task may take in what was on its way to several subtasks, one's records after the other's.
Each of them was in its own order, all together are in none: the time of the first ones must not get ahead
of the others. What is sent after that follows on all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from riverrun.runtime.chain import Link
from riverrun.runtime.inputs import Inputs
from riverrun.runtime.operators.operator import Operator


class CatchingUp:
    """Holds back the event time that operators make, from ``begin`` until all that was restored is out."""

    def __init__(self, links: Iterable[Link], inputs: Inputs) -> None:
        self._inputs = inputs
        operators = [(link, link.operator) for link in links if link.operator is not None]
        self._making_time = [operator for _, operator in operators if _makes_time(operator)]
        self._before = [operator for link, operator in operators if _leads_to_time(link)]
        """Operators that may have restored records in hand, on the way to those that make time."""
        self._held = False

    @property
    def takes_nothing_new(self) -> bool:
        """Whether operators have restored records in hand and shall get no others: they might never be out."""
        return self._held and not self._inputs.restoring

    def begin(self) -> None:
        """Everything is restored, and nothing of it was taken in."""
        if self._making_time and not self._is_over():
            self._hold(held=True)

    def go_on(self) -> None:
        """Let event time go on if everything is out."""
        if self._held and self._is_over():
            self._hold(held=False)

    def _hold(self, *, held: bool) -> None:
        self._held = held
        for operator in self._making_time:
            operator.hold_time(held=held)

    def _is_over(self) -> bool:
        return not self._inputs.restoring and all(operator.drained for operator in self._before)


def _makes_time(operator: Operator | None) -> bool:
    return operator is not None and type(operator).hold_time is not Operator.hold_time


def _leads_to_time(link: Link) -> bool:
    return any(_makes_time(each.operator) or _leads_to_time(each) for each in link.children)
