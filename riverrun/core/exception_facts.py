"""From an exception of the user's code to a Failure: the user's own frames, and nothing too long to send."""

from __future__ import annotations

import pickle
import traceback
from pathlib import Path
from typing import Any, Final

from riverrun.core.errors import Failure, InternalError, ProgramError

_PACKAGE: Final = str(Path(__file__).resolve().parent.parent)
_TEXT_CHARS: Final = 20_000
"""Of a message or traceback; nobody reads more, and it must fit into a control message."""
_PICKLED_BYTES: Final = 1 << 20


def failure_of(error: BaseException, **where: Any) -> Failure:
    """``error`` as plain data; ``where`` holds further fields of Failure, such as the operator.

    >>> failure_of(ValueError("boom"), operator="Print").headline()
    "operator 'Print': ValueError: boom"
    """
    return Failure(
        type_name=type(error).__qualname__,
        message=_shortened(_message(error)),
        traceback=_shortened(user_traceback(error)),
        exception=_pickled(error),
        retryable=not isinstance(error, ProgramError | InternalError),
        **where,
    )


def user_traceback(error: BaseException) -> str:
    """The traceback without frames of riverrun and of Spark's worker, also in what caused the error.

    An error without any other frame keeps all of them: it is our own, and they are all there is to see.
    """
    report = traceback.TracebackException.from_exception(error)
    parts: list[traceback.TracebackException | None] = [report]
    while parts:
        part = parts.pop()
        if part is not None:
            own = [frame for frame in part.stack if not _is_engine(frame.filename)]
            if own or part is not report:
                part.stack = traceback.StackSummary.from_list(own)
            parts += [part.__cause__, part.__context__]
    return "".join(report.format())


def _is_engine(filename: str) -> bool:
    return "/pyspark/" in filename or filename.startswith((_PACKAGE, "<frozen"))


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
