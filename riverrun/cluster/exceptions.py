"""From an exception that the client's code raised in this process to a Failure."""

from __future__ import annotations

import pickle
import traceback
from pathlib import Path
from typing import Final

from riverrun.core.errors import Failure

_OURS: Final = str(Path(__file__).resolve().parent.parent)


def failure_of(error: BaseException, operator: str | None = None) -> Failure:
    """The failure with the user's own frames only; with the exception itself where it can be pickled.

    >>> failure_of(ValueError("boom"), "Print").headline()
    "operator 'Print': ValueError: boom"
    """
    return Failure(
        type_name=type(error).__qualname__,
        message=_message(error),
        traceback=_own_traceback(error),
        operator=operator,
        exception=_pickled(error),
    )


def _own_traceback(error: BaseException) -> str:
    report = traceback.TracebackException.from_exception(error)
    seen: list[traceback.TracebackException | None] = [report]
    while seen:
        part = seen.pop()
        if part is not None:
            frames = [frame for frame in part.stack if not frame.filename.startswith(_OURS)]
            part.stack = traceback.StackSummary.from_list(frames)
            seen += [part.__cause__, part.__context__]
    return "".join(report.format())


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  (a user's __str__ may raise anything)
        return "<its message could not be made>"


def _pickled(error: BaseException) -> bytes | None:
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:  # noqa: BLE001  (user-defined reduce and init may raise anything)
        return None
    return data
