"""Turn an exception of the user's code into facts a person can use: operator, record, own traceback.

The record is not tracked while things go well (that would cost per record): it is read from the local
variable ``value`` of the operator's own frame in the traceback. Operators, sources and sinks therefore
name the record in hand ``value`` wherever they call user code.
"""

from __future__ import annotations

import pickle
import reprlib
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from riverrun.core.errors import Failure, RiverrunError

_MISSING: Final = object()
_PACKAGE: Final = str(Path(__file__).resolve().parent.parent)
_RECORD_CHARS: Final = 200
_TEXT_CHARS: Final = 20_000
"""Of a message or traceback; nobody reads more, and it must fit into a control message."""
_PICKLED_BYTES: Final = 1 << 20


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


def short_repr(value: Any) -> str:
    """``repr(value)``, shortened, and never raising.

    >>> short_repr("x" * 1000)[:12], len(short_repr("x" * 1000)) <= 200
    ("'xxxxxxxxxxx", True)
    """
    shortener = reprlib.Repr()
    shortener.maxstring = shortener.maxother = shortener.maxlong = _RECORD_CHARS // 2
    shortener.maxtuple = shortener.maxlist = shortener.maxdict = 12
    try:
        text = shortener.repr(value)
    except Exception as error:  # noqa: BLE001  (a user's __repr__ may raise anything)
        text = f"<{type(value).__name__}: its repr raised {type(error).__name__}>"
    return text if len(text) <= _RECORD_CHARS else text[: _RECORD_CHARS - 3] + "..."


def describe(error: BaseException, *, task: str, subtask: int) -> Failure:
    """``error`` as plain data, with the user's own traceback when user code raised it."""
    operator = record = None
    cause = error
    if isinstance(error, OperatorFailed):
        operator, record = error.operator, error.record
        cause = error.__cause__ or error
    return Failure(
        type_name=type(cause).__qualname__,
        message=_shortened(_message(cause)),
        traceback=_shortened(user_traceback(cause)),
        operator=operator,
        task=task,
        subtask=subtask,
        record=record,
        exception=_pickled(cause),
    )


def user_traceback(error: BaseException) -> str:
    """The traceback without frames of riverrun and of Spark's worker; all frames if none is left."""
    shown = traceback.TracebackException.from_exception(error)
    own = [frame for frame in shown.stack if not _is_engine(frame.filename)]
    if own:
        shown.stack = traceback.StackSummary.from_list(own)
    return "".join(shown.format())


def _is_engine(filename: str) -> bool:
    return "/pyspark/" in filename or filename.startswith((_PACKAGE, "<frozen"))


def _value_in_hand(tb: TracebackType | None) -> Any:
    found: Any = _MISSING
    while tb is not None:
        frame = tb.tb_frame
        if frame.f_globals.get("__name__", "").startswith("riverrun."):
            found = frame.f_locals.get("value", found)
        tb = tb.tb_next
    return found


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  (a user's __str__ may raise anything)
        return "<its message could not be made>"


def _pickled(error: BaseException) -> bytes | None:
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:  # noqa: BLE001  (exceptions of users often do not pickle; the text is enough)
        return None
    return data if len(data) <= _PICKLED_BYTES else None


def _shortened(text: str) -> str:
    """The beginning and the end of a text that is too long.

    >>> len(_shortened("x" * 10**6)) < 21_000, _shortened("short")
    (True, 'short')
    """
    if len(text) <= _TEXT_CHARS:
        return text
    half = _TEXT_CHARS // 2
    return f"{text[:half]} ... ({len(text)} characters in all) ... {text[-half:]}"
