"""Turn an exception of the user's code into facts a person can use: operator, record, own traceback.

The record is not tracked while things go well (that would cost per record): it is read from the local
variable ``value`` of the operator's own frame in the traceback. Operators, sources and sinks therefore
name the record in hand ``value`` wherever they call user code. What user code calls in turn, such as
state, has values of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final

from riverrun.core.errors import Failure, RiverrunError
from riverrun.core.exception_facts import failure_of
from riverrun.core.short_repr import short_repr

_MISSING: Final = object()


class OperatorFailed(RiverrunError):  # noqa: N818
    """An operator's function raised; says which operator and, where known, at which record."""

    def __init__(self, operator: str, record: str | None) -> None:
        super().__init__(operator, record)
        self.operator, self.record = operator, record

    def __str__(self) -> str:
        at = "" if self.record is None else f" at record {self.record}"
        return f"operator {self.operator!r} failed{at}"


def operator_failed(operator: str, error: BaseException) -> OperatorFailed:
    """``error`` as a failure of ``operator``; raise it ``from error``."""
    value = _value_in_hand(error.__traceback__)
    return OperatorFailed(operator, None if value is _MISSING else short_repr(value))


@contextmanager
def blamed(operator: str) -> Iterator[None]:
    """What is raised inside is a failure of ``operator``, unless it is another operator's already."""
    try:
        yield
    except OperatorFailed:
        raise
    except Exception as error:
        raise operator_failed(operator, error) from error


def describe(error: BaseException, *, task: str, subtask: int) -> Failure:
    """``error`` as plain data, with the user's own traceback when user code raised it."""
    operator = record = None
    cause = error
    if isinstance(error, OperatorFailed):
        operator, record = error.operator, error.record
        cause = error.__cause__ or error
    return failure_of(cause, operator=operator, record=record, task=task, subtask=subtask)


def _value_in_hand(tb: TracebackType | None) -> Any:
    found: Any = _MISSING
    while tb is not None:
        frame = tb.tb_frame
        if frame.f_globals.get("__name__", "").startswith("riverrun."):
            found = frame.f_locals.get("value", found)
        elif found is not _MISSING:
            break
        tb = tb.tb_next
    return found
