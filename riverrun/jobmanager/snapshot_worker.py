"""The process that reads savepoints and checkpoints for the JobManager: a question a line, an answer a line.

The first line of its input has the JobManager's settings. It ends when its input does, or when nobody
asked for a while.
"""

from __future__ import annotations

import logging
import os
import select
import sys
from http import HTTPStatus
from typing import Any, BinaryIO, Final

import msgspec

from riverrun.checkpoint.metadata_file import FormatTooNew
from riverrun.core.errors import ExternalError, ProgramError
from riverrun.jobmanager.snapshot_browser import SnapshotBrowser
from riverrun.jobmanager.snapshot_wire import Answered, Question
from riverrun.state.interchange import UnknownBackend
from riverrun.state.parquet.reader import UnreadableValues
from riverrun.state_processor.names import AmbiguousName, NotInSavepoint
from riverrun.storage.storage import FileMissing

log = logging.getLogger(__name__)

IDLE_S: Final = 300.0

_STATUS: Final = (
    (FileMissing, HTTPStatus.NOT_FOUND),
    (NotInSavepoint, HTTPStatus.NOT_FOUND),
    (AmbiguousName, HTTPStatus.CONFLICT),
    (FormatTooNew, HTTPStatus.CONFLICT),
    (UnknownBackend, HTTPStatus.CONFLICT),
    (UnreadableValues, HTTPStatus.CONFLICT),
    (ProgramError, HTTPStatus.BAD_REQUEST),
    # Files that are damaged, or a store that cannot be reached: the JobManager itself is well.
    (ExternalError, HTTPStatus.CONFLICT),
)


def answered(browser: SnapshotBrowser, question: Question) -> Answered:
    """The answer; an error is one too."""
    try:
        found: Any = getattr(browser, question.method)(*question.arguments)
    except Exception as error:  # noqa: BLE001  (the edge of the process)
        return _refusal(error)
    return Answered(HTTPStatus.OK, msgspec.Raw(msgspec.json.encode(found)))


def _refusal(error: Exception) -> Answered:
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return Answered(int(status), error=str(error))
    log.error("a snapshot could not be read", exc_info=error)
    name = type(error).__name__
    return Answered(
        int(HTTPStatus.INTERNAL_SERVER_ERROR), error=f"{name}: the snapshot could not be read"
    )


def main() -> None:
    """Answer questions until there are no more."""
    logging.basicConfig(level=logging.WARNING)
    # What the program's classes print when they are loaded must not stand between answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    questions = os.fdopen(os.dup(0), "rb", buffering=0)
    if "" not in sys.path:
        sys.path.append("")
    browser = SnapshotBrowser(msgspec.json.decode(questions.readline(), type=dict[str, str]))
    while (line := _next(questions)) is not None:
        question = msgspec.json.decode(line, type=Question)
        answers.write(msgspec.json.encode(answered(browser, question)) + b"\n")
        answers.flush()


def _next(questions: BinaryIO) -> bytes | None:
    """The next question; None when there is none."""
    ready, _, _ = select.select([questions], [], [], IDLE_S)
    return (questions.readline() or None) if ready else None


if __name__ == "__main__":
    main()
